//! When a drive answers: service times, queues, caps and caches, without a clock and without I/O.
//!
//! [`Model`] is the seam between a drive and its times.

mod immediate;

pub use immediate::Immediate;
use stithy_measure::Moment;

use crate::request::Request;

/// A request that the drive has finished, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The request's name.
    pub id: u64,
    /// When it was finished: the moment at which its answer is due.
    pub at: Moment,
}

/// The times of a drive. Moments never go backwards from one call to the next.
pub trait Model: Send {
    /// Takes a request that arrives `now`. `id` is unique among those not yet taken.
    fn submit(&mut self, now: Moment, id: u64, request: &Request);

    /// When the next request will be finished, if nothing else arrives; None when there is none.
    fn next_done(&self) -> Option<Moment>;

    /// Moves everything finished at `now` or before to the end of `done`, in the order of finishing.
    fn take_done(&mut self, now: Moment, done: &mut Vec<Done>);

    /// Bytes in the drive's own write cache that have not reached its medium; None where it has none.
    fn cache_fill_bytes(&self) -> Option<u64>;

    /// Forgets all requests and empties the cache, as when the power is cut.
    fn reset(&mut self, now: Moment);
}
