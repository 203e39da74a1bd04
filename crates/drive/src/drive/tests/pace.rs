//! A drive that takes no time for a while, and what of it is kept.

use super::*;

/// Unpaced, requests are answered at once from the next one on, with the semantics of a disk; the others take
/// their time.
#[test]
fn an_unpaced_drive_answers_at_once() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.drive.set_paced(Moment(10_000), false);
    bench.write(20, 2, 2);
    assert_eq!(1, bench.until(20).script.answers.len());
    bench.ask(30, Operation::Flush, 0, &[]);
    assert_eq!(2, bench.until(30).script.answers.len());
    assert_eq!(3, bench.until(100).script.answers.len());
    bench.fault(200, &cut(1.0));
    bench.fault(200, &DriveFault::PowerOn);
    assert_eq!((Ok(0), Ok(2)), (bench.value(300, 1), bench.value(500, 2)));
    bench.drive.set_paced(Moment(700_000), true);
    bench.write(800, 1, 3);
    assert_eq!(Some(Moment(900_000)), bench.drive.next_due());
}

/// What is written unpaced does not age the drive, nor does the time that passes.
#[test]
fn an_unpaced_drive_does_not_age() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.until(100);
    bench.drive.set_paced(Moment(200_000), false);
    (0..10).for_each(|n| _ = bench.write(300 + n, 2, 2));
    bench.until(400);
    bench.drive.set_paced(Moment(500_000), true);
    assert_eq!(1, bench.age());
    bench.write(600, 1, 1);
    bench.until(700);
    assert_eq!(2, bench.age());
}

/// Pacing that ends and begins again while requests are under way loses none of them.
#[test]
fn pacing_may_change_under_load() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.drive.set_paced(Moment(10_000), false);
    bench.drive.set_paced(Moment(20_000), true);
    bench.write(30, 2, 2);
    assert_eq!(2, bench.until(130).script.answers.len());
    bench.write(140, 3, 3);
    bench.drive.set_paced(Moment(150_000), false);
    bench.until(240);
    bench.drive.set_paced(Moment(250_000), true);
    assert_eq!((3, 3), (bench.script.answers.len(), bench.age()));
}

/// What was kept is put back, paced or not; nothing is lost for it, and without anything kept it is refused.
#[test]
fn what_was_kept_is_put_back() {
    let mut bench = Bench::new();
    let refused = bench.drive.restore(Moment(0)).unwrap_err();
    assert_eq!(("no-snapshot", 2), (refused.code, refused.exit()));
    bench.write(0, 1, 1);
    assert!(
        !bench.drive.snapshot(Moment(50_000)),
        "a write is under way"
    );
    bench.until(100);
    assert!(bench.drive.snapshot(Moment(150_000)));
    bench.write(200, 1, 1);
    assert!(!bench.drive.restore(Moment(250_000)).expect("it was kept"));
    assert_eq!(2, bench.until(300).script.answers.len());
    assert!(bench.drive.restore(Moment(350_000)).expect("it was kept"));
    assert_eq!(1, bench.age());
    bench.write(400, 1, 1);
    bench.until(500);
    bench.drive.set_paced(Moment(600_000), false);
    assert!(bench.drive.restore(Moment(650_000)).expect("it was kept"));
    bench.drive.set_paced(Moment(700_000), true);
    assert_eq!(1, bench.age());
}

/// A power cut empties the cache of an unpaced drive too.
#[test]
fn a_cut_resets_an_unpaced_drive() {
    let mut bench = Bench::new();
    bench.write(0, 1, 1);
    bench.until(100);
    bench.drive.set_paced(Moment(200_000), false);
    bench.fault(300, &cut(0.0));
    bench.fault(300, &DriveFault::PowerOn);
    bench.drive.set_paced(Moment(400_000), true);
    assert_eq!(0, bench.age());
}

/// A slow drive is slow without its pace too.
#[test]
fn faults_meet_an_unpaced_drive() {
    let mut bench = Bench::new();
    bench.drive.set_paced(Moment(0), false);
    let slow = DriveFault::Slow(SlowRule {
        factor: 1.0,
        added_s: 0.001,
        share: 1.0,
    });
    bench.fault(0, &slow);
    bench.write(100, 1, 1);
    assert!(bench.until(1_099).script.answers.is_empty());
    assert_eq!(1, bench.until(1_100).script.answers.len());
}
