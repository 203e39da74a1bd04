//! Reads interval logs back.

use std::ops::Range;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::Histogram;
use stithy_measure::unpacked;

/// All types of the seconds that began within some Unix times; microseconds.
pub fn merged(log: &[u8], from_to_s: Range<f64>) -> Histogram<u64> {
    let mut all = Histogram::new(3).unwrap();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.unwrap() else {
            continue;
        };
        // Time stamps have three decimals.
        let from_s = line.start_timestamp().as_secs_f64() + 0.001;
        if from_to_s.contains(&from_s) {
            all.add(unpacked(line.encoded_histogram()).unwrap())
                .unwrap();
        }
    }
    all
}
