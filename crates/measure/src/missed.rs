//! What a closed loop leaves out: the transactions that nobody began because an answer held them up.
//!
//! In a closed loop a user who waits for an answer begins nothing. A stall of two seconds is then a few
//! slow transactions, where people who act on their own would have met it hundreds of times.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Interval;

/// An answer that takes longer than so many medians of its type holds its user up.
const HELD_UP: f64 = 10.0;

/// Transactions that users would have begun at their usual pace while slow answers held them up.
///
/// The usual pace is one transaction in `wait`, the mean of keying and thinking, and the median
/// response time, weighted by type. Each answer over ten times the median of its type misses the time
/// above that median divided by this cycle. `deferred` is the index of a type for whose answers nobody waits.
/// Own: docs/explanation/method.md, "Missed starts".
pub fn missed_starts(measured: &Interval, wait: Duration, deferred: Option<usize>) -> u64 {
    let awaited = measured.types.iter().enumerate();
    let responses: Vec<_> = awaited
        .filter(|(kind, _)| Some(*kind) != deferred)
        .map(|(_, each)| &each.response)
        .collect();
    let count: u64 = responses.iter().map(|response| response.len()).sum();
    let usual = |response: &Histogram<u64>| response.value_at_quantile(0.5) as f64;
    let medians: f64 = responses.iter().map(|r| usual(r) * r.len() as f64).sum();
    let cycle_us = wait.as_secs_f64() * 1e6 + medians / count.max(1) as f64;
    let held_us: f64 = responses.iter().map(|r| held_up_us(r, usual(r))).sum();
    if held_us == 0.0 {
        return 0;
    }
    (held_us / cycle_us).round() as u64
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
        let missed = missed_starts(
            &with([(2_000, 5_000), (2_002_000, 8)]),
            Duration::ZERO,
            None,
        );
        assert!((7_980..8_020).contains(&missed), "{missed}");
    }

    /// Users who think for a second miss two starts each in two seconds, not a thousand.
    #[test]
    fn waits_between_transactions_make_the_misses_few() {
        let stalled = with([(2_000, 5_000), (2_002_000, 80)]);
        let missed = missed_starts(&stalled, Duration::from_millis(998), None);
        assert!((159..=161).contains(&missed), "{missed}");
    }

    /// Ordinary spread is no stall, and nothing recorded misses nothing.
    #[test]
    fn ordinary_answers_miss_nothing() {
        let spread = with((1_000..5_000).map(|us| (us, 1)));
        assert_eq!(0, missed_starts(&spread, Duration::ZERO, None));
        assert_eq!(
            0,
            missed_starts(&Interval::new(&[true]), Duration::ZERO, None)
        );
    }
}
