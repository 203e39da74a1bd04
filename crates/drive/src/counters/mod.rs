//! What a drive has done: each operation's number, bytes, errors and latencies, its depth, and its own
//! lateness, in the running second and since it came up.
//!
//! The drive's thread counts into [`Counters`]; another takes them out by exchanging the whole part, adds it
//! to its [`Tally`] and tells from that. So the thread never waits while percentiles are found.

mod span;
mod tally;

use std::time::Duration;

use stithy_measure::Moment;

use crate::request::Operation;
pub use span::Span;
pub(crate) use span::{histogram, percentiles};
pub use tally::Tally;

/// One answered request.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// What was asked.
    pub operation: Operation,
    /// How much was moved.
    pub moved_bytes: u64,
    /// Whether it failed.
    pub failed: bool,
    /// What profile and faults give it.
    pub given: Duration,
    /// By how much it was due earlier than that, for the way through the kernel.
    pub earlier: Duration,
    /// From the moment it was due to the answer.
    pub late: Duration,
}

/// An answer that is late by more than this share of the time given to it, and than [`LATE_AT_LEAST`], is late.
///
/// Own: less than this cannot be distinguished from the scatter of a real drive, and a window in which few answers
/// are that late is as good as one without.
const LATE_SHARE: f64 = 0.05;

/// See [`LATE_SHARE`]. Own: a wake-up from a deep idle state.
const LATE_AT_LEAST: Duration = Duration::from_micros(50);

impl Answered {
    /// How long it took, the way through the kernel included as far as it was made up for.
    pub fn latency(&self) -> Duration {
        self.given + self.late
    }

    /// Whether the emulation was too late with it.
    pub fn is_late(&self) -> bool {
        self.late > LATE_AT_LEAST.max(self.given.mul_f64(LATE_SHARE))
    }
}

/// What is true at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    /// Requests under way.
    pub depth: u64,
    /// Bytes in the drive's cache, where it has one.
    pub cache_fill_bytes: Option<u64>,
    /// Bytes that a power cut could take away.
    pub volatile_bytes: u64,
    /// What it drew, where its profile states watts.
    pub energy: Option<Energy>,
}

/// What a drive drew until a moment, and what it draws from then on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Energy {
    /// The moment.
    pub at: Moment,
    /// Drawn until then, joules.
    pub drawn_j: f64,
    /// Watts from then on.
    pub power_w: f64,
}

impl Energy {
    /// Drawn until `now`, joules.
    pub fn until(&self, now: Moment) -> f64 {
        self.drawn_j + self.power_w * now.since(self.at).as_secs_f64()
    }
}

/// What a drive's thread counts, since it was taken out last.
pub struct Counters {
    part: Box<Span>,
    state: State,
}

impl Counters {
    /// Counters that begin `now`.
    pub fn new(now: Moment) -> Self {
        Counters {
            part: Box::new(Span::new(now)),
            state: State::default(),
        }
    }

    /// Counts an answered request.
    pub fn record(&mut self, answered: &Answered) {
        self.part.record(answered);
    }

    /// Notes how many were under way.
    pub fn observe_depth(&mut self, depth: u64) {
        self.part.observe_depth(depth);
    }

    /// Notes what is true now.
    pub fn observe(&mut self, state: State) {
        self.state = state;
        self.part.observe_depth(state.depth);
    }

    /// Gives what was counted, and goes on in `next`, which must be empty.
    fn exchange(&mut self, mut next: Box<Span>) -> (Box<Span>, State) {
        next.observe_depth(self.state.depth);
        (std::mem::replace(&mut self.part, next), self.state)
    }
}

#[cfg(test)]
mod tests;
