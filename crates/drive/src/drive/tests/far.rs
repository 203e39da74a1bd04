//! A drive over a file that is read and written when the test says so: what waits for it, and what does not.

use super::*;
use crate::backing::slow::{SlowFile, Task};

struct Far {
    bench: Bench,
    file: SlowFile,
}

impl Far {
    /// A drive of 16 sectors over such a file; `seed` decides what of the file is done first.
    fn new(volatile_bytes: Option<u64>, seed: u64) -> Self {
        let file = SlowFile::new(16, seed);
        let bench = Bench::over(Store::new(Box::new(file.image()), volatile_bytes));
        Far { bench, file }
    }

    fn volatile() -> Self {
        Far::new(VOLATILE, 1)
    }

    /// Answered requests, in the order of their answers.
    fn answered(&mut self, at_us: u64) -> Vec<u64> {
        let answers = &self.bench.until(at_us).script.answers;
        answers.iter().map(|(id, _)| *id).collect()
    }

    /// The first byte of each answer to a read.
    fn values(&self) -> Vec<u8> {
        let answers = self.bench.script.answers.iter();
        answers
            .filter_map(|(_, outcome)| outcome.as_ref().ok()?.first().copied())
            .collect()
    }
}

const VOLATILE: Option<u64> = Some(1 << 20);

/// Whatever of the file waits, a request that does not need it is answered when it is due; the others are answered when
/// the file was read, and are late by that.
#[test]
fn nobody_waits_for_what_another_needs() {
    let mut far = Far::new(None, 1);
    let read = far.bench.ask(0, Operation::Read, 3, &[]);
    let write = far.bench.write(0, 5, 7);
    let flush = far.bench.ask(0, Operation::Flush, 0, &[]);
    let mut answered = far.answered(100);
    answered.sort_unstable();
    assert_eq!(vec![write, flush], answered);
    assert_eq!(
        None,
        far.bench.drive.next_due(),
        "it is called when the page was read"
    );
    assert!(far.file.lock().is_called);
    far.file.run();
    assert_eq!(Some(&read), far.answered(400).last());
    assert_eq!(1, far.bench.totals().late_answers);
}

/// A write that was answered is read, whether it is in the file, on its way there or not on its way yet, and also by a read
/// that was under way already.
#[test]
fn an_answered_write_is_read_before_it_is_in_the_file() {
    let mut far = Far::new(None, 1);
    far.bench.ask(0, Operation::Read, 3, &[]);
    far.file.run();
    far.bench.write(0, 3, 7);
    far.bench.until(99);
    far.answered(150);
    assert_eq!(1, far.file.waiting(Task::Put), "it is on its way");
    far.bench.write(160, 3, 8);
    far.bench.ask(170, Operation::Read, 3, &[]);
    far.answered(300);
    assert_eq!(vec![0, 8], far.values()[..2].to_vec());
    far.file.run();
    far.bench.ask(310, Operation::Read, 3, &[]);
    far.answered(500);
    far.file.run();
    far.bench.until(501);
    far.bench.ask(510, Operation::Read, 3, &[]);
    far.file.run();
    far.answered(700);
    assert_eq!(vec![0, 8, 8, 8], far.values());
    assert_eq!(8, far.file.lock().content[3 * 4096]);
}

/// A read that was under way when a write was answered shows the write, as in memory, and need not
/// wait for the file.
#[test]
fn a_read_shows_what_was_written_while_it_was_under_way() {
    let mut far = Far::volatile();
    far.bench.write(0, 3, 7);
    far.bench.ask(50, Operation::Read, 3, &[]);
    far.answered(100);
    far.answered(150);
    assert_eq!(vec![7], far.values());
}

/// A flush covers what was answered before it arrived, though none of that is in the file; a cut then takes the rest,
/// though that may be in the file, and what the file reads afterwards is no other.
#[test]
fn a_flush_and_a_cut_count_answers_and_not_the_file() {
    for is_written in [false, true] {
        let mut far = Far::volatile();
        far.bench.write(0, 1, 1);
        far.bench.write(0, 2, 1);
        far.file.run();
        far.answered(100);
        far.bench.ask(110, Operation::Flush, 0, &[]);
        far.bench.write(120, 2, 2);
        far.file.run();
        assert_eq!(4, far.answered(300).len());
        if is_written {
            far.file.run();
            far.bench.until(301);
        }
        far.bench.write(310, 1, 3);
        far.bench.fault(320, &cut(1.0));
        assert_eq!(Some(&(5, Err(libc::EIO))), far.bench.script.answers.last());
        let content = [1, 2].map(|sector: usize| far.file.lock().content[sector * 4096]);
        assert_eq!([1, 1], content, "written before the cut: {is_written}");
    }
}

/// A cut keeps, tears and loses the same of the same writes, whatever of the file was done before it.
#[test]
fn a_cut_does_the_same_over_a_file_and_in_memory() {
    let torn = DriveFault::PowerCut(CutRule {
        seed: 3,
        lost_share: 0.3,
        torn_share: 0.4,
        unit_bytes: 512,
    });
    let fill = |bench: &mut Bench, advance: &dyn Fn()| {
        for round in 0..12_u64 {
            for sector in 0..4 {
                bench.write(round * 200, round * 5 % 7 + sector, round as u8 + 1);
                advance();
            }
            if round == 4 {
                bench.ask(round * 200, Operation::Flush, 0, &[]);
            }
            if round == 7 {
                bench.ask(round * 200, Operation::Discard, 2, &[]);
            }
            // The last of them stay under way.
            if round < 11 {
                bench.until(round * 200 + 150);
            }
        }
        bench.fault(5_000, &torn)
    };
    let mut memory = Bench::new();
    let expected = fill(&mut memory, &|| ());
    memory.fault(5_001, &DriveFault::PowerOn);
    let values: Vec<_> = (0..16).map(|n| memory.value(6_000 + n * 200, n)).collect();
    for seed in 0..20 {
        let mut far = Far::new(VOLATILE, seed);
        let file = far.file.clone();
        // Everything is at hand when it is due, so that answers have the same order.
        assert_eq!(
            expected,
            fill(&mut far.bench, &|| file.run()),
            "seed {seed}"
        );
        let held = |n: u64| Ok(file.lock().content[n as usize * 4096]);
        assert_eq!(values, (0..16).map(held).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// A write that may be taken back is answered when it is due, though what it replaced is not read yet; a cut that takes
/// it back waits for that.
#[test]
fn a_volatile_write_does_not_wait_for_what_it_replaces() {
    let mut far = Far::volatile();
    far.file.lock().content[3 * 4096..4 * 4096].fill(5);
    far.bench.write(0, 3, 7);
    assert_eq!(vec![1], far.answered(100));
    assert_eq!(
        (1, 0),
        (far.file.waiting(Task::Fetch), far.file.waiting(Task::Put))
    );
    assert_eq!(4096, far.bench.totals().volatile_bytes);
    far.bench.fault(110, &cut(1.0));
    assert_eq!(5, far.file.lock().content[3 * 4096]);
}

/// A drive whose file cannot keep up takes no more than it may hold: what changes more waits.
#[test]
fn a_drive_takes_no_more_than_it_may_hold() {
    let mut far = Far::new(None, 1);
    let asked = 200;
    (0..asked).for_each(|_| _ = far.bench.ask(0, Operation::Discard, 3, &[]));
    let taken = far.answered(100).len();
    assert!(taken < asked, "{taken}");
    while far.file.waiting(Task::Clear) > 0 {
        far.file.run();
        far.answered(200);
    }
    assert_eq!(asked, far.answered(200).len());
}

/// What requests needed is held no longer than they: afterwards it is read from the file.
#[test]
fn nothing_is_held_longer_than_it_is_needed() {
    let mut far = Far::volatile();
    far.bench.ask(0, Operation::Read, 3, &[]);
    far.bench.write(0, 4, 1);
    far.file.run();
    assert_eq!(2, far.answered(100).len());
    far.file.run();
    far.bench.until(101);
    far.file.lock().content.fill(9);
    far.bench.ask(110, Operation::Read, 3, &[]);
    far.bench.ask(110, Operation::Read, 4, &[]);
    far.file.run();
    far.answered(300);
    assert_eq!(vec![0, 9, 9], far.values());
}

/// What waits for the file fails with the power, and is not answered again when the file was read.
#[test]
fn what_waits_for_the_file_is_answered_once() {
    let mut far = Far::volatile();
    far.bench.ask(0, Operation::Read, 3, &[]);
    far.bench.write(110, 4, 1);
    assert!(far.answered(150).is_empty());
    far.bench.fault(160, &cut(1.0));
    assert_eq!(2, far.bench.script.answers.len());
    far.file.run();
    far.bench.fault(170, &DriveFault::PowerOn);
    assert_eq!(2, far.answered(400).len());
    assert_eq!(0, far.file.lock().content[4 * 4096]);
}

/// What waits for the file while the drive stalls is answered when the stall is over.
#[test]
fn a_stall_holds_back_what_the_file_has_given() {
    let mut far = Far::volatile();
    far.bench.ask(0, Operation::Read, 3, &[]);
    assert!(far.answered(150).is_empty());
    far.bench
        .fault(160, &DriveFault::Stall { duration_s: 0.001 });
    far.file.run();
    assert!(far.answered(200).is_empty());
    assert_eq!(Some(Moment(1_160_000)), far.bench.drive.next_due());
    assert_eq!(vec![1], far.answered(1_160));
}

/// An unpaced drive answers at once, without asking others for what it needs.
#[test]
fn an_unpaced_drive_does_not_wait_for_others() {
    let mut far = Far::volatile();
    far.bench.drive.set_paced(Moment::START, false);
    far.bench.write(0, 3, 7);
    assert_eq!(vec![1], far.answered(0));
    far.bench.ask(10, Operation::Read, 4, &[]);
    assert_eq!(vec![1, 2], far.answered(10));
    assert_eq!(0, far.file.waiting(Task::Fetch));
}

/// Where what was answered cannot be kept, the drive ends rather than go on as if it had.
#[test]
fn a_drive_ends_when_its_file_is_full() {
    let mut far = Far::volatile();
    far.bench.write(0, 3, 7);
    far.file.run();
    far.answered(100);
    far.file.lock().is_full = true;
    far.file.run();
    let clock = ManualClock::default();
    let ended = far.bench.drive.complete(&clock, &mut far.bench.script);
    assert_eq!(io::ErrorKind::StorageFull, ended.unwrap_err().kind());
}
