//! A virtual user of the order-entry workload: draws its inputs, keeps the order book, and does the
//! transactions in the way that the run chose.

use std::sync::Arc;

use stithy_measure::Outcome;

use super::input::{Draws, Input};
use super::kept::Deal;
use super::order_book::{OrderBook, OrderKey};
use super::statements::Transactions;
use crate::engines::{Session, SessionError};
use crate::ledger::unique_dates::UniqueDates;
use crate::ledger::write::Ledger;
use crate::ledger::Stage;
use crate::transaction_script::TransactionScript;

/// Where all users of a run account for what they do.
#[derive(Clone)]
pub struct Books {
    /// Orders acknowledged and in doubt.
    pub orders: Arc<OrderBook>,
    /// The dates of orders and payments.
    pub dates: Arc<UniqueDates>,
    /// The ledger, where the run has one.
    pub ledger: Option<Arc<Ledger>>,
}

/// One virtual user.
#[derive(Clone)]
pub struct Terminal<M> {
    user: u32,
    draws: Draws,
    books: Books,
    mode: M,
    input: Option<Input>,
    /// When the drawn transaction was tried first; None before that.
    date_us: Option<i64>,
}

impl<M: Transactions> Terminal<M> {
    /// A user who has not drawn yet.
    pub fn new(user: u32, draws: Draws, books: Books, mode: M) -> Self {
        Terminal {
            user,
            draws,
            books,
            mode,
            input: None,
            date_us: None,
        }
    }

    /// The date of the transaction: that of its first attempt, and nobody else's.
    fn date_us(&mut self) -> i64 {
        *self.date_us.get_or_insert_with(|| self.books.dates.next())
    }

    /// Leaves in the ledger what is about to be sent; None where it is not kept.
    ///
    /// Errors: the ledger has failed, so that nothing more may be sent.
    fn note_sent(&self, input: &Input, date_us: i64) -> Result<Option<Deal>, SessionError> {
        let Some(ledger) = &self.books.ledger else {
            return Ok(None);
        };
        let deal = Deal::sent(input, date_us);
        if deal.is_some_and(|deal| !ledger.note(Stage::Sent, deal)) {
            return Err(SessionError::unexpected("the ledger could not be written"));
        }
        Ok(deal)
    }

    /// Leaves in the ledger what became of it; a lost answer leaves it in doubt.
    fn note_outcome(
        &self,
        sent: Deal,
        result: &Result<Outcome, SessionError>,
        session: &impl Session,
    ) {
        let (Some(ledger), Some(stage)) = (&self.books.ledger, Stage::of(result)) else {
            return;
        };
        let number = match stage {
            Stage::Acknowledged => self.mode.order_number(session),
            _ => None,
        };
        // A ledger that has failed refuses the next transaction, and the summary says so.
        ledger.note(stage, sent.numbered(number));
    }
}

impl<M: Transactions> TransactionScript for Terminal<M> {
    fn draw(&mut self) -> usize {
        let input = self.draws.next_input();
        let kind = input.kind();
        self.input = Some(input);
        self.date_us = None;
        kind
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        let date_us = self.date_us();
        let Some(input) = &self.input else {
            return Err(SessionError::unexpected("nothing was drawn"));
        };
        if let Input::NewOrder(order) = input {
            let key = OrderKey {
                district: order.district,
                entry_us: date_us,
            };
            self.books.orders.send(self.user, key);
        }
        let deal = self.note_sent(input, date_us)?;
        let result = self.mode.act(session, input, date_us).await;
        let result = result.map(|shown| shown.outcome);
        if let Input::NewOrder(_) = input {
            match &result {
                Ok(outcome) => self
                    .books
                    .orders
                    .answer(self.user, *outcome == Outcome::Committed),
                Err(error) if error.is_lost() => self.books.orders.lose(self.user),
                Err(_) => self.books.orders.answer(self.user, false),
            }
        }
        if let Some(deal) = deal {
            self.note_outcome(deal, &result, session);
        }
        result
    }
}
