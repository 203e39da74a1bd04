//! Disks in simulated time.

use super::*;
use crate::model::of_profile;
use crate::model::tests::bench::*;

const FIFTEEN: &str =
    "rpm = 15_000\nseek_track_ms = 0.2\nseek_average_ms = 2.6\nseek_full_ms = 4.9\n";
const SEVEN: &str = "rpm = 7_200\nseek_track_ms = 0.6\nseek_average_ms = 8.2\nseek_full_ms = 17\n";

fn disk(mechanics: &str, depth: u32, more: &str) -> Profile {
    let text = format!(
        "version = 1\nname = \"t\"\ntitle = \"t\"\ncapacity_bytes = 36_000_000_000\n\
         flush = {{ cost_us = 100 }}\n[disk]\n{mechanics}write_settle_ms = 0.5\noverhead_us = 100\n\
         queue_depth = {depth}\nread_ahead_bytes = 1_000_000\n\
         zones = [[0.5, 90e6], [0.5, 60e6]]\n{more}\n\
         [provenance]\nassumed = [\"capacity_bytes\", \"flush\", \"disk\"{}]\n",
        if more.is_empty() { "" } else { ", \"cache\"" }
    );
    Profile::parse("test.toml", &text).expect("it is possible")
}

const CACHE: &str = "[cache]\nsize_bytes = 1_048_576\nprotected = false";

fn random(operation: Operation) -> impl FnMut() -> Request {
    let mut offset = random_offsets(3, 36_000_000_000);
    move || request(operation, offset(), 4096)
}

fn iops(profile: &Profile, depth: u64, operation: Operation) -> f64 {
    closed_loop_s(profile, depth, 30, random(operation)).len() as f64 / 30.0
}

/// As the closed loop, but a disk may be asked before anything is finished.
fn closed_loop_s(
    profile: &Profile,
    depth: u64,
    seconds: u64,
    next: impl FnMut() -> Request,
) -> Vec<Sample> {
    closed_loop(&mut *of_profile(profile, 1), depth, seconds * S, next)
}

/// Random reads of 4 KiB come as fast as data sheets say, and more of them where the nearest is chosen.
#[test]
fn random_reads_are_those_of_data_sheets() {
    let fifteen = iops(&disk(FIFTEEN, 32, ""), 1, Operation::Read);
    assert!((175.0..=230.0).contains(&fifteen), "{fifteen}");
    let seven = iops(&disk(SEVEN, 32, ""), 1, Operation::Read);
    assert!((70.0..=100.0).contains(&seven), "{seven}");
    for mechanics in [FIFTEEN, SEVEN] {
        let alone = iops(&disk(mechanics, 32, ""), 1, Operation::Read);
        let queued = iops(&disk(mechanics, 32, ""), 32, Operation::Read);
        let in_order = iops(&disk(mechanics, 1, ""), 32, Operation::Read);
        assert!(
            (1.6..=3.0).contains(&(queued / alone)),
            "{queued} of {alone}"
        );
        assert!(
            (0.95..=1.1).contains(&(in_order / alone)),
            "{in_order} of {alone}"
        );
    }
}

/// A single random read takes, on average, the mean seek, half a turn, the transfer and the overhead.
#[test]
fn a_random_read_takes_seek_and_half_a_turn() {
    let samples = closed_loop_s(&disk(SEVEN, 1, ""), 1, 100, random(Operation::Read));
    let expected_ms = 8.2 + 60e3 / 7_200.0 / 2.0 + 0.1 + 0.06;
    let mean_ms = mean_ns(&samples) / 1e6;
    assert!(
        (mean_ms / expected_ms - 1.0).abs() < 0.03,
        "{mean_ms} of {expected_ms}"
    );
}

/// The seek curve goes through the two ends, and has the mean over random pairs of tracks.
#[test]
fn the_seek_curve_has_the_described_mean() {
    let curve = SeekCurve::through(0.2, 2.6, 4.9);
    assert!(curve.rises());
    assert!((curve.at(0.0) - 0.2).abs() < 1e-12 && (curve.at(1.0) - 4.9).abs() < 1e-12);
    let steps = 100_000;
    let mean: f64 = (0..steps)
        .map(|n| (f64::from(n) + 0.5) / f64::from(steps))
        .map(|d| 2.0 * (1.0 - d) * curve.at(d) / f64::from(steps))
        .sum();
    assert!((mean - 2.6).abs() < 1e-3, "{mean}");
    assert!(!SeekCurve::through(0.2, 1.0, 9.0).rises());
    assert!(!SeekCurve::through(0.2, 8.5, 9.0).rises());
}

fn sequential(operation: Operation, begin_bytes: u64) -> impl FnMut() -> Request {
    let mut offset = begin_bytes;
    move || {
        offset += 65_536;
        request(operation, offset - 65_536, 65_536)
    }
}

/// Sequential reads come at the bandwidth of their zone, though each waits for the one before.
#[test]
fn sequential_reads_have_the_bandwidth_of_their_zone() {
    for (begin_bytes, rate) in [(0, 90e6), (20_000_000_000, 60e6)] {
        let next = sequential(Operation::Read, begin_bytes);
        let samples = closed_loop_s(&disk(SEVEN, 32, ""), 1, 5, next);
        let bytes_per_s = samples.len() as f64 * 65_536.0 / 5.0;
        assert!((bytes_per_s / rate - 1.0).abs() < 0.02, "{bytes_per_s}");
    }
}

/// Without a cache each sequential write comes a little late and waits for a whole turn; in a queue
/// they follow each other.
#[test]
fn sequential_writes_lose_a_turn_without_a_cache() {
    let alone = closed_loop_s(&disk(SEVEN, 32, ""), 1, 5, sequential(Operation::Write, 0));
    let turn_ns = 60e9 / 7_200.0;
    let share_of_turn = mean_ns(&alone) / turn_ns;
    assert!((0.95..=1.2).contains(&share_of_turn), "{share_of_turn}");
    let queued = closed_loop_s(&disk(SEVEN, 32, ""), 8, 5, sequential(Operation::Write, 0));
    let bytes_per_s = queued.len() as f64 * 65_536.0 / 5.0;
    assert!((bytes_per_s / 90e6 - 1.0).abs() < 0.05, "{bytes_per_s}");
}

/// A cache answers at once until it is full, then as fast as the arm empties it in its own order.
#[test]
fn a_cache_answers_until_it_is_full() {
    let samples = closed_loop_s(&disk(SEVEN, 32, CACHE), 1, 30, random(Operation::Write));
    let fast = samples
        .iter()
        .take_while(|s| s.latency_ns() == 100 * US)
        .count();
    assert!((256..400).contains(&fast), "{fast}");
    let slow_iops = (samples.len() - fast) as f64 / 30.0;
    let alone = iops(&disk(SEVEN, 32, ""), 1, Operation::Write);
    assert!(slow_iops > 1.5 * alone, "{slow_iops} of {alone}");
}

/// A flush waits for what was cached before it, and for nothing that came after.
#[test]
fn a_flush_waits_for_what_came_before() {
    let mut model = of_profile(&disk(SEVEN, 1, CACHE), 1);
    let write = |n: u64| request(Operation::Write, n * 1_000_000_000, 4096);
    let arrivals = [
        (0, write(7)),
        (0, write(30)),
        (MS, request(Operation::Flush, 0, 0)),
        (2 * MS, write(1)),
        (S, request(Operation::Flush, 0, 0)),
    ];
    let finished = open_loop(&mut *model, &arrivals);
    assert_eq!(100 * US, finished[0]);
    let waited_ms = finished[2] / MS;
    assert!((8..50).contains(&waited_ms), "{waited_ms}");
    assert_eq!(
        S + 100 * US,
        finished[4],
        "an empty cache is not waited for"
    );
    assert_eq!(Some(0), model.cache_fill_bytes());
}

/// No request waits for ever, however many nearer ones come.
#[test]
fn the_oldest_is_served_in_the_end() {
    let mut model = of_profile(&disk(SEVEN, 4, ""), 1);
    model.submit(Moment(0), 0, &request(Operation::Read, 0, 4096), 1);
    model.submit(
        Moment(0),
        1,
        &request(Operation::Read, 35_000_000_000, 4096),
        1,
    );
    let (mut offset, mut done) = (random_offsets(1, 10_000_000), Vec::new());
    for id in 2..200 {
        let at = model.next_done().expect("something is under way");
        model.submit(at, id, &request(Operation::Read, offset(), 4096), 1);
        model.submit(at, id + 1_000, &request(Operation::Read, offset(), 4096), 1);
        model.take_done(at, &mut done);
    }
    let place = done.iter().position(|each| each.id == 1);
    assert!(place.is_some_and(|place| place < 40), "{place:?}");
}

/// A restored disk has in its cache what it had, and writes it.
#[test]
fn restoring_puts_back_what_was_cached() {
    let mut model = of_profile(&disk(SEVEN, 32, CACHE), 1);
    for id in 0..20 {
        let write = request(Operation::Write, id * 1_000_000_000, 4096);
        model.submit(Moment(0), id, &write, 1);
    }
    let held = model.snapshot(Moment(10));
    assert_eq!(20, held.cached_writes.len());
    model.reset(Moment(20));
    assert_eq!(Some(0), model.cache_fill_bytes());
    model.restore(Moment(30), &held);
    assert_eq!(Some(20 * 4096), model.cache_fill_bytes());
    let finished = open_loop(&mut *model, &[(S / 1_000, request(Operation::Flush, 0, 0))]);
    assert!(finished[0] > 50 * MS, "{finished:?}");
    assert_eq!(held.cached_writes.len() * 4096, 20 * 4096);
}

/// What is asked ahead of the time, to make up for the transport, lets no request begin before the one
/// before is done.
#[test]
fn looking_ahead_keeps_the_arm_in_one_place() {
    let profile = disk(FIFTEEN, 32, "");
    let read = |offset_bytes| request(Operation::Read, offset_bytes, 4096);
    let mut model = of_profile(&profile, 1);
    let mut done = Vec::new();
    model.submit(Moment(0), 1, &read(0), 1);
    let first = model.next_done().expect("it is under way");
    // The second arrives 50 µs before the first is done, which was reported already.
    model.take_done(first, &mut done);
    model.submit(Moment(first.0 - 50 * US), 2, &read(18_000_000_000), 1);
    let ahead = model.next_done().expect("it is under way");
    let mut model = of_profile(&profile, 1);
    model.submit(Moment(0), 1, &read(0), 1);
    model.submit(Moment(first.0 - 50 * US), 2, &read(18_000_000_000), 1);
    model.take_done(first, &mut done);
    let in_time = model.next_done().expect("it is under way");
    assert_eq!(in_time, ahead);
}
