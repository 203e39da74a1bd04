//! Recording: parts merge to the whole, every second is reported once, the measurement is exact.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

use std::time::Duration;

use stithy_measure::{
    percentiles, Interval, Moment, Outcome, Phases, Recorder, Rng, Sample, Times,
};
use stithy_wire::Phase;

fn sample(draws: &mut Rng) -> Sample {
    let due = Moment(draws.below(5_000_000_000));
    let started = due + Duration::from_nanos(draws.below(2_000_000));
    let sent = started + Duration::from_nanos(draws.below(90_000_000_000));
    let done = sent + Duration::from_nanos(draws.below(130_000_000_000));
    let outcome =
        [Outcome::Committed, Outcome::RolledBack, Outcome::Failed][draws.below(3) as usize];
    Sample {
        kind: draws.below(3) as usize,
        outcome,
        retries: draws.below(3),
        times: Times {
            due,
            started,
            ready: started,
            connected: started,
            sent,
            done,
            answered: done,
        },
    }
}

fn at(kind: usize, done_s: f64) -> Sample {
    let done = Moment((done_s * 1e9) as u64);
    Sample {
        kind,
        outcome: Outcome::Committed,
        retries: 0,
        times: Times {
            due: Moment(done.0 - 10_000_000),
            started: done,
            ready: done,
            connected: done,
            sent: done,
            done,
            answered: done,
        },
    }
}

fn phases(from_s: f64, to_s: f64) -> Phases {
    Phases {
        measured: Moment((from_s * 1e9) as u64)..Moment((to_s * 1e9) as u64),
    }
}

/// However the samples are split and in whatever order the parts are merged, the whole is the same.
#[test]
fn merged_parts_equal_the_whole_in_any_order() {
    for seed in 0..20 {
        let mut draws = Rng::new(seed, 0);
        let mut whole = Interval::new(&[true; 3]);
        let mut parts = vec![Interval::new(&[true; 3]); 4];
        for _ in 0..500 {
            let sample = sample(&mut draws);
            whole.record(&sample);
            parts[draws.below(4) as usize].record(&sample);
        }
        let mut forwards = Interval::new(&[true; 3]);
        parts.iter().for_each(|part| forwards.merge(part));
        let mut backwards = Interval::new(&[true; 3]);
        parts.iter().rev().for_each(|part| backwards.merge(part));
        assert_eq!(whole, forwards, "seed {seed}");
        assert_eq!(whole, backwards, "seed {seed}");
    }
}

/// Each value is kept to 3 digits, from a microsecond to minutes, with no cap.
#[test]
fn values_from_a_microsecond_to_minutes_are_kept_to_three_digits() {
    for time_us in [
        1,
        2,
        999,
        1_000,
        123_456,
        99_999_999,
        100_000_000,
        3_600_000_000_u64,
    ] {
        let mut interval = Interval::new(&[true; 1]);
        let mut sample = at(0, 1.0);
        sample.times.due = Moment(0);
        sample.times.answered = Moment(time_us * 1000);
        interval.record(&sample);
        let shown = percentiles(&interval.types[0].response).p50_s.unwrap() * 1e6;
        let error = (shown - time_us as f64).abs() / time_us as f64;
        assert!(error < 0.001, "{time_us} shown as {shown}");
    }
}

/// What failed is counted, and its times are in no histogram.
#[test]
fn a_failed_transaction_is_counted_without_a_time() {
    let mut interval = Interval::new(&[true; 1]);
    interval.record(&Sample {
        outcome: Outcome::Failed,
        ..at(0, 1.0)
    });
    assert_eq!(1, interval.types[0].counts.errors);
    assert!(interval.types[0].response.is_empty());
    assert_eq!(None, percentiles(&interval.types[0].response).mean_s);
}

/// Transactions are entered many at a time; those that still wait to be entered when a second ends are
/// in it, whatever their number.
#[test]
fn a_second_holds_all_of_its_transactions_whatever_their_number() {
    for count in [0, 1, 255, 256, 257, 1000] {
        let mut recorder = Recorder::new(vec![false; 1], phases(0.0, 9.0));
        (0..count).for_each(|_| recorder.record(&at(0, 0.5)));
        recorder.record(&at(0, 1.5));
        let (second, interval) = recorder.take_second().unwrap();
        let told = (
            interval.types[0].counts.committed,
            interval.types[0].late.len(),
        );
        assert_eq!((0, (count, count)), (second, told));
        recorder.end_second();
        assert_eq!(count + 1, recorder.measured().types[0].service.len());
        assert_eq!(count + 1, recorder.whole().committed);
    }
}

/// Seconds without any transaction are reported as well, each exactly once and in order.
#[test]
fn every_second_is_told_once_even_when_nothing_completed() {
    let mut recorder = Recorder::new(vec![true; 1], phases(1.0, 4.0));
    recorder.record(&at(0, 0.5));
    recorder.record(&at(0, 3.2));
    recorder.advance(Moment::of_second(5));
    let told: Vec<(u64, u64)> = std::iter::from_fn(|| recorder.take_second())
        .map(|(second, interval)| (second, interval.types[0].counts.committed))
        .collect();
    assert_eq!(vec![(0, 1), (1, 0), (2, 0), (3, 1), (4, 0)], told);
}

/// A transaction belongs to the phase in which it was answered; the end of the measurement is out.
#[test]
fn the_measurement_holds_what_was_answered_in_it() {
    let mut recorder = Recorder::new(vec![true; 1], phases(1.5, 4.0));
    for done_s in [1.4, 1.5, 3.999, 4.0] {
        recorder.record(&at(0, done_s));
    }
    recorder.end_second();
    assert_eq!(2, recorder.measured().types[0].counts.committed);
    assert_eq!(4, recorder.whole().committed);
}

/// A second in which the measurement begins or ends is reported whole, and counts in part.
#[test]
fn a_second_that_the_measurement_cuts_is_told_whole() {
    let mut recorder = Recorder::new(vec![true; 1], phases(0.25, 0.75));
    for done_s in [0.1, 0.3, 0.5, 0.8, 0.9] {
        recorder.record(&at(0, done_s));
    }
    recorder.end_second();
    assert_eq!(2, recorder.measured().types[0].counts.committed);
    let (second, interval) = recorder.take_second().unwrap();
    assert_eq!((0, 5), (second, interval.types[0].counts.committed));
    assert_eq!(5, interval.types[0].response.len());
}

/// What was answered before the measurement was cut stays measured, what comes after is not.
#[test]
fn a_measurement_that_is_cut_keeps_what_it_had() {
    let mut recorder = Recorder::new(vec![true; 1], phases(1.0, 60.0));
    recorder.record(&at(0, 1.5));
    recorder.cut_measurement(Moment(1_600_000_000));
    recorder.record(&at(0, 1.7));
    recorder.end_second();
    assert_eq!(1, recorder.measured().types[0].counts.committed);
    assert_eq!(Moment(1_600_000_000), recorder.phases().measured.end);
}

/// The sum of the seconds equals the measurement where that begins and ends with a second.
#[test]
fn the_seconds_of_the_measurement_add_up_to_it() {
    let mut draws = Rng::new(3, 0);
    let mut recorder = Recorder::new(vec![true; 3], phases(20.0, 120.0));
    let mut samples: Vec<Sample> = (0..2000).map(|_| sample(&mut draws)).collect();
    samples.sort_by_key(|sample| sample.times.done);
    samples.iter().for_each(|sample| recorder.record(sample));
    recorder.advance(Moment::of_second(400));
    let mut sum = Interval::new(&[true; 3]);
    while let Some((second, interval)) = recorder.take_second() {
        if recorder.phases().at(Moment::of_second(second)) == Phase::Measure {
            sum.merge(&interval);
        }
        recorder.give_back(interval);
    }
    assert_eq!(*recorder.measured(), sum);
}

/// Lateness, waiting for a connection, service and response are four different stretches.
#[test]
fn the_four_stretches_of_a_transaction_are_apart() {
    let times = Times {
        due: Moment(1_000),
        started: Moment(3_000),
        ready: Moment(7_000),
        connected: Moment(8_000),
        sent: Moment(15_000),
        done: Moment(31_000),
        answered: Moment(31_000),
    };
    let us = Duration::from_micros;
    assert_eq!((us(30), us(16)), (times.response(), times.service()));
    assert_eq!((us(3), us(4)), (times.late(), times.pool_wait()));
    // A deferred transaction is answered when it is queued.
    let answered = times.started;
    let deferred = Times { answered, ..times };
    assert_eq!((us(2), us(16)), (deferred.response(), deferred.service()));
}
