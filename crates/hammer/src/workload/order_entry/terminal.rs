//! A virtual user of the order-entry workload: draws its inputs, keeps the order book, and does the
//! transactions in the way that the run chose.

use std::sync::Arc;

use stithy_measure::{Clock, Outcome, SystemClock};

use super::input::{Draws, Input};
use super::order_book::{OrderBook, OrderKey};
use super::way::Way;
use crate::client::postgresql::{Session, SessionError};
use crate::script::Script;

/// One virtual user.
pub struct Terminal {
    user: u32,
    draws: Draws,
    book: Arc<OrderBook>,
    clock: SystemClock,
    way: Way,
    input: Option<Input>,
    date_us: i64,
}

impl Terminal {
    /// A user who has not drawn yet. The clock dates orders and payments.
    pub fn new(
        user: u32,
        draws: Draws,
        book: Arc<OrderBook>,
        clock: SystemClock,
        way: Way,
    ) -> Self {
        Terminal {
            user,
            draws,
            book,
            clock,
            way,
            input: None,
            date_us: 0,
        }
    }

    fn unix_us(&self) -> i64 {
        let now = self.clock.now().0 / 1_000;
        (self.clock.unix_start().as_micros() as u64 + now) as i64
    }
}

impl Script for Terminal {
    fn draw(&mut self) -> usize {
        let input = self.draws.next_input();
        let kind = input.kind();
        self.input = Some(input);
        self.date_us = self.book.unique_date(self.unix_us());
        kind
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<Outcome, SessionError> {
        let Some(input) = &self.input else {
            return Err(SessionError::Unexpected("nothing was drawn"));
        };
        if let Input::NewOrder(order) = input {
            let key = OrderKey {
                district: order.district,
                entry_us: self.date_us,
            };
            self.book.send(self.user, key);
        }
        let result = self.way.act(session, input, self.date_us).await;
        if let Input::NewOrder(_) = input {
            match &result {
                Ok(outcome) => self.book.answer(self.user, *outcome == Outcome::Committed),
                Err(SessionError::Lost(_)) => {}
                Err(_) => self.book.answer(self.user, false),
            }
        }
        result
    }
}
