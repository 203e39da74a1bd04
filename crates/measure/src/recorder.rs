//! Collects the transactions of a run: by the second they ended in, and over the measurement.

use std::collections::VecDeque;
use std::ops::Range;

use stithy_wire::Phase;

use crate::suppressed::Unanswered;
use crate::{Counts, Interval, Moment, Sample};

/// Transactions that are sorted into histograms at a time.
const PENDING_MAX: usize = 256;

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
/// A transaction belongs to the second, and to the phase, in which it was answered. Each is recorded
/// once; a second is added to the measurement when it, or its share of the measurement, is over.
#[derive(Debug)]
pub struct Recorder {
    phases: Phases,
    second: u64,
    phase: Phase,
    /// This second, in this phase.
    current: Interval,
    /// What belongs there and is not in its histograms yet. They lie wide apart in memory: entering
    /// many transactions at a time fetches them once for all.
    pending: Vec<Sample>,
    /// What this second held before its phase changed.
    before: Option<Interval>,
    finished: VecDeque<(u64, Interval)>,
    spare: Vec<Interval>,
    measured: Interval,
    unanswered: Unanswered,
    whole: Counts,
    waits: Vec<bool>,
}

impl Recorder {
    /// An empty recorder; for each transaction type, whether it may wait for a connection.
    pub fn new(waits: Vec<bool>, phases: Phases) -> Self {
        Recorder {
            phase: phases.at(Moment::START),
            phases,
            second: 0,
            current: Interval::of_second(&waits),
            pending: Vec::with_capacity(PENDING_MAX),
            before: None,
            finished: VecDeque::new(),
            spare: Vec::new(),
            measured: Interval::new(&waits),
            unanswered: Unanswered::new(waits.len()),
            whole: Counts::default(),
            waits,
        }
    }

    /// Adds one transaction. One that ended in a second already taken counts in the current one.
    pub fn record(&mut self, sample: &Sample) {
        self.advance(sample.times.done);
        self.add_unanswered(sample.kind, sample.times.due, sample.times.done);
        self.whole.count(sample);
        self.pending.push(*sample);
        if self.pending.len() == PENDING_MAX {
            self.enter_pending();
        }
    }

    /// A transaction that was due is not answered before `done`, if ever.
    ///
    /// It counts as unanswered if `done` is after the measurement, for as long as it was due in it.
    pub fn add_unanswered(&mut self, kind: usize, due: Moment, done: Moment) {
        let measured = &self.phases.measured;
        if done >= measured.end && due < measured.end {
            self.unanswered
                .add(kind, measured.end.since(due.max(measured.start)));
        }
    }

    fn enter_pending(&mut self) {
        for sample in self.pending.drain(..) {
            self.current.record(&sample);
        }
    }

    /// Ends every second that is over at `now`, empty ones included, and the phase if it is over.
    pub fn advance(&mut self, now: Moment) {
        while self.second < now.second() {
            self.end_second();
        }
        if self.phase != self.phases.at(now) {
            self.change_phase(self.phases.at(now));
        }
    }

    /// Ends the second under way as well, at the end of the run.
    pub fn end_second(&mut self) {
        let mut ended = self.end_piece();
        if let Some(before) = self.before.take() {
            ended.merge(&before);
            self.give_back(before);
        }
        self.finished.push_back((self.second, ended));
        self.second += 1;
        self.phase = self.phases.at(Moment::of_second(self.second));
    }

    fn change_phase(&mut self, phase: Phase) {
        let mut piece = self.end_piece();
        if let Some(before) = self.before.take() {
            piece.merge(&before);
            self.give_back(before);
        }
        self.before = Some(piece);
        self.phase = phase;
    }

    /// Takes what was recorded in one second and phase; measured, it counts in the measurement.
    fn end_piece(&mut self) -> Interval {
        self.enter_pending();
        if self.phase == Phase::Measure {
            self.measured.merge(&self.current);
        }
        let next = self
            .spare
            .pop()
            .unwrap_or_else(|| Interval::of_second(&self.waits));
        std::mem::replace(&mut self.current, next)
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

    /// The transactions of the measurement, as far as its seconds have ended.
    pub fn measured(&self) -> &Interval {
        &self.measured
    }

    /// What was due in the measurement and not answered at its end, as far as it has ended.
    pub fn unanswered(&self) -> &Unanswered {
        &self.unanswered
    }

    /// Everything of the run so far, ramp-up and drain included.
    pub fn whole(&self) -> &Counts {
        &self.whole
    }

    /// When the measurement begins and ends.
    pub fn phases(&self) -> &Phases {
        &self.phases
    }

    /// The measurement ends earlier than planned, now. Transactions already recorded stay.
    pub fn cut_measurement(&mut self, end: Moment) {
        self.advance(end);
        let measured = &mut self.phases.measured;
        measured.end = measured.end.min(end).max(measured.start);
        self.advance(end);
    }
}
