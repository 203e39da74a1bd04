//! When a drive answers: service times, queues, caps and caches, without a clock and without I/O.
//!
//! [`Model`] is the seam between a drive and its times. [`of_profile`] makes the model of a described drive:
//! one of electronics ([`solid`]) or one that spins ([`disk`]).

mod cache;
mod disk;
mod distribution;
mod load;
mod pacing;
mod points;
mod solid;

pub use disk::SeekCurve;
pub use distribution::{mean_s, p50_p99_s, rates_max};
use std::collections::VecDeque;

use stithy_measure::Moment;

use crate::profile::{Medium, Profile};
use crate::request::Request;

/// Service times are counted in nanoseconds, as doubles.
const NS_PER_S: f64 = 1e9;

/// A request that the drive has finished, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The request's name.
    pub id: u64,
    /// When it was finished: the moment at which its answer is due.
    pub at: Moment,
}

/// The state of a drive at a moment at which nothing is under way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Bytes in the write cache, of a drive without moving parts.
    pub cache_fill_bytes: u64,
    /// Bytes that can still be written at the full rate; None where writing does not slow down.
    pub fresh_bytes: Option<u64>,
    /// Ranges (offset, length) in the write cache of a disk, in the order of their arrival.
    pub cached_writes: Vec<(u64, u64)>,
}

/// The times of a drive. Moments of arrivals never go backwards. [`Model::take_done`] may look a little ahead, to make
/// up for the time of the transport: a request that arrives before what was reported finished then does not
/// change that.
pub trait Model: Send {
    /// Takes a request that arrives `now`. `id` is unique among those not yet taken. `depth` is how many reads and
    /// writes the clients keep under way, with this one.
    fn submit(&mut self, now: Moment, id: u64, request: &Request, depth: u64);

    /// When [`Model::take_done`] must be called next if nothing else arrives: when the next request will
    /// be finished, or earlier, where only then it is decided which one that is. None when there is none.
    fn next_done(&self) -> Option<Moment>;

    /// Moves everything finished at `now` or before to the end of `done`, in the order of finishing.
    fn take_done(&mut self, now: Moment, done: &mut Vec<Done>);

    /// Bytes in the drive's own write cache that have not reached its medium; None where it has none.
    fn cache_fill_bytes(&self) -> Option<u64>;

    /// Forgets all requests and empties the cache, as when the power is cut.
    fn reset(&mut self, now: Moment);

    /// What of a drive outlasts its requests: what its cache holds, how far sustained writing went.
    fn snapshot(&mut self, _now: Moment) -> Snapshot {
        Snapshot::default()
    }

    /// Forgets all requests and puts back what [`Model::snapshot`] gave, so that putting an image back does
    /// not age the drive.
    fn restore(&mut self, now: Moment, _snapshot: &Snapshot) {
        self.reset(now);
    }
}

/// The model of a described drive; `seed` decides every draw.
pub fn of_profile(profile: &Profile, seed: u64) -> Box<dyn Model> {
    match &profile.medium {
        Medium::Solid(medium) => Box::new(solid::SolidModel::new(profile, medium, seed)),
        Medium::Disk(medium) => Box::new(disk::DiskModel::new(profile, medium)),
    }
}

/// A drive that takes no time at all: each request is finished the moment it arrives. What is left is the
/// transport latency.
#[derive(Debug, Default)]
pub struct Immediate {
    waiting: VecDeque<Done>,
}

impl Model for Immediate {
    fn submit(&mut self, now: Moment, id: u64, _request: &Request, _depth: u64) {
        self.waiting.push_back(Done { id, at: now });
    }

    fn next_done(&self) -> Option<Moment> {
        self.waiting.front().map(|done| done.at)
    }

    fn take_done(&mut self, now: Moment, done: &mut Vec<Done>) {
        while let Some(first) = self.waiting.front().filter(|first| first.at <= now) {
            done.push(*first);
            self.waiting.pop_front();
        }
    }

    fn cache_fill_bytes(&self) -> Option<u64> {
        None
    }

    fn reset(&mut self, _now: Moment) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests;
