//! What of a drive outlasts its requests.

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
