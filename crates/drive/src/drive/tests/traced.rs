//! What of a drive reaches its trace.

use super::*;
use crate::trace::{Head, Record, Trace, ERROR, LATE, UNPACED};

/// Every answer is in the trace, in the order of the answers, with what it was; after the trace none is.
#[test]
fn every_answer_is_traced() {
    let path = std::env::temp_dir().join(format!("stithy-traced-{}", std::process::id()));
    let head = Head {
        drive: "d".to_string(),
        sector_bytes: 4096,
        size_bytes: 16 * SECTOR,
        unix_start_ns: 0,
    };
    let mut bench = Bench::new();
    let (trace, tracer) = Trace::begin(&path.display().to_string(), &head).expect("a file");
    bench.drive.trace(Some(tracer));
    bench.write(0, 1, 1);
    bench.ask(10, Operation::Read, 2, &[]);
    bench.until(300);
    bench.drive.set_paced(Moment(400_000), false);
    bench.write(500, 3, 3);
    bench.fault(500, &DriveFault::Gone);
    bench.drive.trace(None);
    bench.write(600, 1, 1);
    bench.until(600);
    let (counts, _) = trace.finish();
    let bytes = std::fs::read(&path).expect("it is there");
    std::fs::remove_file(&path).expect("it is there");
    let record = |operation, sector: u64, arrived, latency_ns, depth, flags| {
        let request = Request {
            operation,
            offset_bytes: sector * SECTOR,
            length_bytes: SECTOR,
        };
        let arrived = Moment(arrived);
        Record {
            arrived,
            request,
            latency_ns,
            depth,
            flags,
        }
    };
    let expected = [
        record(Operation::Write, 1, 0, 300_000, 1, LATE),
        record(Operation::Read, 2, 10_000, 290_000, 2, LATE),
        record(Operation::Write, 3, 500_000, 0, 1, ERROR | UNPACED),
    ];
    assert_eq!((3, 0), (counts.written, counts.lost));
    let expected: Vec<u8> = expected.iter().flat_map(|each| each.bytes()).collect();
    assert_eq!(expected, bytes[128..bytes.len() - 32]);
}
