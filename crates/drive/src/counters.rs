//! What a drive has done: each operation's number, bytes, errors and latencies, its depth, and its own
//! lateness, in the running second and since it came up.

use std::time::Duration;

use hdrhistogram::Histogram;
use stithy_measure::Moment;
use stithy_wire::{DriveCounters, OperationCounters, Percentiles};

use crate::request::Operation;

/// One answered request.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// What was asked.
    pub operation: Operation,
    /// How much was moved.
    pub moved_bytes: u64,
    /// Whether it failed.
    pub failed: bool,
    /// From arrival to answer.
    pub latency: Duration,
    /// From the moment it was due to the answer.
    pub late: Duration,
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
}

/// Histograms of nanoseconds, to 0.1 %.
fn histogram() -> Histogram<u64> {
    // 64 ns are told apart; it grows with what is recorded.
    let bounded = Histogram::new_with_bounds(64, 1_000_000, 3);
    let mut histogram = bounded.expect("the bounds are constants that the library allows");
    histogram.auto(true);
    histogram
}

struct OperationRecord {
    answered: u64,
    moved_bytes: u64,
    errors: u64,
    latency: Histogram<u64>,
}

/// Counters over one time.
struct Span {
    begin: Moment,
    operations: [OperationRecord; 4],
    depth_max: u64,
    late: Histogram<u64>,
}

impl Span {
    fn new(begin: Moment) -> Self {
        Span {
            begin,
            operations: std::array::from_fn(|_| OperationRecord {
                answered: 0,
                moved_bytes: 0,
                errors: 0,
                latency: histogram(),
            }),
            depth_max: 0,
            late: histogram(),
        }
    }

    fn record(&mut self, answered: &Answered) {
        let record = &mut self.operations[answered.operation.index()];
        record.answered += 1;
        record.moved_bytes += answered.moved_bytes;
        record.errors += u64::from(answered.failed);
        note(&mut record.latency, answered.latency);
        note(&mut self.late, answered.late);
    }

    fn told(&self, drive: &str, start_s: f64, now: Moment, state: &State) -> DriveCounters {
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
        }
    }
}

fn told(operation: Operation, record: &OperationRecord) -> OperationCounters {
    OperationCounters {
        name: operation.name().to_string(),
        answered: record.answered,
        moved_bytes: record.moved_bytes,
        errors: record.errors,
        latency: percentiles(&record.latency),
    }
}

fn note(histogram: &mut Histogram<u64>, time: Duration) {
    let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    // It grows as needed; beyond some years it cannot, and such a time is the largest it has.
    if histogram.record(time_ns).is_err() {
        histogram.saturating_record(time_ns);
    }
}

/// A histogram of nanoseconds in seconds; all null where nothing was recorded.
fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    let known = |value_ns: f64| (!histogram.is_empty()).then_some(value_ns / 1e9);
    let at = |quantile: f64| known(histogram.value_at_quantile(quantile) as f64);
    Percentiles {
        count: histogram.len(),
        mean_s: known(histogram.mean()),
        min_s: known(histogram.min() as f64),
        p50_s: at(0.5),
        p90_s: at(0.9),
        p95_s: at(0.95),
        p99_s: at(0.99),
        p999_s: at(0.999),
        max_s: known(histogram.max() as f64),
    }
}

/// The counters of one drive.
pub struct Counters {
    drive: String,
    /// Unix time of the clock's start.
    start_s: f64,
    second: Span,
    total: Span,
    state: State,
}

impl Counters {
    /// Counters that begin `now`; `start_s` is the Unix time of [`Moment::START`].
    pub fn new(drive: &str, start_s: f64, now: Moment) -> Self {
        Counters {
            drive: drive.to_string(),
            start_s,
            second: Span::new(now),
            total: Span::new(now),
            state: State::default(),
        }
    }

    /// Counts an answer.
    pub fn record(&mut self, answered: &Answered) {
        self.second.record(answered);
        self.total.record(answered);
    }

    /// Notes what is true now.
    pub fn observe(&mut self, state: State) {
        self.state = state;
        self.second.depth_max = self.second.depth_max.max(state.depth);
        self.total.depth_max = self.total.depth_max.max(state.depth);
    }

    /// What was counted since the last call; begins the next second.
    pub fn take_second(&mut self, now: Moment) -> DriveCounters {
        let next = Span {
            depth_max: self.state.depth,
            ..Span::new(now)
        };
        let ended = std::mem::replace(&mut self.second, next);
        ended.told(&self.drive, self.start_s, now, &self.state)
    }

    /// What was counted since the drive came up.
    pub fn total(&self, now: Moment) -> DriveCounters {
        self.total.told(&self.drive, self.start_s, now, &self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(operation: Operation, microseconds: u64) -> Answered {
        Answered {
            operation,
            moved_bytes: 4096,
            failed: microseconds > 500,
            latency: Duration::from_micros(microseconds),
            late: Duration::from_nanos(700),
        }
    }

    /// The seconds add up to the total, and a second begins empty.
    #[test]
    fn seconds_add_up_to_the_total() {
        let mut counters = Counters::new("d", 1000.0, Moment::START);
        counters.record(&answered(Operation::Read, 100));
        let first = counters.take_second(Moment::of_second(1));
        counters.record(&answered(Operation::Read, 900));
        let second = counters.take_second(Moment::of_second(2));
        let total = counters.total(Moment::of_second(2));
        let reads = |counters: &DriveCounters| counters.operations[0].clone();
        assert_eq!(
            (1, 1, 2),
            (
                reads(&first).answered,
                reads(&second).answered,
                reads(&total).answered
            )
        );
        assert_eq!((0, 1), (reads(&first).errors, reads(&total).errors));
        assert_eq!((1001.0, 1.0), (second.at_s, second.duration_s));
        let p50_s = reads(&first).latency.p50_s.expect("one was recorded");
        assert!((p50_s - 1e-4).abs() < 1e-6, "{p50_s}");
        assert_eq!(None, total.operations[1].latency.p50_s);
    }

    /// Times far beyond what the histograms begin with are kept as they are.
    #[test]
    fn long_times_are_not_cut() {
        let mut counters = Counters::new("d", 0.0, Moment::START);
        counters.record(&answered(Operation::Flush, 15_000_000));
        let max_s = counters.total(Moment(1)).operations[2].latency.max_s;
        assert!(
            max_s.is_some_and(|max_s| (max_s - 15.0).abs() < 0.02),
            "{max_s:?}"
        );
    }

    /// The depth of a second is the highest in it, and at least the one it began with.
    #[test]
    fn the_highest_depth_is_kept() {
        let mut counters = Counters::new("d", 0.0, Moment::START);
        let depth = |depth| State {
            depth,
            ..State::default()
        };
        counters.observe(depth(5));
        counters.observe(depth(2));
        assert_eq!(5, counters.take_second(Moment(1)).depth_max);
        assert_eq!(2, counters.take_second(Moment(2)).depth_max);
        assert_eq!(5, counters.total(Moment(2)).depth_max);
    }
}
