//! Dates by which the ledger knows transactions: given by the hammer, no two alike.

use std::sync::atomic::{AtomicI64, Ordering};

use stithy_measure::{Clock, SystemClock};

/// Microseconds from the start of 1970 to that of 2000, where the dates of rows begin.
const SINCE_2000_US: i64 = 946_684_800_000_000;

/// Gives every transaction of a run a date of its own.
#[derive(Debug)]
pub struct UniqueDates {
    clock: SystemClock,
    last_us: AtomicI64,
}

impl Default for UniqueDates {
    fn default() -> Self {
        UniqueDates {
            clock: SystemClock::start(),
            last_us: AtomicI64::new(i64::MIN),
        }
    }
}

impl UniqueDates {
    /// A date that was never given before: the time, or the microsecond after the last date. Microseconds
    /// since the start of 2000, UTC.
    pub fn next(&self) -> i64 {
        let now_us = self.clock.now().0 / 1_000;
        self.give((self.clock.unix_start().as_micros() as u64 + now_us) as i64)
    }

    /// `unix_us` is now, microseconds since the start of 1970.
    fn give(&self, unix_us: i64) -> i64 {
        let now_us = unix_us - SINCE_2000_US;
        let after = |last_us: i64| now_us.max(last_us.saturating_add(1));
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
        let (dates, now) = (UniqueDates::default(), SINCE_2000_US + 1_000);
        let given = [now, now, now - 500, now + 10].map(|unix_us| dates.give(unix_us));
        assert_eq!([1_000, 1_001, 1_002, 1_010], given);
    }
}
