//! Interval logs are read back as they were written.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

use std::io;
use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::Histogram;
use stithy_measure::{unpacked, Interval, IntervalLogs, Moment, Outcome, Sample, Times};

/// One line of an interval log.
struct LoggedInterval {
    /// The transaction type.
    tag: Option<String>,
    /// Unix time of the start.
    unix_start: Duration,
    /// How long it lasted.
    length: Duration,
    /// Microseconds.
    histogram: Histogram<u64>,
}

/// Reads a whole interval log.
///
/// Errors: `InvalidData` where a line cannot be understood.
fn read_interval_log(log: &[u8]) -> io::Result<Vec<LoggedInterval>> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let mut intervals = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.map_err(|e| invalid(format!("{e:?}")))? else {
            continue;
        };
        intervals.push(LoggedInterval {
            tag: line.tag().map(|tag| tag.as_str().to_owned()),
            unix_start: line.start_timestamp(),
            length: line.duration(),
            histogram: unpacked(line.encoded_histogram())?,
        });
    }
    Ok(intervals)
}

fn second(times_us: &[(usize, u64)]) -> Interval {
    let mut interval = Interval::new(&[true, false]);
    for (kind, time_us) in times_us {
        let (due, done) = (Moment(0), Moment(time_us * 1000));
        let times = Times {
            due,
            started: due,
            ready: due,
            connected: due,
            sent: due,
            done,
            answered: done,
        };
        let sample = Sample {
            kind: *kind,
            outcome: Outcome::Committed,
            retries: 0,
            times,
        };
        interval.record(&sample);
    }
    interval
}

/// Tags, time stamps and every count survive; a type without values has no line.
#[test]
fn a_log_is_read_back_as_it_was_written() {
    let folder = std::env::temp_dir().join(format!("stithy-hlog-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stem = folder.join("window").display().to_string();
    let at = |second: u64| Duration::from_millis(1_784_635_200_125 + 1000 * second);
    let length = Duration::from_secs(1);
    let seconds = [
        second(&[(0, 6_191), (0, 120_000_000), (1, 3)]),
        second(&[(1, 77)]),
    ];

    let mut logs = IntervalLogs::create(&stem, &["new-order", "payment"], true, at(0)).unwrap();
    logs.write(at(0), length, &seconds[0]).unwrap();
    logs.write(at(1), length, &seconds[1]).unwrap();

    let text = std::fs::read(format!("{stem}.response.hlog")).unwrap();
    let lines = read_interval_log(&text).unwrap();
    let tags: Vec<_> = lines
        .iter()
        .map(|line| line.tag.as_deref().unwrap())
        .collect();
    assert_eq!(vec!["new-order", "payment", "payment"], tags);
    assert_eq!(seconds[0].types[0].response, lines[0].histogram);
    assert_eq!(seconds[0].types[1].response, lines[1].histogram);
    assert_eq!(seconds[1].types[1].response, lines[2].histogram);
    assert_eq!((at(1), length), (lines[2].unix_start, lines[2].length));
    assert!(String::from_utf8(text).unwrap().contains("microseconds"));
    for measure in ["service", "late"] {
        let log = std::fs::read(format!("{stem}.{measure}.hlog")).unwrap();
        assert_eq!(3, read_interval_log(&log).unwrap().len());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A place that cannot be written to is named.
#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = IntervalLogs::create("/no-such-folder/w", &["a"], false, Duration::ZERO)
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .contains("/no-such-folder/w.response.hlog"),
        "{error}"
    );
}
