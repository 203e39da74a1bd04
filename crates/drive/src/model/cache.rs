//! What writing leaves behind in a drive without moving parts: a write cache that drains at a steady rate,
//! and room that is ready to be written at the full rate, used up by writing and made ready again while
//! nothing is written.

use crate::model::NS_PER_S;
use crate::profile::{Rates, Sustained, WriteCache};

/// What is in the cache, as the moment at which it will be empty.
#[derive(Debug, Clone)]
pub(super) struct FluidCache {
    size_ns: f64,
    ns_per_byte: f64,
    /// When everything in it will have reached the medium.
    pub(super) empty_at_ns: f64,
    pub(super) is_protected: bool,
}

impl FluidCache {
    /// An empty one; None where the cache does not drain by itself.
    pub(super) fn new(described: &WriteCache) -> Option<Self> {
        let ns_per_byte = NS_PER_S / described.drain_bytes_per_s?;
        Some(FluidCache {
            size_ns: described.size_bytes as f64 * ns_per_byte,
            ns_per_byte,
            empty_at_ns: 0.0,
            is_protected: described.protected,
        })
    }

    /// When there is room for a write that arrives now; a write larger than the cache waits until it is
    /// empty.
    pub(super) fn take(&mut self, now_ns: f64, length_bytes: u64) -> f64 {
        let length_ns = length_bytes as f64 * self.ns_per_byte;
        let room_ns = (self.size_ns - length_ns).max(0.0);
        let at_ns = now_ns.max(self.empty_at_ns - room_ns);
        self.empty_at_ns = self.empty_at_ns.max(at_ns) + length_ns;
        at_ns
    }

    pub(super) fn fill_bytes(&self, now_ns: f64) -> u64 {
        // Writes that wait for room are not in it yet.
        let fill_ns = (self.empty_at_ns - now_ns).clamp(0.0, self.size_ns);
        (fill_ns / self.ns_per_byte).round() as u64
    }

    pub(super) fn set_fill_bytes(&mut self, now_ns: f64, bytes: u64) {
        self.empty_at_ns = now_ns + bytes as f64 * self.ns_per_byte;
    }
}

/// How much room is ready.
#[derive(Debug, Clone)]
pub(super) struct Freshness {
    described: Sustained,
    pub(super) ready_bytes: f64,
}

impl Freshness {
    /// All of it.
    pub(super) fn new(described: Sustained) -> Self {
        Freshness {
            described,
            ready_bytes: described.after_bytes as f64,
        }
    }

    /// The rates for a write of `length_bytes`, after `idle_ns` in which nothing was written.
    pub(super) fn rates(&mut self, idle_ns: f64, length_bytes: u64, full: Rates) -> Rates {
        let recovered = self.described.recovery_bytes_per_s * idle_ns / NS_PER_S;
        let all = self.described.after_bytes as f64;
        self.ready_bytes = (self.ready_bytes + recovered).min(all);
        let length = length_bytes as f64;
        if self.ready_bytes >= length {
            self.ready_bytes -= length;
            return full;
        }
        // What is not given slows down by nothing.
        Rates {
            iops: self.described.slowed.iops.or(full.iops),
            bytes_per_s: self.described.slowed.bytes_per_s.or(full.bytes_per_s),
        }
    }
}
