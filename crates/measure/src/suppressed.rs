//! What a closed loop leaves out: the transactions that nobody began because an answer held them up.
//!
//! In a closed loop a user who waits for an answer begins nothing. A stall of two seconds is then a few
//! slow transactions, where people who act on their own would have met it hundreds of times.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::interval::{add, count_time, empty_histogram};
use crate::Interval;

/// An answer that takes longer than so many medians of its type holds its user up.
const HELD_UP: f64 = 10.0;

/// By type, how long the transactions that were not answered at the end of a measurement had been due
/// in it. A stall that outlasts the measurement is nowhere else.
#[derive(Debug, Clone, PartialEq)]
pub struct Unanswered(Vec<Histogram<u64>>);

impl Unanswered {
    /// None of a number of types.
    pub fn new(types: usize) -> Self {
        Unanswered(vec![empty_histogram(); types])
    }

    /// One transaction of type `kind`, which must be below the number of types.
    pub fn add(&mut self, kind: usize, due_for: Duration) {
        count_time(&mut self.0[kind], due_for);
    }

    /// Adds those of another driver.
    pub fn merge(&mut self, other: &Unanswered) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            add(mine, theirs);
        }
    }
}

/// Transactions that users would have begun at their usual pace while slow answers held them up.
///
/// The usual pace is one transaction in `wait`, the mean of keying and thinking, and the median
/// response time, weighted by type. Each answer over ten times the median of its type misses the time
/// above that median divided by this cycle; so does what was still unanswered at the end. `unattended` are
/// the types for whose answers nobody waits. None where users were held up and nothing was
/// answered, which leaves no usual pace.
/// Defined in docs/explanation/method.md, "Closed and open loop".
pub fn suppressed_arrivals(
    measured: &Interval,
    unanswered: &Unanswered,
    wait: Duration,
    unattended: &[usize],
) -> Option<u64> {
    let all = measured.types.iter().zip(&unanswered.0).enumerate();
    let awaited: Vec<_> = all
        .filter(|(kind, _)| !unattended.contains(kind))
        .map(|(_, (measured, unanswered))| (&measured.response, unanswered))
        .collect();
    let count: u64 = awaited.iter().map(|(response, _)| response.len()).sum();
    let medians: f64 = awaited
        .iter()
        .map(|(r, _)| r.len() as f64 * median(r))
        .sum();
    let mean_us = medians / count.max(1) as f64;
    let held = awaited.iter().map(|(response, unanswered)| {
        let usual_us = match response.is_empty() {
            true => mean_us,
            false => median(response),
        };
        held_up_us(response, usual_us) + held_up_us(unanswered, usual_us)
    });
    let held_us: f64 = held.sum();
    match count {
        _ if held_us == 0.0 => Some(0),
        0 => None,
        _ => Some((held_us / (wait.as_secs_f64() * 1e6 + mean_us)).round() as u64),
    }
}

fn median(histogram: &Histogram<u64>) -> f64 {
    histogram.value_at_quantile(0.5) as f64
}

/// Time above the median of all answers that held their users up, microseconds.
fn held_up_us(response: &Histogram<u64>, usual_us: f64) -> f64 {
    let slow = response.iter_recorded().filter_map(|step| {
        let value_us = step.value_iterated_to() as f64;
        (value_us > HELD_UP * usual_us)
            .then(|| (value_us - usual_us) * step.count_at_value() as f64)
    });
    slow.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered() -> Unanswered {
        Unanswered::new(1)
    }

    fn with(responses_us: impl IntoIterator<Item = (u64, u64)>) -> Interval {
        let mut interval = Interval::new(&[false]);
        for (response_us, count) in responses_us {
            let histogram = &mut interval.types[0].response;
            histogram.record_n(response_us, count).unwrap();
        }
        interval
    }

    /// Eight users who answer to each other in 2 ms and are held up for 2 s miss a thousand starts each.
    #[test]
    fn a_stall_misses_what_the_users_would_have_begun() {
        let stalled = with([(2_000, 5_000), (2_002_000, 8)]);
        let missed = suppressed_arrivals(&stalled, &answered(), Duration::ZERO, &[]).unwrap();
        assert!((7_980..8_020).contains(&missed), "{missed}");
    }

    /// Users who think for a second miss two starts each in two seconds, not a thousand.
    #[test]
    fn waits_between_transactions_make_the_misses_few() {
        let stalled = with([(2_000, 5_000), (2_002_000, 80)]);
        let wait = Duration::from_millis(998);
        let missed = suppressed_arrivals(&stalled, &answered(), wait, &[]).unwrap();
        assert!((159..=161).contains(&missed), "{missed}");
    }

    /// Ordinary spread is no stall, and nothing recorded misses nothing.
    #[test]
    fn ordinary_answers_miss_nothing() {
        let spread = with((1_000..5_000).map(|us| (us, 1)));
        for measured in [spread, Interval::new(&[true])] {
            let missed = suppressed_arrivals(&measured, &answered(), Duration::ZERO, &[]);
            assert_eq!(Some(0), missed);
        }
    }

    /// A stall that lasts over the end misses as much as one that ends before it.
    #[test]
    fn a_stall_without_an_end_misses_starts_too() {
        let mut unanswered = answered();
        (0..8).for_each(|_| unanswered.add(0, Duration::from_millis(2_002)));
        let usual = with([(2_000, 5_000)]);
        let missed = suppressed_arrivals(&usual, &unanswered, Duration::ZERO, &[]).unwrap();
        assert!((7_980..8_020).contains(&missed), "{missed}");
        let nothing = Interval::new(&[true]);
        let missed = suppressed_arrivals(&nothing, &unanswered, Duration::ZERO, &[]);
        assert_eq!(None, missed, "there is no usual pace");
    }

    /// What is under way at the end as at any other moment holds nobody up.
    #[test]
    fn what_is_under_way_at_the_end_misses_nothing() {
        let mut unanswered = answered();
        unanswered.add(0, Duration::from_millis(3));
        let missed = suppressed_arrivals(&with([(2_000, 50)]), &unanswered, Duration::ZERO, &[]);
        assert_eq!(Some(0), missed);
    }
}
