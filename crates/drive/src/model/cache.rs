//! A write cache that drains at a steady rate, as water does.

use crate::profile::WriteCache;

const NS_PER_S: f64 = 1e9;

/// What is in the cache, as the moment at which it will be empty.
#[derive(Debug, Clone)]
pub(super) struct FluidCache {
    size_ns: f64,
    ns_per_byte: f64,
    empty_at_ns: f64,
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

    /// When everything in it will have reached the medium.
    pub(super) fn empty_at_ns(&self) -> f64 {
        self.empty_at_ns
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
