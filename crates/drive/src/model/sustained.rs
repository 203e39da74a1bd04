//! Writing that slows down: room that is ready to be written at the full rate, used up by writing and
//! made ready again while nothing is written.

use crate::profile::{Rates, Sustained};

const NS_PER_S: f64 = 1e9;

/// How much room is ready.
#[derive(Debug, Clone)]
pub(super) struct Freshness {
    described: Sustained,
    ready_bytes: f64,
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
        // What is not told slows down by nothing.
        Rates {
            iops: self.described.slowed.iops.or(full.iops),
            bytes_per_s: self.described.slowed.bytes_per_s.or(full.bytes_per_s),
        }
    }

    pub(super) fn ready_bytes(&self) -> u64 {
        self.ready_bytes as u64
    }

    pub(super) fn set_ready_bytes(&mut self, bytes: u64) {
        self.ready_bytes = bytes as f64;
    }
}
