//! Several drivers that begin together give the same figures as one that drives all their users: what
//! leaves a driver is counts and histograms, and all else is worked out from those.

use std::time::Duration;

use stithy_measure::{
    percentiles, suppressed_arrivals, Counts, Interval, Moment, Outcome, Phases, Recorder, Rng,
    Sample, Times, Unanswered,
};
use stithy_wire::Percentiles;

const TYPES: usize = 3;
const WAITS: [bool; TYPES] = [true, false, true];
const LENGTH_S: u64 = 12;

/// What a driver, or several, gave.
#[derive(Debug, PartialEq)]
struct Given {
    seconds: Vec<(u64, Interval)>,
    measured: Interval,
    unanswered: Unanswered,
    whole: Counts,
}

impl Given {
    fn merge(&mut self, other: &Given) {
        for ((at, mine), (also, theirs)) in self.seconds.iter_mut().zip(&other.seconds) {
            assert_eq!(at, also);
            mine.merge(theirs);
        }
        self.measured.merge(&other.measured);
        self.unanswered.merge(&other.unanswered);
        self.whole.merge(&other.whole);
    }

    /// What reports are made of.
    fn figures(&self) -> (Vec<Percentiles>, Percentiles, Option<u64>) {
        let types = self.measured.types.iter();
        let wait = Duration::from_millis(20);
        (
            types.map(|each| percentiles(&each.response)).collect(),
            percentiles(&self.measured.late()),
            suppressed_arrivals(&self.measured, &self.unanswered, wait, &[2]),
        )
    }
}

/// Transactions as they end, one after the other; some long ones end after the measurement.
fn samples(rng: &mut Rng) -> Vec<Sample> {
    let mut dones: Vec<u64> = (0..3_000)
        .map(|_| rng.below(LENGTH_S * 1_000_000_000))
        .collect();
    dones.sort_unstable();
    let sample = |done: u64| {
        let longest = [3_000_000, 40_000_000, 4_000_000_000][rng.below(3) as usize];
        let took = rng.below(longest).min(done);
        let (done, due) = (Moment(done), Moment(done - took));
        let started = due + Duration::from_nanos(rng.below(took / 4 + 1));
        let ready = started + Duration::from_nanos(rng.below(took / 4 + 1));
        let ends = [Outcome::Committed, Outcome::RolledBack, Outcome::Failed];
        Sample {
            kind: rng.below(TYPES as u64) as usize,
            outcome: ends[rng.below(3) as usize],
            retries: rng.below(3),
            times: Times {
                due,
                started,
                ready,
                connected: ready,
                sent: ready,
                done,
                answered: done,
            },
        }
    };
    dones.into_iter().map(sample).collect()
}

fn given<'a>(samples: impl Iterator<Item = &'a Sample>) -> Given {
    let measured = Moment::of_second(2)..Moment::of_second(9);
    let mut recorder = Recorder::new(WAITS.to_vec(), Phases { measured });
    samples.for_each(|sample| recorder.record(sample));
    recorder.advance(Moment::of_second(LENGTH_S));
    Given {
        seconds: std::iter::from_fn(|| recorder.take_second()).collect(),
        measured: recorder.measured().clone(),
        unanswered: recorder.unanswered().clone(),
        whole: *recorder.whole(),
    }
}

/// However many drivers share the users, and in whatever order their results are merged, every second,
/// every count and every figure is that of one driver with all users.
#[test]
fn several_drivers_merge_to_the_result_of_one() {
    for case in 0..12 {
        let mut rng = Rng::new(case, 1);
        let samples = samples(&mut rng);
        let one = given(samples.iter());
        let drivers = 2 + rng.below(6) as usize;
        let whose: Vec<usize> = samples
            .iter()
            .map(|_| rng.below(drivers as u64) as usize)
            .collect();
        let of = |driver: usize| {
            let own = samples.iter().zip(&whose);
            given(own.filter(|(_, who)| **who == driver).map(|(each, _)| each))
        };
        let last = drivers - 1;
        let mut merged = of(last);
        (0..last).for_each(|driver| merged.merge(&of(driver)));
        assert_eq!(one.figures(), merged.figures(), "case {case}");
        assert_eq!(one, merged, "case {case}");
        assert!(one.figures().2.is_some_and(|count| count > 0));
    }
}
