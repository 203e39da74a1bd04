//! Collects the transactions of a run: by the second they ended in, and over the measurement.

use std::collections::VecDeque;
use std::ops::Range;

use stithy_wire::Phase;

use crate::{Counts, Interval, Moment, Outcome, Sample};

/// When the measurement begins and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases {
    /// From its first instant up to, but without, its last.
    pub measured: Range<Moment>,
}

impl Phases {
    /// The phase in which a moment lies.
    pub fn at(&self, moment: Moment) -> Phase {
        if moment < self.measured.start {
            Phase::RampUp
        } else if moment < self.measured.end {
            Phase::Measure
        } else {
            Phase::Drain
        }
    }
}

/// Collects the transactions of one thread of users.
///
/// A transaction belongs to the second, and to the phase, in which it was answered.
#[derive(Debug)]
pub struct Recorder {
    phases: Phases,
    second: u64,
    current: Interval,
    finished: VecDeque<(u64, Interval)>,
    spare: Vec<Interval>,
    measured: Interval,
    whole: Counts,
    types: usize,
}

impl Recorder {
    /// An empty recorder for a number of transaction types.
    pub fn new(types: usize, phases: Phases) -> Self {
        Recorder {
            phases,
            second: 0,
            current: Interval::new(types),
            finished: VecDeque::new(),
            spare: Vec::new(),
            measured: Interval::new(types),
            whole: Counts::default(),
            types,
        }
    }

    /// Adds one transaction. One that ended in a second already taken counts in the current one.
    pub fn record(&mut self, sample: &Sample) {
        self.advance(sample.times.done);
        self.current.record(sample);
        if self.phases.at(sample.times.done) == Phase::Measure {
            self.measured.record(sample);
        }
        self.whole.retries += sample.retries;
        match sample.outcome {
            Outcome::Committed => self.whole.committed += 1,
            Outcome::RolledBack => self.whole.rolled_back += 1,
            Outcome::Failed => self.whole.errors += 1,
        }
    }

    /// Ends every second that is over at `now`, empty ones included.
    pub fn advance(&mut self, now: Moment) {
        while self.second < now.second() {
            self.end_second();
        }
    }

    /// Ends the second under way as well, at the end of the run.
    pub fn end_second(&mut self) {
        let next = self
            .spare
            .pop()
            .unwrap_or_else(|| Interval::new(self.types));
        let ended = std::mem::replace(&mut self.current, next);
        self.finished.push_back((self.second, ended));
        self.second += 1;
    }

    /// The oldest ended second that was not taken yet.
    pub fn take_second(&mut self) -> Option<(u64, Interval)> {
        self.finished.pop_front()
    }

    /// Gives a taken second back, so that its memory serves again.
    pub fn give_back(&mut self, mut interval: Interval) {
        interval.clear();
        self.spare.push(interval);
    }

    /// The transactions of the measurement so far.
    pub fn measured(&self) -> &Interval {
        &self.measured
    }

    /// Everything of the run so far, ramp-up and drain included.
    pub fn whole(&self) -> &Counts {
        &self.whole
    }

    /// When the measurement begins and ends.
    pub fn phases(&self) -> &Phases {
        &self.phases
    }

    /// The measurement ends earlier than planned. Transactions already recorded stay.
    pub fn cut_measurement(&mut self, end: Moment) {
        let measured = &mut self.phases.measured;
        measured.end = measured.end.min(end).max(measured.start);
    }
}
