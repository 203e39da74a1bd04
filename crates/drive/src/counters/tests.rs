//! Seconds and totals of what a drive answered.

use std::sync::{Arc, Mutex};

use stithy_wire::DriveCounters;

use super::*;

struct Bench {
    counters: Arc<Mutex<Counters>>,
    tally: Tally,
}

impl Bench {
    fn new() -> Self {
        let counters = Arc::new(Mutex::new(Counters::new(Moment::START)));
        let tally = Tally::new("d", 1000.0, Arc::clone(&counters), Moment::START);
        Bench { counters, tally }
    }

    fn answer(&self, operation: Operation, microseconds: u64) {
        self.counters.lock().unwrap().record(&Answered {
            operation,
            moved_bytes: 4096,
            failed: microseconds > 500,
            given: Duration::from_micros(microseconds),
            earlier: Duration::from_micros(11),
            late: Duration::from_nanos(700),
        });
    }

    fn depth(&self, depth: u64) {
        self.counters.lock().unwrap().observe(State {
            depth,
            ..State::default()
        });
    }

    fn second(&mut self, second: u64) -> DriveCounters {
        self.tally
            .take_second(Moment::of_second(second), &mut |_| ())
    }

    fn total(&mut self, second: u64) -> DriveCounters {
        self.tally.total(Moment::of_second(second))
    }
}

/// The seconds add up to the total, and a second begins empty, whoever asks for the total between.
#[test]
fn seconds_add_up_to_the_total() {
    let mut bench = Bench::new();
    bench.answer(Operation::Read, 100);
    let first = bench.second(1);
    bench.answer(Operation::Read, 900);
    assert_eq!(2, bench.total(1).operations[0].answered);
    bench.answer(Operation::Read, 900);
    let (second, total) = (bench.second(2), bench.total(2));
    let reads = |counters: &DriveCounters| counters.operations[0].clone();
    let answered = [&first, &second, &total].map(|counters| reads(counters).answered);
    assert_eq!([1, 2, 3], answered);
    assert_eq!((0, 2), (reads(&first).errors, reads(&total).errors));
    assert_eq!((1001.0, 1.0), (second.at_s, second.duration_s));
    assert_eq!((1000.0, 2.0), (total.at_s, total.duration_s));
    let p50_s = reads(&first).latency.p50_s.expect("one was recorded");
    assert!((p50_s - 1e-4).abs() < 1e-6, "{p50_s}");
    assert_eq!(None, total.operations[1].latency.p50_s);
}

/// What was drawn goes on between observations, and seconds of it add up to the total.
#[test]
fn energy_goes_on_between_observations() {
    let mut bench = Bench::new();
    let energy = Energy {
        at: Moment::of_second(0),
        drawn_j: 0.0,
        power_w: 3.0,
    };
    let state = State {
        energy: Some(energy),
        ..State::default()
    };
    assert_eq!(None, bench.total(0).energy_j);
    bench.counters.lock().unwrap().observe(state);
    let seconds = [1, 3].map(|at| bench.second(at).energy_j);
    assert_eq!([Some(3.0), Some(6.0)], seconds);
    assert_eq!(Some(12.0), bench.total(4).energy_j);
}

/// Times far beyond what the histograms begin with are kept as they are.
#[test]
fn long_times_are_not_cut() {
    let mut bench = Bench::new();
    bench.answer(Operation::Flush, 15_000_000);
    let max_s = bench.total(1).operations[2].latency.max_s;
    let near = |max_s: f64| (max_s - 15.0).abs() < 0.02;
    assert!(max_s.is_some_and(near), "{max_s:?}");
}

/// The depth of a second is the highest in it, and at least the one it began with.
#[test]
fn the_highest_depth_is_kept() {
    let mut bench = Bench::new();
    bench.depth(5);
    bench.depth(2);
    assert_eq!(5, bench.second(1).depth_max);
    assert_eq!(2, bench.second(2).depth_max);
    assert_eq!(5, bench.total(2).depth_max);
}

/// An answer is late by more than a twentieth of the time given to it and more than 50 µs, not by one of them.
#[test]
fn an_answer_is_late_by_share_and_by_time() {
    let late = |given, late| {
        let answered = Answered {
            operation: Operation::Read,
            moved_bytes: 0,
            failed: false,
            given: Duration::from_micros(given),
            earlier: Duration::ZERO,
            late: Duration::from_micros(late),
        };
        answered.is_late()
    };
    assert_eq!([false, true], [late(0, 50), late(0, 51)]);
    assert_eq!(
        [false, false, true],
        [late(100, 40), late(10_000, 500), late(10_000, 501)]
    );
}
