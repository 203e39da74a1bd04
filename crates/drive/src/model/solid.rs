//! A drive without moving parts: requests queue for channels, in the order of their arrival.
//!
//! Everything is decided when a request arrives. Caps and a full cache hold a request back beside the
//! channels, not in one, so that a write that waits for its rate keeps no read from its channel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stithy_measure::{Moment, Rng};

use super::cache::{FluidCache, Freshness};
use super::distribution::Times;
use super::pacing::Pacing;
use super::{Done, Model, Snapshot, NS_PER_S};
use crate::profile::{Access, Profile, Solid};
use crate::request::{Operation, Request};

/// What the described latencies are of.
const DESCRIBED_BYTES: u64 = 4096;

/// The purpose of the model's random numbers, beside those of faults and power cuts.
const PURPOSE: u64 = 0x7E_5E_71;

/// One kind of access.
#[derive(Debug)]
struct Service {
    times: Times,
    /// Up to which size the times need no more for further bytes.
    described_bytes: u64,
    ns_per_byte: f64,
}

impl Service {
    fn new(access: &Access) -> Self {
        let times = Times::new(&access.latency);
        Service {
            described_bytes: match &times {
                Times::Load(table) => table.length_bytes_max(),
                _ => DESCRIBED_BYTES,
            },
            times,
            ns_per_byte: NS_PER_S / access.bytes_per_s,
        }
    }

    /// Whether its times are those of a queue, and not of one request alone.
    fn includes_waiting(&self) -> bool {
        matches!(self.times, Times::Load(_))
    }

    fn draw_ns(&self, length_bytes: u64, depth: u64, rng: &mut Rng) -> f64 {
        let more = length_bytes.saturating_sub(self.described_bytes);
        self.times.draw_ns(length_bytes, depth, rng) + more as f64 * self.ns_per_byte
    }
}

/// The times of a drive without moving parts.
#[derive(Debug)]
pub(super) struct SolidModel {
    read: Service,
    write: Service,
    flush_ns: f64,
    flush_times: Option<Times>,
    /// When each channel is free, nanoseconds.
    channels: BinaryHeap<Reverse<u64>>,
    pacing: Pacing,
    cache: Option<FluidCache>,
    freshness: Option<Freshness>,
    rng: Rng,
    /// Moment of finishing, place in the order of arrival, name.
    under_way: BinaryHeap<Reverse<(Moment, u64, u64)>>,
    arrivals: u64,
    latest: Moment,
}

impl SolidModel {
    pub(super) fn new(profile: &Profile, medium: &Solid, seed: u64) -> Self {
        SolidModel {
            read: Service::new(&medium.read),
            write: Service::new(&medium.write),
            flush_ns: profile.flush_s * NS_PER_S,
            flush_times: profile.flush_quantiles_s.as_deref().map(Times::quantiles),
            channels: (0..medium.channels).map(|_| Reverse(0)).collect(),
            pacing: Pacing::new(profile.caps),
            cache: profile.cache.as_ref().and_then(FluidCache::new),
            freshness: profile.sustained.map(Freshness::new),
            rng: Rng::new(seed, PURPOSE),
            under_way: BinaryHeap::new(),
            arrivals: 0,
            latest: Moment::START,
        }
    }

    fn finish_ns(&mut self, now_ns: f64, request: &Request, depth: u64) -> f64 {
        match request.operation {
            Operation::Read => {
                let admitted_ns = self.pacing.read(now_ns, request.length_bytes);
                self.transferred_ns(now_ns, request, depth, admitted_ns)
            }
            Operation::Write => {
                let admitted_ns = self.admit_write(now_ns, request.length_bytes);
                self.transferred_ns(now_ns, request, depth, admitted_ns)
            }
            Operation::Flush => {
                let flushed_ns = self.flushed_ns(now_ns);
                match &self.flush_times {
                    Some(times) => flushed_ns + times.draw_ns(0, 1, &mut self.rng),
                    None => flushed_ns + self.flush_ns,
                }
            }
            // A discard is a note in a table: it takes what a small write takes, and no channel.
            Operation::Discard => now_ns + self.write.draw_ns(0, 1, &mut self.rng),
        }
    }

    /// When a read or a write is over that nothing but channels keeps from beginning at `admitted_ns`.
    fn transferred_ns(
        &mut self,
        now_ns: f64,
        request: &Request,
        depth: u64,
        admitted_ns: f64,
    ) -> f64 {
        let service = match request.operation {
            Operation::Read => &self.read,
            _ => &self.write,
        };
        let service_ns = service.draw_ns(request.length_bytes, depth, &mut self.rng);
        match service.includes_waiting() {
            true => admitted_ns.max(now_ns + service_ns),
            false => self.channel_ns(now_ns, service_ns).max(admitted_ns) + service_ns,
        }
    }

    /// When a channel begins with the request.
    fn channel_ns(&mut self, now_ns: f64, service_ns: f64) -> f64 {
        match self.channels.peek_mut() {
            Some(mut first) => {
                let start_ns = (first.0 as f64).max(now_ns);
                *first = Reverse((start_ns + service_ns) as u64);
                start_ns
            }
            // No profile has no channel; without one nothing is ever in the way.
            None => now_ns,
        }
    }

    /// When the caps and the cache let a write begin.
    fn admit_write(&mut self, now_ns: f64, length_bytes: u64) -> f64 {
        let full = self.pacing.caps.write;
        let idle_ns = (now_ns - self.pacing.writes_idle_since_ns()).max(0.0);
        let rates = match &mut self.freshness {
            Some(freshness) => freshness.rates(idle_ns, length_bytes, full),
            None => full,
        };
        let paced_ns = self.pacing.write(now_ns, length_bytes, rates);
        match &mut self.cache {
            Some(cache) => paced_ns.max(cache.take(paced_ns, length_bytes)),
            None => paced_ns,
        }
    }

    /// When what was written before has reached the medium, as far as a flush waits for that.
    fn flushed_ns(&self, now_ns: f64) -> f64 {
        match &self.cache {
            Some(cache) if !cache.is_protected => cache.empty_at_ns.max(now_ns),
            _ => now_ns,
        }
    }
}

impl Model for SolidModel {
    fn submit(&mut self, now: Moment, id: u64, request: &Request, depth: u64) {
        self.latest = now;
        let at_ns = self.finish_ns(now.0 as f64, request, depth);
        let at = Moment((at_ns.round() as u64).max(now.0));
        self.under_way.push(Reverse((at, self.arrivals, id)));
        self.arrivals += 1;
    }

    fn next_done(&self) -> Option<Moment> {
        self.under_way.peek().map(|Reverse((at, _, _))| *at)
    }

    fn take_done(&mut self, now: Moment, done: &mut Vec<Done>) {
        self.latest = now;
        while let Some(&Reverse((at, _, id))) = self.under_way.peek() {
            if at > now {
                break;
            }
            self.under_way.pop();
            done.push(Done { id, at });
        }
    }

    fn cache_fill_bytes(&self) -> Option<u64> {
        let now_ns = self.latest.0 as f64;
        self.cache.as_ref().map(|cache| cache.fill_bytes(now_ns))
    }

    fn reset(&mut self, now: Moment) {
        self.latest = now;
        self.under_way.clear();
        self.channels = self.channels.iter().map(|_| Reverse(now.0)).collect();
        self.pacing.reset(now.0 as f64);
        if let Some(cache) = &mut self.cache {
            cache.set_fill_bytes(now.0 as f64, 0);
        }
    }

    fn snapshot(&mut self, now: Moment) -> Snapshot {
        self.latest = now;
        let idle_ns = (now.0 as f64 - self.pacing.writes_idle_since_ns()).max(0.0);
        let full = self.pacing.caps.write;
        Snapshot {
            cache_fill_bytes: self.cache_fill_bytes().unwrap_or_default(),
            fresh_bytes: self.freshness.as_ref().map(|freshness| {
                // A write of nothing tells what is ready after the pause, and takes none of it.
                let mut then = freshness.clone();
                then.rates(idle_ns, 0, full);
                then.ready_bytes as u64
            }),
            cached_writes: Vec::new(),
        }
    }

    fn restore(&mut self, now: Moment, snapshot: &Snapshot) {
        self.reset(now);
        if let Some(cache) = &mut self.cache {
            cache.set_fill_bytes(now.0 as f64, snapshot.cache_fill_bytes);
        }
        if let (Some(freshness), Some(ready)) = (&mut self.freshness, snapshot.fresh_bytes) {
            freshness.ready_bytes = ready as f64;
        }
    }
}

#[cfg(test)]
mod tests;
