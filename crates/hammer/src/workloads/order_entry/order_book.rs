//! Which new orders were acknowledged, and which are in doubt: sent, and never answered.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Mutex;

use stithy_measure::locked;

use super::input::District;

/// Microseconds from the start of 1970 to that of 2000, where the dates of rows begin.
const SINCE_2000_US: i64 = 946_684_800_000_000;

/// What an order can be found by afterwards: nobody else gives orders of this district this date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderKey {
    /// Where it was entered.
    pub district: District,
    /// O_ENTRY_D, microseconds since the start of 2000, UTC.
    pub entry_us: i64,
}

/// Keeps the books of all users of a run.
#[derive(Debug)]
pub struct OrderBook {
    acknowledged: AtomicU64,
    /// The order under way of each user.
    open: Mutex<Vec<Option<OrderKey>>>,
    /// Orders whose connection was lost before the answer.
    lost: Mutex<Vec<OrderKey>>,
    last_us: AtomicI64,
}

impl OrderBook {
    /// Nothing ordered yet.
    pub fn new(users: u32) -> Self {
        OrderBook {
            acknowledged: AtomicU64::new(0),
            open: Mutex::new(vec![None; users as usize]),
            lost: Mutex::default(),
            last_us: AtomicI64::new(i64::MIN),
        }
    }

    /// A date that was never given before: the time, or the microsecond after the last date.
    ///
    /// `unix_us` is now, microseconds since the start of 1970; so is not the result, see [`OrderKey`].
    pub fn unique_date(&self, unix_us: i64) -> i64 {
        let now_us = unix_us - SINCE_2000_US;
        let after = |last_us: i64| now_us.max(last_us.saturating_add(1));
        let update = |last_us| Some(after(last_us));
        let relaxed = Ordering::Relaxed;
        // The update never declines, so both ends of the result hold the date before.
        let last_us = self.last_us.fetch_update(relaxed, relaxed, update);
        after(last_us.unwrap_or_else(|last_us| last_us))
    }

    /// An order is about to be sent.
    pub fn send(&self, user: u32, key: OrderKey) {
        locked(&self.open)[user as usize] = Some(key);
    }

    /// An answer came: acknowledged as committed, or certainly not committed.
    pub fn answer(&self, user: u32, committed: bool) {
        locked(&self.open)[user as usize] = None;
        self.acknowledged
            .fetch_add(committed.into(), Ordering::Relaxed);
    }

    /// No answer will come: the order stays in doubt, whatever the user does next.
    pub fn lose(&self, user: u32) {
        let order = locked(&self.open)[user as usize].take();
        locked(&self.lost).extend(order);
    }

    /// Orders acknowledged as committed.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Orders that were sent and never answered.
    pub fn in_doubt(&self) -> Vec<OrderKey> {
        let mut in_doubt = locked(&self.lost).clone();
        in_doubt.extend(locked(&self.open).iter().flatten());
        in_doubt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(entry_us: i64) -> OrderKey {
        let district = District { w_id: 1, d_id: 1 };
        OrderKey { district, entry_us }
    }

    /// Only an order without any answer is in doubt.
    #[test]
    fn an_order_is_in_doubt_until_it_is_answered() {
        let book = OrderBook::new(3);
        book.send(0, key(1));
        book.send(1, key(2));
        book.send(2, key(3));
        book.answer(0, true);
        book.answer(1, false);
        assert_eq!((1, vec![key(3)]), (book.acknowledged(), book.in_doubt()));
        book.lose(2);
        book.send(2, key(4));
        assert_eq!(vec![key(3), key(4)], book.in_doubt());
        book.answer(2, true);
        assert_eq!((2, vec![key(3)]), (book.acknowledged(), book.in_doubt()));
    }

    /// Two orders in one microsecond, or after the clock was set back, still have dates of their own.
    #[test]
    fn dates_are_unique_whatever_the_clock_does() {
        let book = OrderBook::new(1);
        let now = SINCE_2000_US + 1_000;
        let dates: Vec<i64> = [now, now, now - 500, now + 10]
            .map(|unix_us| book.unique_date(unix_us))
            .to_vec();
        assert_eq!(vec![1_000, 1_001, 1_002, 1_010], dates);
    }
}
