//! When a virtual user's next transaction is due.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{Moment, Rng};
use stithy_wire::Share;

/// Think times are cut at so many times their mean, as clause 5.2.5.4 of the specification allows.
const THINK_MOST: f64 = 10.0;

/// A user's cycles before the run; after so many nothing is left of how the first one began.
const PAST_CYCLES: f64 = 5.0;

/// The seam of arrivals: from what a user has done to what it means to do next.
pub trait Pace: Send {
    /// When the next transaction, of type `kind`, is due, after the last one was `done`.
    fn due(&mut self, done: Moment, kind: usize) -> Moment;

    /// How long the user has acted like this when the run starts.
    fn past(&self) -> Duration {
        Duration::ZERO
    }
}

/// The first transaction of the run and when it is due, as `draw` gives one type after the other.
///
/// What the user did before the run is gone through without being done. So the first transactions
/// of many users come at the rate of all later ones: no rush at the start, and no lull after it.
pub(crate) fn begin(pace: &mut dyn Pace, mut draw: impl FnMut() -> usize) -> (usize, Moment) {
    let past = pace.past();
    let mut due = Moment::START;
    loop {
        let kind = draw();
        due = pace.due(due, kind);
        if due >= Moment::START + past {
            return (kind, Moment::START + due.since(Moment::START + past));
        }
    }
}

/// Closed loop: each transaction is due as soon as the one before is answered.
#[derive(Debug, Clone, Copy)]
pub struct BackToBack;

impl Pace for BackToBack {
    fn due(&mut self, done: Moment, _kind: usize) -> Moment {
        done
    }
}

/// Open loop: transactions are due at equal intervals, whatever is answered.
#[derive(Debug, Clone, Copy)]
pub struct Steady {
    first: Moment,
    interval_s: f64,
    count: u64,
}

impl Steady {
    /// The first transaction is due at `first`.
    pub fn new(first: Moment, interval_s: f64) -> Self {
        Steady {
            first,
            interval_s,
            count: 0,
        }
    }
}

impl Pace for Steady {
    fn due(&mut self, _done: Moment, _kind: usize) -> Moment {
        // A product and no sum: rounding does not add up over a long run.
        let after_s = self.interval_s * self.count as f64;
        self.count += 1;
        self.first + Duration::from_secs_f64(after_s)
    }
}

/// Open loop: transactions are due independently of each other, as those of many people.
#[derive(Debug, Clone)]
pub struct Poisson {
    next_s: f64,
    mean_s: f64,
    rng: Rng,
}

impl Poisson {
    /// Intervals of a mean length, from the start of the run.
    pub fn new(mean_s: f64, rng: Rng) -> Self {
        let next_s = 0.0;
        Poisson {
            next_s,
            mean_s,
            rng,
        }
    }
}

impl Pace for Poisson {
    fn due(&mut self, _done: Moment, _kind: usize) -> Moment {
        self.next_s += -self.rng.positive_share().ln() * self.mean_s;
        Moment::START + Duration::from_secs_f64(self.next_s)
    }
}

/// Open loop of one of several hammers: together they have every arrival of a pace once.
pub struct Thinned {
    all: Box<dyn Pace>,
    skipped: u32,
    between: u32,
}

impl Thinned {
    /// Those of the hammer that has this share.
    pub fn new(all: Box<dyn Pace>, share: Share) -> Self {
        Thinned {
            all,
            skipped: share.number,
            between: share.of - 1,
        }
    }
}

impl Pace for Thinned {
    fn due(&mut self, done: Moment, kind: usize) -> Moment {
        for _ in 0..std::mem::replace(&mut self.skipped, self.between) {
            self.all.due(done, kind);
        }
        self.all.due(done, kind)
    }
}

/// What a user of a closed loop waits for, by transaction type.
#[derive(Debug)]
pub struct Waits {
    /// How often each type comes, in proportion.
    pub weights: Vec<u32>,
    /// Before a transaction, to enter it.
    pub keying_s: Vec<f64>,
    /// After a transaction, to read the answer and think: the mean, of a negative exponential law.
    pub think_mean_s: Vec<f64>,
}

impl Waits {
    /// Mean time from an answer to the next transaction.
    pub fn mean_s(&self) -> f64 {
        let each = self.keying_s.iter().zip(&self.think_mean_s);
        let weighted = each.zip(&self.weights);
        let sum: f64 = weighted
            .map(|((keying_s, think_s), weight)| (keying_s + think_s) * f64::from(*weight))
            .sum();
        sum / self
            .weights
            .iter()
            .map(|weight| f64::from(*weight))
            .sum::<f64>()
    }

    /// The same types, with no keying and as long a think time for each.
    pub fn only_thinking(self, mean_s: f64) -> Waits {
        Waits {
            keying_s: vec![0.0; self.weights.len()],
            think_mean_s: vec![mean_s; self.weights.len()],
            weights: self.weights,
        }
    }
}

/// Closed loop: a user thinks about each answer and keys in each transaction.
#[derive(Debug, Clone)]
pub struct Waiting {
    waits: Arc<Waits>,
    rng: Rng,
    last: Option<usize>,
}

impl Waiting {
    /// A user who has long been there.
    pub fn new(waits: Arc<Waits>, rng: Rng) -> Self {
        Waiting {
            waits,
            rng,
            last: None,
        }
    }

    /// From an answer of type `last` to the next transaction, of type `next`; seconds.
    fn wait_s(&mut self, last: usize, next: usize) -> f64 {
        let exponential = (-self.rng.positive_share().ln()).min(THINK_MOST);
        self.waits.keying_s[next] + self.waits.think_mean_s[last] * exponential
    }
}

impl Pace for Waiting {
    fn due(&mut self, done: Moment, kind: usize) -> Moment {
        let wait_s = match self.last.replace(kind) {
            Some(last) => self.wait_s(last, kind),
            None => self.waits.mean_s() * self.rng.positive_share(),
        };
        done + Duration::from_secs_f64(wait_s)
    }

    /// From whatever state users begin in, after some cycles they are spread as for ever after.
    fn past(&self) -> Duration {
        Duration::from_secs_f64(PAST_CYCLES * self.waits.mean_s())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits() -> Arc<Waits> {
        Arc::new(Waits {
            weights: vec![50, 50],
            keying_s: vec![18.0, 2.0],
            think_mean_s: vec![12.0, 5.0],
        })
    }

    fn rng(user: u64) -> Rng {
        Rng::of(7, 14_u64, user, 0)
    }

    fn seconds(moment: Moment) -> f64 {
        moment.0 as f64 / 1e9
    }

    fn near(expected: f64, actual: f64, share: f64) {
        assert!(
            (actual / expected - 1.0).abs() < share,
            "{actual} is not {expected}"
        );
    }

    /// A late answer moves no due time: what was missed is due all the same.
    #[test]
    fn steady_due_times_do_not_wait_for_answers() {
        let mut pace = Steady::new(Moment(5), 1e-8);
        let dues: Vec<u64> = [0, 1_000, 0]
            .map(|done| pace.due(Moment(done), 0).0)
            .to_vec();
        assert_eq!(vec![5, 15, 25], dues);
    }

    /// So many are due as the rate says, and their intervals spread like exponential ones.
    #[test]
    fn poisson_due_times_have_the_rate_and_the_spread() {
        let mut pace = Poisson::new(0.002, rng(0));
        let dues: Vec<f64> = (0..100_000)
            .map(|_| seconds(pace.due(Moment(0), 0)))
            .collect();
        near(200.0, dues[99_999], 0.02);
        let gaps: Vec<f64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let variance = gaps.iter().map(|gap| (gap - 0.002).powi(2)).sum::<f64>();
        near(0.002, (variance / gaps.len() as f64).sqrt(), 0.02);
    }

    /// Each arrival of one hammer is that of exactly one of three.
    #[test]
    fn the_arrivals_of_several_hammers_are_those_of_one() {
        let first = |mut pace: Box<dyn Pace>, count: usize| -> Vec<u64> {
            (0..count).map(|_| pace.due(Moment(0), 0).0).collect()
        };
        let all = || Box::new(Poisson::new(0.002, rng(0)));
        let shares = (0..3).map(|number| Share { number, of: 3 });
        let parts = shares.map(|share| first(Box::new(Thinned::new(all(), share)), 100));
        let mut together: Vec<u64> = parts.flatten().collect();
        together.sort_unstable();
        assert_eq!(first(all(), 300), together);
    }

    /// A wait is the thinking about the last and the keying of the next, with the specified means.
    #[test]
    fn waits_have_the_means_of_the_last_and_the_next_type() {
        let mut pace = Waiting::new(waits(), rng(1));
        pace.due(Moment(0), 0);
        let mut sum_s = 0.0;
        for _ in 0..50_000 {
            let wait_s = seconds(pace.due(Moment(0), 1));
            assert!((2.0..=122.0).contains(&wait_s), "{wait_s}");
            sum_s += wait_s;
            pace.last = Some(0);
        }
        near(14.0, sum_s / 50_000.0, 0.02);
        near(18.5, waits().mean_s(), 1e-9);
    }

    /// From the first second on, as many are due as ever: no rush at the start, and no lull after it.
    #[test]
    fn users_start_as_if_they_had_long_been_there() {
        let waits = waits();
        let mut due_in_s = [0_u32; 60];
        for user in 0..20_000 {
            let mut pace = Waiting::new(waits.clone(), rng(user));
            let mut kinds = rng(user + 1_000_000);
            let mut kind = || kinds.uniform(0, 1) as usize;
            let (_, mut due) = begin(&mut pace, &mut kind);
            while let Some(count) = due_in_s.get_mut(seconds(due) as usize) {
                *count += 1;
                due = pace.due(due, kind());
            }
        }
        let rate = 20_000.0 / waits.mean_s();
        for window_s in due_in_s.chunks(10) {
            near(10.0 * rate, f64::from(window_s.iter().sum::<u32>()), 0.04);
        }
    }
}
