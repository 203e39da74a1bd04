//! What was recorded in a stretch of time, by transaction type. Parts are merged, never averaged.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Sample;

/// Significant decimal digits of every histogram.
const DIGITS: u8 = 3;

/// A histogram's room at the start, microseconds.
const ROOM_US: u64 = 120_000_000;

/// That of a second's histograms, which grow where something takes longer. All of it is cleared each second; and a
/// histogram is added up to its longest time only where the sum has other room, else all of it, too.
const ROOM_OF_SECOND_US: u64 = 1_000_000;

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server acknowledged the commit.
    Committed,
    /// Rolled back, as the workload wants it.
    RolledBack,
    /// Failed; its times are in no histogram.
    Failed,
}

/// How many ended in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Acknowledged commits.
    pub committed: u64,
    /// Intended rollbacks.
    pub rolled_back: u64,
    /// Unexpected errors.
    pub errors: u64,
    /// Attempts after the first.
    pub retries: u64,
}

impl Counts {
    pub(crate) fn count(&mut self, sample: &Sample) {
        self.retries += sample.retries;
        match sample.outcome {
            Outcome::Committed => self.committed += 1,
            Outcome::RolledBack => self.rolled_back += 1,
            Outcome::Failed => self.errors += 1,
        }
    }

    /// Adds those of another part.
    pub fn merge(&mut self, other: &Counts) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.errors += other.errors;
        self.retries += other.retries;
    }
}

/// One transaction type in a stretch of time; histograms hold microseconds, from 1 without upper bound.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeRecord {
    /// How many.
    pub counts: Counts,
    /// Due to done.
    pub response: Histogram<u64>,
    /// Sent to done.
    pub service: Histogram<u64>,
    /// The driver's own lateness.
    pub late: Histogram<u64>,
    /// Waiting for a connection; None for a type that never waits.
    pub pool_wait: Option<Histogram<u64>>,
}

impl TypeRecord {
    fn new(waits: bool, room_us: u64) -> Self {
        let empty = || histogram_with_room(room_us);
        TypeRecord {
            counts: Counts::default(),
            response: empty(),
            service: empty(),
            late: empty(),
            pool_wait: waits.then(empty),
        }
    }

    fn record(&mut self, sample: &Sample) {
        self.counts.count(sample);
        if sample.outcome != Outcome::Failed {
            count_time(&mut self.response, sample.times.response());
            count_time(&mut self.service, sample.times.service());
            count_time(&mut self.late, sample.times.late());
            if let Some(pool_wait) = &mut self.pool_wait {
                count_time(pool_wait, sample.times.pool_wait());
            }
        }
    }

    fn merge(&mut self, other: &TypeRecord) {
        self.counts.merge(&other.counts);
        add(&mut self.response, &other.response);
        add(&mut self.service, &other.service);
        add(&mut self.late, &other.late);
        if let (Some(mine), Some(theirs)) = (&mut self.pool_wait, &other.pool_wait) {
            add(mine, theirs);
        }
    }

    fn clear(&mut self) {
        self.counts = Counts::default();
        self.response.reset();
        self.service.reset();
        self.late.reset();
        self.pool_wait.iter_mut().for_each(Histogram::reset);
    }
}

/// All transaction types in a stretch of time, in the workload's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// One entry a transaction type.
    pub types: Vec<TypeRecord>,
}

impl Interval {
    /// An empty stretch; for each transaction type, whether it may wait for a connection.
    pub fn new(waits: &[bool]) -> Self {
        Interval::with_room(waits, ROOM_US)
    }

    /// An empty second of a run.
    pub(crate) fn of_second(waits: &[bool]) -> Self {
        Interval::with_room(waits, ROOM_OF_SECOND_US)
    }

    fn with_room(waits: &[bool], room_us: u64) -> Self {
        let types = waits.iter().map(|waits| TypeRecord::new(*waits, room_us));
        Interval {
            types: types.collect(),
        }
    }

    /// Adds one transaction. `sample.kind` must be below the number of types.
    pub fn record(&mut self, sample: &Sample) {
        self.types[sample.kind].record(sample);
    }

    /// Adds another stretch, or the same stretch as another part saw it.
    pub fn merge(&mut self, other: &Interval) {
        for (mine, theirs) in self.types.iter_mut().zip(&other.types) {
            mine.merge(theirs);
        }
    }

    /// The driver's lateness over all transaction types, microseconds.
    pub fn late(&self) -> Histogram<u64> {
        let mut all = empty_histogram();
        self.types
            .iter()
            .for_each(|record| add(&mut all, &record.late));
        all
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.types.iter_mut().for_each(TypeRecord::clear);
    }
}

/// Has room for two minutes at once and grows beyond: a run takes the same memory from its first second
/// to its last, whatever it meets.
pub fn empty_histogram() -> Histogram<u64> {
    histogram_with_room(ROOM_US)
}

fn histogram_with_room(room_us: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, room_us, DIGITS)
        .expect("3 digits from 1 µs up are within the library's bounds");
    histogram.auto(true);
    histogram
}

/// Times under a microsecond count as one: 0 has no place in a histogram of 3 digits from 1 up.
pub fn count_time(histogram: &mut Histogram<u64>, time: Duration) {
    let value = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    histogram
        .record(value)
        .expect("a histogram that grows takes every value");
}

pub(crate) fn add(mine: &mut Histogram<u64>, theirs: &Histogram<u64>) {
    mine.add(theirs)
        .expect("a histogram that grows takes every other");
}
