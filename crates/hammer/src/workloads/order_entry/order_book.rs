//! Which new orders were acknowledged, and which are in doubt: sent, and never answered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use stithy_measure::locked;

use super::input::District;

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
}

impl OrderBook {
    /// Nothing ordered yet.
    pub fn new(users: u32) -> Self {
        OrderBook {
            acknowledged: AtomicU64::new(0),
            open: Mutex::new(vec![None; users as usize]),
            lost: Mutex::default(),
        }
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
}
