//! What was taken out of a drive's counters, added up.

use std::sync::{Arc, Mutex};

use stithy_measure::{locked, Moment};
use stithy_wire::DriveCounters;

use super::{Counters, Span, State};

/// The sums of one drive's counters: of the running second, and since it came up.
pub struct Tally {
    drive: String,
    /// Unix time of the clock's start.
    start_s: f64,
    counters: Arc<Mutex<Counters>>,
    second: Span,
    total: Span,
    spare: Option<Box<Span>>,
    state: State,
}

impl Tally {
    /// A tally that begins `now` and takes from `counters`; `start_s` is the Unix time of [`Moment::START`].
    pub fn new(drive: &str, start_s: f64, counters: Arc<Mutex<Counters>>, now: Moment) -> Self {
        Tally {
            drive: drive.to_string(),
            start_s,
            counters,
            second: Span::new(now),
            total: Span::new(now),
            spare: None,
            state: State::default(),
        }
    }

    fn collect(&mut self, now: Moment) {
        let spare = self.spare.take();
        let mut next = spare.unwrap_or_else(|| Box::new(Span::new(now)));
        next.clear(now);
        let (part, state) = locked(&self.counters).exchange(next);
        self.state = state;
        self.second.merge(&part);
        self.total.merge(&part);
        self.spare = Some(part);
    }

    /// What was counted since the last call; begins the next second. `keep` is given its histograms first.
    pub fn take_second(&mut self, now: Moment, keep: &mut dyn FnMut(&Span)) -> DriveCounters {
        self.collect(now);
        keep(&self.second);
        let told = self
            .second
            .told(&self.drive, self.start_s, now, &self.state);
        self.second.clear(now);
        self.second.begin_energy(&self.state);
        self.second.observe_depth(self.state.depth);
        told
    }

    /// What was counted since the drive came up.
    pub fn total(&mut self, now: Moment) -> DriveCounters {
        self.collect(now);
        self.total.told(&self.drive, self.start_s, now, &self.state)
    }

    /// The histograms of [`Tally::total`], as they were when it was asked last.
    pub fn total_span(&self) -> &Span {
        &self.total
    }
}
