//! The transactions as plain prepared SQL: every row is asked for and written by a statement of its
//! own, as an application without procedures would, and what does not wait for a result goes in
//! one batch.
//!
//! They leave the same rows as [`super::procedures`]; a test compares every table. An engine whose `UPDATE` gives
//! no rows needs other steps.

mod delivery;
mod new_order;
mod order_status;
mod payment;

use stithy_measure::Outcome;

use super::input::{Customer, District, Input, StockLevel};
use super::output::Shown;
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError, Statement};

/// The prepared statements of one session.
#[derive(Debug, Clone)]
pub struct Plain {
    statements: Vec<Statement>,
}

impl Plain {
    /// Prepares all statements.
    pub(super) async fn prepare(
        session: &mut impl Session,
        steps: &Steps,
    ) -> Result<Self, SessionError> {
        let statements = session.prepare(steps).await?;
        Ok(Plain { statements })
    }

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    pub async fn act(
        &self,
        session: &mut impl Session,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        let outcome = match input {
            Input::NewOrder(order) => return self.new_order(session, order, date_us).await,
            Input::Payment(payment) => self.payment(session, payment, date_us).await,
            Input::OrderStatus(question) => self.order_status(session, question).await,
            Input::Delivery(delivery) => self.delivery(session, *delivery, date_us).await,
            Input::StockLevel(question) => self.stock_level(session, *question).await,
        };
        outcome.map(Shown::from)
    }

    fn queue<C: Session>(
        &self,
        session: &mut C,
        step: Step,
        write: impl FnOnce(&mut C::Params<'_>),
    ) {
        session.queue(self.statements[step as usize], write);
    }

    /// Clause 2.8: one statement, which is a transaction of its own.
    async fn stock_level(
        &self,
        session: &mut impl Session,
        question: StockLevel,
    ) -> Result<Outcome, SessionError> {
        session.start(Batch::Whole(Access::Read));
        self.queue(session, Step::CountLowStock, |params| {
            put_district(params, question.district);
            params.int2(question.threshold);
        });
        session.exchange().await?;
        Ok(Outcome::Committed)
    }

    /// Adds the look-up of a customer's number where only the last name is known.
    fn queue_find(&self, session: &mut impl Session, at: District, customer: &Customer) {
        if let Customer::LastName(name) = customer {
            self.queue(session, Step::FindByName, |params| {
                put_district(params, at);
                params.text(name.as_bytes());
            });
        }
    }
}

/// Warehouse and district.
pub(super) fn put_district(params: &mut impl Params, district: District) {
    params.int4(district.w_id);
    params.int2(district.d_id);
}

/// The customer's number, from the input or from the answer to [`Plain::queue_find`] at `step`.
fn customer_id(
    session: &impl Session,
    customer: &Customer,
    step: u16,
) -> Result<i32, SessionError> {
    match customer {
        Customer::Id(c_id) => Ok(*c_id),
        Customer::LastName(_) => {
            let found: Vec<i64> = session
                .answer()
                .rows(step)
                .filter_map(|row| row.integer(0))
                .collect();
            // The middle one, rounded up: the rows come in the order of the first names.
            let middle = found.get(found.len().div_ceil(2).wrapping_sub(1));
            let middle = middle.and_then(|c_id| i32::try_from(*c_id).ok());
            middle.ok_or_else(|| SessionError::unexpected("no customer has this last name"))
        }
    }
}

/// The statements of an engine, each at the place of its step.
pub(super) type Steps = [&'static str; 21];

/// A step of a transaction; its number is its place in [`Steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    TakeNumber,
    Rates,
    Price,
    TakeStock,
    WriteOrder,
    WriteWaiting,
    WriteLine,
    FindByName,
    Labels,
    Pay,
    PayDistrict,
    PayWarehouse,
    WriteHistory,
    Balance,
    LastOrder,
    Lines,
    TakeOldest,
    Carry,
    DateLines,
    Credit,
    CountLowStock,
}
