//! The interval logs of a drive: its latencies by operation, each second and in total.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use hdrhistogram::Histogram;
use stithy_measure::{IntervalLog, Packer};

use crate::counters::Span;
use crate::request::Operation;

/// Histograms of these logs hold microseconds to three digits, as all of Stithy's.
const DIGITS: u8 = 3;

/// The open log of a drive.
pub struct LatencyLog {
    stem: String,
    unix_start: Duration,
    log: IntervalLog,
    packer: Packer,
}

impl LatencyLog {
    /// Makes `<stem>.latency.hlog`; `unix_start` is the Unix time of the drive's clock at its start.
    ///
    /// Errors: as of the file system, with the path in the text.
    pub fn create(stem: &str, unix_start: Duration) -> io::Result<Self> {
        let path = PathBuf::from(format!("{stem}.latency.hlog"));
        Ok(LatencyLog {
            stem: stem.to_string(),
            unix_start,
            log: IntervalLog::create(&path, "latency", unix_start)?,
            packer: Packer::default(),
        })
    }

    /// What its files' names begin with.
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// Appends what was counted in a time of this length. Operations without an answer get no line.
    pub fn write(&mut self, span: &Span, length: Duration) -> io::Result<()> {
        append(
            &mut self.log,
            &mut self.packer,
            self.unix_start,
            span,
            length,
        )
    }

    /// Writes the sum of all seconds to `<stem>.latency-total.hlog`.
    pub fn write_total(&mut self, total: &Span, length: Duration) -> io::Result<()> {
        let path = PathBuf::from(format!("{}.latency-total.hlog", self.stem));
        let mut log = IntervalLog::create(&path, "latency", self.unix_start)?;
        append(&mut log, &mut self.packer, self.unix_start, total, length)
    }
}

fn append(
    log: &mut IntervalLog,
    packer: &mut Packer,
    unix_start: Duration,
    span: &Span,
    length: Duration,
) -> io::Result<()> {
    let begin = unix_start + Duration::from_nanos(span.begin().0);
    for operation in Operation::ALL {
        let latency_us = microseconds(span.latency_ns(operation));
        log.append(packer, operation.name(), (begin, length), &latency_us)?;
    }
    log.hand_on()
}

/// The same values to the nearest microsecond, at least one.
fn microseconds(latency_ns: &Histogram<u64>) -> Histogram<u64> {
    let growing = Histogram::new(DIGITS);
    let mut latency_us = growing.expect("three digits are within the library's bounds");
    for value in latency_ns.iter_recorded() {
        let value_ns = latency_ns.median_equivalent(value.value_iterated_to());
        let value_us = (value_ns.saturating_add(500) / 1_000).max(1);
        let counted = latency_us.record_n(value_us, value.count_since_last_iteration());
        counted.expect("a histogram that grows takes every value");
    }
    latency_us
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values keep their number and their size, to the microsecond.
    #[test]
    fn nanoseconds_become_microseconds() {
        let mut latency_ns = Histogram::new_with_bounds(64, 1_000_000, 3).unwrap();
        latency_ns.auto(true);
        for value_ns in [300, 81_400, 81_600, 15_000_000_000] {
            latency_ns.record(value_ns).unwrap();
        }
        let latency_us = microseconds(&latency_ns);
        assert_eq!(4, latency_us.len());
        let counts = [1, 81, 82].map(|value_us| latency_us.count_at(value_us));
        assert_eq!([1, 1, 1], counts);
        let max_s = latency_us.max() as f64 / 1e6;
        assert!((max_s - 15.0).abs() < 0.03, "{max_s}");
    }
}
