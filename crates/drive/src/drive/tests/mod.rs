//! A drive between a scripted model and a transport that only remembers.

use std::cell::Cell;

use stithy_wire::{CutRule, DriveCounters, DriveFault, SlowRule};

mod far;
mod loaded;
mod pace;
mod traced;

use super::*;
use crate::backing::MemoryImage;
use crate::counters::Tally;
use crate::request::Request;
use crate::transport::Received;

/// A clock that stands still until it is set.
#[derive(Debug, Default)]
struct ManualClock {
    now: Cell<Moment>,
}

impl ManualClock {
    fn set(&self, moment: Moment) {
        self.now.set(moment);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        self.now.get()
    }

    fn unix_start(&self) -> Duration {
        Duration::from_secs(1_000_000_000)
    }
}

/// Remembers answers: the request's name, and its bytes or the number of its error.
#[derive(Default)]
struct Script {
    answers: Vec<(u64, Result<Vec<u8>, i32>)>,
    payload: Vec<u8>,
}

impl Transport for Script {
    fn readiness(&self) -> std::os::fd::BorrowedFd<'_> {
        // Nobody waits here.
        rustix::fs::CWD
    }

    fn receive(&mut self) -> io::Result<Received> {
        Ok(Received::Nothing)
    }

    fn payload(&self) -> &[u8] {
        &self.payload
    }

    fn answer(&mut self, incoming: &Incoming, outcome: Result<&[u8], i32>) -> io::Result<()> {
        self.answers
            .push((incoming.id, outcome.map(<[u8]>::to_vec)));
        Ok(())
    }
}

/// Takes the same time for every request, and ages by each; without power it is as new.
struct Constant {
    time: Duration,
    waiting: Vec<Done>,
    age: u64,
}

impl Model for Constant {
    fn submit(&mut self, now: Moment, id: u64, _request: &Request, _depth: u64) {
        let at = now + self.time;
        self.waiting.push(Done { id, at });
        self.age += 1;
    }

    fn next_done(&self) -> Option<Moment> {
        self.waiting.iter().map(|done| done.at).min()
    }

    fn take_done(&mut self, now: Moment, done: &mut Vec<Done>) {
        let (finished, waiting) = self.waiting.iter().partition(|each| each.at <= now);
        self.waiting = waiting;
        let finished: Vec<Done> = finished;
        done.extend(finished);
    }

    fn cache_fill_bytes(&self) -> Option<u64> {
        Some(0)
    }

    fn reset(&mut self, _now: Moment) {
        self.waiting.clear();
        self.age = 0;
    }

    fn snapshot(&mut self, _now: Moment) -> Snapshot {
        Snapshot {
            cache_fill_bytes: self.age,
            ..Snapshot::default()
        }
    }

    fn restore(&mut self, now: Moment, snapshot: &Snapshot) {
        self.reset(now);
        self.age = snapshot.cache_fill_bytes;
    }
}

struct Bench {
    drive: Drive,
    script: Script,
    tally: Tally,
    next: u64,
}

const SECTOR: u64 = 4096;

impl Bench {
    /// A drive of 16 sectors that takes 100 µs.
    fn new() -> Self {
        Bench::over(Bench::memory())
    }

    /// A volatile store of 16 sectors.
    fn memory() -> Store {
        let image = MemoryImage::new(16 * SECTOR).expect("memory");
        Store::new(Box::new(image), Some(1 << 20))
    }

    /// The same over a store.
    fn over(store: Store) -> Self {
        let model = Constant {
            time: Duration::from_micros(100),
            waiting: Vec::new(),
            age: 0,
        };
        Bench::with(store, Box::new(model))
    }

    /// A drive with these times over a store.
    fn with(store: Store, model: Box<dyn Model>) -> Self {
        let counters = Arc::new(Mutex::new(Counters::new(Moment::START)));
        let tally = Tally::new("d", 0.0, Arc::clone(&counters), Moment::START);
        let drive = Drive::new(store, model, 1, counters);
        Bench {
            drive,
            script: Script::default(),
            tally,
            next: 0,
        }
    }

    fn ask(&mut self, at_us: u64, operation: Operation, sector: u64, content: &[u8]) -> u64 {
        self.next += 1;
        let request = Request {
            operation,
            offset_bytes: sector * SECTOR,
            length_bytes: SECTOR,
        };
        let incoming = Incoming {
            id: self.next,
            request,
        };
        self.keep();
        self.drive.arrive(Moment(at_us * 1_000), incoming);
        self.script.payload = content.to_vec();
        self.next
    }

    fn write(&mut self, at_us: u64, sector: u64, value: u8) -> u64 {
        self.ask(at_us, Operation::Write, sector, &[value; SECTOR as usize])
    }

    fn until(&mut self, at_us: u64) -> &mut Self {
        let clock = ManualClock::default();
        clock.set(Moment(at_us * 1_000));
        self.drive
            .complete(&clock, &mut self.script)
            .expect("the script takes everything");
        self.keep();
        self
    }

    /// As a drive's thread does before the next request and before each command.
    fn keep(&mut self) {
        self.drive.keep(&std::mem::take(&mut self.script.payload));
    }

    fn fault(&mut self, at_us: u64, fault: &DriveFault) -> FaultOutcome {
        self.keep();
        self.drive
            .fault(Moment(at_us * 1_000), fault, &mut self.script)
            .expect("the fault is possible")
    }

    /// The first byte of a sector, read now; or the error.
    fn value(&mut self, at_us: u64, sector: u64) -> Result<u8, i32> {
        let id = self.ask(at_us, Operation::Read, sector, &[]);
        self.until(at_us + 100);
        let (answered, outcome) = self.script.answers.last().expect("it is answered").clone();
        assert_eq!(id, answered);
        outcome.map(|bytes| bytes[0])
    }

    fn age(&mut self) -> u64 {
        self.drive.model.snapshot(Moment::START).cache_fill_bytes
    }

    fn totals(&mut self) -> DriveCounters {
        self.tally.total(Moment::of_second(1))
    }
}

fn cut(lost_share: f64) -> DriveFault {
    DriveFault::PowerCut(CutRule {
        seed: 1,
        lost_share,
        torn_share: 0.0,
        unit_bytes: 512,
    })
}

/// An answer is given when it is due and not before.
#[test]
fn answers_are_given_when_due() {
    let mut bench = Bench::new();
    bench.write(0, 3, 7);
    assert_eq!(Some(Moment(100_000)), bench.drive.next_due());
    assert!(bench.until(99).script.answers.is_empty());
    assert_eq!(1, bench.until(100).script.answers.len());
    assert_eq!(Ok(7), bench.value(200, 3));
    assert_eq!(Ok(0), bench.value(400, 4));
}

/// A transport latency of 15 µs is subtracted, never to before the arrival.
#[test]
fn the_transport_latency_is_subtracted() {
    let mut bench = Bench::new();
    bench
        .drive
        .compensate(TransportLatency::constant(Duration::from_micros(15)));
    bench.write(0, 3, 7);
    assert_eq!(Some(Moment(85_000)), bench.drive.next_due());
    assert_eq!(1, bench.until(85).script.answers.len());
}

/// A flush that arrives while a write is under way does not cover it.
#[test]
fn a_flush_covers_what_was_answered_before_it_arrived() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.until(100);
    bench.write(150, 2, 2);
    bench.ask(160, Operation::Flush, 0, &[]);
    bench.until(300);
    bench.fault(300, &cut(1.0));
    bench.fault(300, &DriveFault::PowerOn);
    assert_eq!((Ok(1), Ok(0)), (bench.value(400, 1), bench.value(600, 2)));
}

/// Without power every request fails at once, nothing reaches the image, and what was under way may
/// have reached it.
#[test]
fn nothing_reaches_a_drive_without_power() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    let kept = FaultOutcome::Cut(CutCounts {
        kept: 1,
        torn: 0,
        lost: 0,
    });
    assert_eq!(kept, bench.fault(50, &cut(0.0)));
    assert_eq!(vec![(1, Err(libc::EIO))], bench.script.answers);
    bench.write(60, 1, 9);
    assert_eq!(2, bench.until(60).script.answers.len());
    bench.fault(70, &DriveFault::PowerOn);
    assert_eq!(Ok(1), bench.value(100, 1));
    assert_eq!((2, 2), {
        let totals = bench.totals();
        (totals.operations[1].answered, totals.operations[1].errors)
    });
}

/// A second cut without power is refused.
#[test]
fn the_power_is_cut_once() {
    let mut bench = Bench::new();
    bench.fault(0, &cut(0.5));
    let again = bench.drive.fault(Moment(1), &cut(0.5), &mut bench.script);
    assert_eq!("power-is-cut", again.unwrap_err().code);
}

/// A stalled drive whose power is cut stays mute until the stall is over, then fails what waited; the
/// image is decided about at the cut.
#[test]
fn a_stalled_drive_is_cut_in_silence() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.fault(10, &DriveFault::Stall { duration_s: 60.0 });
    bench.fault(20, &cut(1.0));
    bench.write(30, 1, 2);
    assert!(bench.until(5_000_000).script.answers.is_empty());
    assert_eq!(0, bench.totals().volatile_bytes);
    bench.fault(6_000_000, &DriveFault::Stall { duration_s: 0.0 });
    bench.until(6_000_000).script.answers.sort();
    let failed = vec![(1, Err(libc::EIO)), (2, Err(libc::EIO))];
    assert_eq!(failed, bench.script.answers);
    bench.fault(6_000_001, &DriveFault::PowerOn);
    assert_eq!(Ok(0), bench.value(6_001_000, 1));
}

/// What was asked of a drive without power fails, though its power came back before the answer.
#[test]
fn power_does_not_come_back_for_what_waited() {
    let mut bench = Bench::new();
    bench.fault(0, &DriveFault::Stall { duration_s: 60.0 });
    bench.fault(10, &cut(1.0));
    bench.write(20, 1, 9);
    bench.fault(30, &DriveFault::PowerOn);
    assert_eq!(vec![(1, Err(libc::EIO))], bench.script.answers);
    assert_eq!(Ok(0), bench.value(100, 1));
}

/// A lying flush is answered at once, and loses what it promised.
#[test]
fn a_lying_flush_promises_nothing() {
    let mut bench = Bench::new();
    bench.fault(0, &DriveFault::LyingFlush);
    bench.write(0, 1, 1);
    bench.until(100);
    let flush = bench.ask(110, Operation::Flush, 0, &[]);
    bench.until(110);
    assert_eq!(Some(&(flush, Ok(Vec::new()))), bench.script.answers.last());
    bench.fault(200, &cut(1.0));
    bench.fault(200, &DriveFault::PowerOn);
    assert_eq!(Ok(0), bench.value(300, 1));
}

/// During a stall nothing is answered; afterwards everything is.
#[test]
fn a_stall_delays_everything() {
    let mut bench = Bench::new();
    bench.fault(0, &DriveFault::Stall { duration_s: 0.01 });
    bench.write(0, 1, 1);
    assert!(bench.until(9_999).script.answers.is_empty());
    assert_eq!(Some(Moment(10_000_000)), bench.drive.next_due());
    assert_eq!(1, bench.until(10_000).script.answers.len());
}

/// A drive that is gone fails what is under way as well, and comes back when repaired.
#[test]
fn a_drive_that_is_gone_fails_everything() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.fault(10, &DriveFault::Gone);
    assert_eq!(vec![(1, Err(libc::EIO))], bench.script.answers);
    assert_eq!(Err(libc::EIO), bench.value(20, 1));
    bench.fault(30, &DriveFault::None);
    assert_eq!(Ok(0), bench.value(200, 1));
}

/// A stall that was asked for is no lateness; an answer that comes later than that is.
#[test]
fn a_stall_is_not_lateness() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.fault(50, &DriveFault::Stall { duration_s: 0.01 });
    bench.until(10_055);
    assert_eq!(0, bench.totals().late_answers);
    bench.write(20_000, 1, 1);
    bench.until(20_160);
    assert_eq!(1, bench.totals().late_answers);
}

/// Nor is one that was ended before its time: what it held until then was asked for.
#[test]
fn a_stall_that_is_ended_early_is_not_lateness() {
    for end in [DriveFault::None, DriveFault::PowerOn] {
        let mut bench = Bench::new();
        bench.write(0, 1, 1);
        bench.fault(50, &DriveFault::Stall { duration_s: 60.0 });
        bench.fault(10_000, &end);
        assert_eq!(1, bench.until(10_000).script.answers.len());
        let totals = bench.totals();
        assert_eq!(0, totals.late_answers);
        assert!((totals.operations[1].given_mean_s.expect("it was answered") - 0.01).abs() < 1e-4);
    }
}

/// What the image cannot do is answered and counted as an error.
#[test]
fn what_the_image_cannot_do_is_an_error() {
    let mut bench = Bench::new();
    let id = bench.ask(0, Operation::Read, 99, &[]);
    bench.until(100);
    assert_eq!(vec![(id, Err(libc::EIO))], bench.script.answers);
    let reads = bench.totals().operations[0].clone();
    assert_eq!((1, 1, 0), (reads.answered, reads.errors, reads.moved_bytes));
}

/// Depth, latency and lateness are counted as they were.
#[test]
fn what_was_done_is_counted() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.write(0, 2, 1);
    bench.until(130);
    let totals = bench.totals();
    assert_eq!((2, 0), (totals.depth_max, totals.depth));
    assert_eq!(2 * SECTOR, totals.operations[1].moved_bytes);
    let near = |expected: f64, seen: Option<f64>| {
        (seen.expect("it was recorded") - expected).abs() < expected * 0.002
    };
    assert!(near(130e-6, totals.operations[1].latency.max_s));
    assert!(near(30e-6, totals.late.p50_s));
    assert_eq!(2 * SECTOR, totals.volatile_bytes);
}

/// What a write brings is there whether it was answered at once, out of the transport, or kept until it was due,
/// while others arrived.
#[test]
fn a_write_brings_its_content_at_once_and_later() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.write(1, 2, 2);
    bench.until(200);
    bench.drive.set_paced(Moment(200_000), false);
    bench.write(200, 3, 3);
    bench.until(200);
    let values = [1, 2, 3].map(|sector| bench.value(300, sector));
    assert_eq!([Ok(1), Ok(2), Ok(3)], values);
}
