//! Who acts: a virtual user, and the exchange, which does its work in the same way; both keep the books.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stithy_measure::{locked, Moment, Outcome};
use stithy_wire::ErrorKind;

use super::exchange::Exchange;
use super::input::{Input, Source};
use super::kept::Deal;
use super::random::Rng;
use super::statements::{Shown, Transactions};
use crate::engines::{Session, SessionError};
use crate::ledger::unique_dates::UniqueDates;
use crate::ledger::write::Ledger;
use crate::ledger::Stage;
use crate::transaction_script::TransactionScript;
use crate::workloads::deck::Deck;

/// What everybody of a run shares.
pub struct Shared<M> {
    /// What is drawn from.
    pub source: Arc<Source>,
    /// The types of users' transactions.
    pub deck: Deck,
    /// The dates of transactions.
    pub dates: UniqueDates,
    /// The ledger, where the run has one.
    pub ledger: Option<Arc<Ledger>>,
    /// The exchange.
    pub exchange: Exchange<User<M>>,
    /// Trade results that were acknowledged.
    pub completed: AtomicU64,
    /// Trades whose results were sent, and not answered.
    pub in_doubt: Mutex<HashSet<i64>>,
}

/// One who acts.
pub struct User<M> {
    shared: Arc<Shared<M>>,
    rng: Rng,
    transactions: M,
    /// What the exchange has drawn; None for a user.
    given: Option<Input>,
    input: Option<Input>,
}

impl<M: Clone> Clone for User<M> {
    fn clone(&self) -> Self {
        User {
            shared: self.shared.clone(),
            rng: self.rng.clone(),
            transactions: self.transactions.clone(),
            given: self.given.clone(),
            input: self.input.clone(),
        }
    }
}

impl<M: Transactions> User<M> {
    /// A user who has not drawn yet.
    pub fn new(shared: Arc<Shared<M>>, rng: Rng, transactions: M) -> Self {
        User {
            shared,
            rng,
            transactions,
            given: None,
            input: None,
        }
    }

    /// Makes something due for the exchange.
    pub fn schedule(&self, (due, input): (Moment, Input)) {
        let script = User {
            given: Some(input),
            input: None,
            ..self.clone()
        };
        self.shared.exchange.agenda.put(due, script);
    }

    /// Leaves in the books what is about to be sent.
    ///
    /// Errors: the ledger has failed, so that nothing more may be sent.
    fn note_sent(&self, input: &Input) -> Result<(), SessionError> {
        let deal = match input {
            Input::TradeOrder(order) => {
                self.shared.exchange.expect(order);
                Deal::of_order(&self.shared.source.population, order, 0)
            }
            Input::TradeResult(done) => {
                locked(&self.shared.in_doubt).insert(done.id);
                Deal::of_result(done)
            }
            _ => return Ok(()),
        };
        match self.note(Stage::Sent, deal) {
            true => Ok(()),
            false => Err(SessionError::unexpected("the ledger could not be written")),
        }
    }

    fn note(&self, stage: Stage, deal: Deal) -> bool {
        let ledger = self.shared.ledger.as_ref();
        ledger.is_none_or(|ledger| ledger.note(stage, deal))
    }

    /// Leaves in the books what became of it, and gives the exchange what it is to know.
    fn note_outcome(&self, input: &Input, date_us: i64, result: &Result<Shown, SessionError>) {
        match result {
            Ok(shown) => self.note_done(input, date_us, shown),
            Err(error) => self.note_failed(input, error),
        }
    }

    fn note_done(&self, input: &Input, date_us: i64, shown: &Shown) {
        let exchange = &self.shared.exchange;
        match input {
            Input::TradeOrder(order) => {
                let deal = Deal::of_order(&self.shared.source.population, order, shown.price_cents);
                if shown.rolled_back {
                    self.note(Stage::Refused, deal);
                    return;
                }
                self.note(Stage::Acknowledged, deal);
                if let Some(result) = exchange.take_order(order) {
                    self.schedule(result);
                }
            }
            Input::TradeResult(done) => {
                self.note(Stage::Acknowledged, Deal::of_result(done));
                locked(&self.shared.in_doubt).remove(&done.id);
                self.shared.completed.fetch_add(1, Ordering::Relaxed);
                if let Some(feed) = exchange.take_result(done) {
                    self.schedule((exchange.agenda.now(), feed));
                }
            }
            Input::MarketFeed(ticks) => {
                for id in &shown.reached {
                    let deal = Deal::of_reached(*id, date_us);
                    // Which orders it reaches is known with its answer alone.
                    self.note(Stage::Sent, deal);
                    self.note(Stage::Acknowledged, deal);
                }
                for result in exchange.take_feed(ticks, &shown.reached) {
                    self.schedule(result);
                }
            }
            _ => {}
        }
    }

    fn note_failed(&self, input: &Input, error: &SessionError) {
        let exchange = &self.shared.exchange;
        match input {
            Input::TradeOrder(order) if !error.is_lost() => {
                let deal = Deal::of_order(&self.shared.source.population, order, 0);
                self.note(Stage::Refused, deal);
                exchange.forget(order);
            }
            Input::TradeResult(done) if !error.is_lost() => {
                self.note(Stage::Refused, Deal::of_result(done));
                locked(&self.shared.in_doubt).remove(&done.id);
            }
            // What can be tried again says its limits itself.
            Input::MarketFeed(ticks) if error.kind != ErrorKind::Retryable => {
                exchange.lose_feed(ticks)
            }
            _ => {}
        }
    }
}

impl<M: Transactions> TransactionScript for User<M> {
    fn draw(&mut self) -> usize {
        let input = match self.given.take() {
            Some(given) => given,
            None => {
                let kind = self.shared.deck.deal();
                self.shared.source.draw(kind, &mut self.rng)
            }
        };
        if let Input::DataMaintenance(_) = input {
            self.schedule(self.shared.exchange.plan_upkeep());
        }
        let kind = input.kind();
        self.input = Some(input);
        kind
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        let Some(input) = &self.input else {
            return Err(SessionError::unexpected("nothing was drawn"));
        };
        self.note_sent(input)?;
        let date_us = self.shared.dates.next();
        let population = &self.shared.source.population;
        let result = self
            .transactions
            .act(session, population, input, date_us)
            .await;
        self.note_outcome(input, date_us, &result);
        Ok(match result?.rolled_back {
            true => Outcome::RolledBack,
            false => Outcome::Committed,
        })
    }
}
