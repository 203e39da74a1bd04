//! Counters over one time. Parts are merged, never averaged.

use std::time::Duration;

use hdrhistogram::Histogram;
use stithy_measure::{nanoseconds, Moment};
use stithy_wire::{DriveCounters, OperationCounters, Percentiles};

use super::{Answered, State};
use crate::request::Operation;

/// Histograms of nanoseconds, to 0.1 %.
pub(crate) fn histogram() -> Histogram<u64> {
    // 64 ns can be distinguished; it grows with what is recorded.
    let bounded = Histogram::new_with_bounds(64, 1_000_000, 3);
    let mut histogram = bounded.expect("the bounds are constants that the library allows");
    histogram.auto(true);
    histogram
}

struct OperationRecord {
    answered: u64,
    moved_bytes: u64,
    errors: u64,
    given_ns: u64,
    earlier_ns: u64,
    latency: Histogram<u64>,
}

/// Counters over one time.
pub struct Span {
    begin: Moment,
    operations: [OperationRecord; 4],
    depth_max: u64,
    late: Histogram<u64>,
    late_answers: u64,
    /// What the drive had drawn at the beginning, joules.
    drawn_before_j: f64,
}

impl Span {
    pub(super) fn new(begin: Moment) -> Self {
        Span {
            begin,
            operations: std::array::from_fn(|_| OperationRecord {
                answered: 0,
                moved_bytes: 0,
                errors: 0,
                given_ns: 0,
                earlier_ns: 0,
                latency: histogram(),
            }),
            depth_max: 0,
            late: histogram(),
            late_answers: 0,
            drawn_before_j: 0.0,
        }
    }

    /// Notes what the drive had drawn when it began.
    pub(super) fn begin_energy(&mut self, state: &State) {
        let energy = state.energy.unwrap_or_default();
        self.drawn_before_j = energy.until(self.begin);
    }

    /// Empties it, to begin at a moment; its memory stays.
    pub(super) fn clear(&mut self, begin: Moment) {
        self.begin = begin;
        self.depth_max = 0;
        self.late_answers = 0;
        clear(&mut self.late);
        for record in &mut self.operations {
            (record.answered, record.moved_bytes) = (0, 0);
            (record.errors, record.given_ns, record.earlier_ns) = (0, 0, 0);
            clear(&mut record.latency);
        }
    }

    pub(super) fn record(&mut self, answered: &Answered) {
        let record = &mut self.operations[answered.operation.index()];
        record.answered += 1;
        record.moved_bytes += answered.moved_bytes;
        record.errors += u64::from(answered.failed);
        record.given_ns += nanoseconds(answered.given);
        record.earlier_ns += nanoseconds(answered.earlier);
        note(&mut record.latency, answered.latency());
        note(&mut self.late, answered.late);
        self.late_answers += u64::from(answered.is_late());
    }

    pub(super) fn observe_depth(&mut self, depth: u64) {
        self.depth_max = self.depth_max.max(depth);
    }

    /// Adds what was counted in another part of the same time.
    pub(super) fn merge(&mut self, part: &Span) {
        self.observe_depth(part.depth_max);
        self.late_answers += part.late_answers;
        add(&mut self.late, &part.late);
        for (mine, theirs) in self.operations.iter_mut().zip(&part.operations) {
            mine.answered += theirs.answered;
            mine.moved_bytes += theirs.moved_bytes;
            mine.errors += theirs.errors;
            mine.given_ns += theirs.given_ns;
            mine.earlier_ns += theirs.earlier_ns;
            add(&mut mine.latency, &theirs.latency);
        }
    }

    /// When it begins.
    pub fn begin(&self) -> Moment {
        self.begin
    }

    /// The latencies of an operation, nanoseconds.
    pub fn latency_ns(&self, operation: Operation) -> &Histogram<u64> {
        &self.operations[operation.index()].latency
    }

    /// As messages tell it, up to `now`; what its thread and its pace were is not known here.
    pub(super) fn told(
        &self,
        drive: &str,
        start_s: f64,
        now: Moment,
        state: &State,
    ) -> DriveCounters {
        DriveCounters {
            drive: drive.to_string(),
            at_s: start_s + self.begin.0 as f64 / 1e9,
            duration_s: now.since(self.begin).as_secs_f64(),
            operations: Operation::ALL
                .iter()
                .zip(&self.operations)
                .map(|(operation, record)| told(*operation, record))
                .collect(),
            depth: state.depth,
            depth_max: self.depth_max,
            cache_fill_bytes: state.cache_fill_bytes,
            volatile_bytes: state.volatile_bytes,
            late: percentiles(&self.late),
            late_answers: self.late_answers,
            cpu_s: None,
            cpu_wait_s: None,
            energy_j: state
                .energy
                .map(|energy| energy.until(now) - self.drawn_before_j),
            paced: true,
        }
    }
}

fn told(operation: Operation, record: &OperationRecord) -> OperationCounters {
    OperationCounters {
        name: operation.name().to_string(),
        answered: record.answered,
        moved_bytes: record.moved_bytes,
        errors: record.errors,
        given_mean_s: mean_s(record.given_ns, record.answered),
        earlier_mean_s: mean_s(record.earlier_ns, record.answered),
        latency: percentiles(&record.latency),
    }
}

fn note(histogram: &mut Histogram<u64>, time: Duration) {
    let time_ns = nanoseconds(time);
    // It grows as needed; beyond some years it cannot, and such a time is the largest it has.
    if histogram.record(time_ns).is_err() {
        histogram.saturating_record(time_ns);
    }
}

fn mean_s(sum_ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e9)
}

/// An idle drive must not clear megabytes a second.
fn clear(histogram: &mut Histogram<u64>) {
    if !histogram.is_empty() {
        histogram.reset();
    }
}

fn add(mine: &mut Histogram<u64>, theirs: &Histogram<u64>) {
    if !theirs.is_empty() {
        let added = mine.add(theirs);
        added.expect("a histogram that grows takes every other");
    }
}

/// A histogram of nanoseconds in seconds; all null where nothing was recorded.
pub(crate) fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    stithy_measure::percentiles_in(1e9, histogram)
}
