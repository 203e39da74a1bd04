//! Dates by which the ledger knows transactions: given by the hammer, no two alike, nor two of several hammers.

use std::sync::atomic::{AtomicI64, Ordering};

use stithy_measure::{Clock, SystemClock};
use stithy_wire::Share;

/// Microseconds from the start of 1970 to that of 2000, where the dates of rows begin.
const SINCE_2000_US: i64 = 946_684_800_000_000;

/// Gives every transaction of a run a date of its own.
#[derive(Debug)]
pub struct UniqueDates {
    clock: SystemClock,
    last_us: AtomicI64,
    share: Share,
}

impl UniqueDates {
    /// Those of one of several hammers.
    pub fn new(share: Share) -> Self {
        UniqueDates {
            share,
            clock: SystemClock::start(),
            last_us: AtomicI64::new(i64::MIN),
        }
    }

    /// A date that was never given before: the time, or the next microsecond after the last date that no other
    /// hammer has. Microseconds
    /// since the start of 2000, UTC.
    pub fn next(&self) -> i64 {
        let now_us = self.clock.now().0 / 1_000;
        self.give((self.clock.unix_start().as_micros() as u64 + now_us) as i64)
    }

    /// `unix_us` is now, microseconds since the start of 1970.
    fn give(&self, unix_us: i64) -> i64 {
        let now_us = unix_us - SINCE_2000_US;
        let (number, of) = (i64::from(self.share.number), i64::from(self.share.of));
        let after = |last_us: i64| {
            let earliest_us = now_us.max(last_us.saturating_add(1));
            earliest_us + (number - earliest_us).rem_euclid(of)
        };
        let update = |last_us| Some(after(last_us));
        let relaxed = Ordering::Relaxed;
        // The update never declines, so both ends of the result hold the date before.
        let last_us = self.last_us.fetch_update(relaxed, relaxed, update);
        after(last_us.unwrap_or_else(|last_us| last_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two in one microsecond, or after the clock was set back, still have dates of their own.
    #[test]
    fn dates_are_unique_whatever_the_clock_does() {
        let (dates, now) = (UniqueDates::new(Share::ALL), SINCE_2000_US + 1_000);
        let given = [now, now, now - 500, now + 10].map(|unix_us| dates.give(unix_us));
        assert_eq!([1_000, 1_001, 1_002, 1_010], given);
    }

    /// Hammers whose clocks agree to the microsecond still give no date twice.
    #[test]
    fn several_hammers_give_different_dates() {
        let given = [0, 1, 2].map(|number| {
            let dates = UniqueDates::new(Share { number, of: 3 });
            [1_000, 1_000, 1_005].map(|us| dates.give(SINCE_2000_US + us))
        });
        assert_eq!(
            [
                [1_002, 1_005, 1_008],
                [1_000, 1_003, 1_006],
                [1_001, 1_004, 1_007]
            ],
            given
        );
    }
}
