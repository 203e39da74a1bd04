//! Orders, results and feeds as plain prepared SQL: every row is asked for and written by a statement of its own, as
//! an application without procedures would, and what does not wait for a result goes in one batch.
//!
//! They leave the same rows as procedures; a test compares every table.

mod feed;
mod lots;
mod order;
mod result;

use super::input::Input;
use super::population::Population;
use super::statements::{Pair, Shown, Transactions};
use super::transactions::{Calls, Prepared};
use crate::engines::{Params, Session, SessionError};

/// The prepared statements of one session, those of [`Step`] instead of calls.
#[derive(Debug)]
pub struct Plain<P>(Calls<P>);

impl<P> Clone for Plain<P> {
    fn clone(&self) -> Self {
        Plain(self.0.clone())
    }
}

impl<P: Pair> Transactions for Plain<P> {
    async fn prepare(session: &mut impl Session) -> Result<Self, SessionError> {
        Ok(Plain(Calls::prepare(session).await?))
    }

    async fn act(
        &self,
        session: &mut impl Session,
        population: &Population,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        let statements = self.0.statements();
        match input {
            Input::TradeOrder(order) => {
                let ordered = statements.place_order(session, population, order, date_us);
                ordered.await
            }
            Input::TradeResult(done) => statements.complete(session, done, date_us).await,
            Input::MarketFeed(ticks) => {
                let fed = statements.take_feed(session, population, ticks, date_us);
                fed.await
            }
            _ => self.0.act(session, population, input, date_us).await,
        }
    }
}

impl Prepared {
    fn queue_step<S: Session>(
        self,
        session: &mut S,
        step: Step,
        write: impl FnOnce(&mut S::Params<'_>),
    ) {
        self.queue(session, super::transactions::STEPS + step as usize, write);
    }

    /// Queues that an order has a new state.
    fn queue_state(self, session: &mut impl Session, id: i64, date_us: i64, state: &str) {
        self.queue_step(session, Step::WriteState, |params| {
            params.int8(id);
            params.timestamp(date_us);
            params.text(state.as_bytes());
        });
    }
}

/// A step of a transaction; its number is its place among an engine's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Account,
    Executor,
    BySymbol,
    ByCompany,
    Kind,
    Rate,
    Charge,
    Lots,
    TaxRate,
    Assets,
    WriteTrade,
    WriteRequest,
    WriteState,
    Deal,
    Held,
    WriteSummary,
    ChangeSummary,
    DropSummary,
    ChangeLot,
    DropLot,
    WriteChange,
    WriteLot,
    Complete,
    Settle,
    Pay,
    WriteCash,
    Credit,
    Quote,
    TakeReached,
    Submit,
}
