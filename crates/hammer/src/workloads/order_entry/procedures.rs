//! The transactions as server-side procedures: one round trip each, all random numbers drawn here.

use stithy_measure::Outcome;

use super::input::{Customer, Input, NewOrder};
use super::output::Shown;
use super::plain::put_district;
use crate::engines::{Answer, Batch, Params, Row, Session, SessionError, Statement};

/// Calls of an engine's procedures, in the order of the transactions.
pub type Calls = [&'static str; 5];

/// The prepared calls of one session.
#[derive(Debug, Clone, Copy)]
pub struct Procedures([Statement; 5]);

impl Procedures {
    /// Prepares the calls.
    pub async fn prepare(session: &mut impl Session, calls: &Calls) -> Result<Self, SessionError> {
        let prepared = session.prepare(calls).await?;
        let prepared = prepared.try_into();
        Ok(Procedures(prepared.expect("each call is prepared once")))
    }

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    pub async fn act(
        &self,
        session: &mut impl Session,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        if matches!(input, Input::NewOrder(order) if order.unused_item) {
            return self.new_order_to_roll_back(session, input, date_us).await;
        }
        session.start(Batch::Whole(input.access()));
        self.queue(session, input, date_us);
        let answer = session.exchange().await?;
        let mut shown = Shown::from(Outcome::Committed);
        if let Input::NewOrder(_) = input {
            let brands = answer.first(0).and_then(|row| row.integer(2));
            let brands = brands.and_then(|brands| u16::try_from(brands).ok());
            shown.brand_lines =
                brands.ok_or_else(|| SessionError::unexpected("an order has no lines"))?;
        }
        Ok(shown)
    }

    /// The order is entered in full; the server's answer that an item is unused leads to the rollback.
    async fn new_order_to_roll_back(
        &self,
        session: &mut impl Session,
        order: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        session.start(Batch::First(order.access()));
        self.queue(session, order, date_us);
        let answer = session.exchange().await?;
        let order_id = answer.first(0).and_then(|row| row.integer(0));
        session.roll_back().await?;
        match order_id {
            None => Ok(Outcome::RolledBack.into()),
            Some(_) => Err(SessionError::unexpected(
                "an item that must be unused is in use",
            )),
        }
    }

    fn queue(&self, session: &mut impl Session, input: &Input, date_us: i64) {
        session.queue(self.0[input.kind()], |params| match input {
            Input::NewOrder(order) => put_new_order(params, order, date_us),
            Input::Payment(payment) => {
                put_district(params, payment.district);
                put_district(params, payment.customer_district);
                put_customer(params, &payment.customer);
                params.cents(payment.amount_cents);
                params.timestamp(date_us);
            }
            Input::OrderStatus(question) => {
                put_district(params, question.district);
                put_customer(params, &question.customer);
            }
            Input::Delivery(delivery) => {
                params.int4(delivery.w_id);
                params.int2(delivery.carrier_id);
                params.timestamp(date_us);
            }
            Input::StockLevel(question) => {
                put_district(params, question.district);
                params.int2(question.threshold);
            }
        });
    }
}

fn put_new_order(params: &mut impl Params, order: &NewOrder, date_us: i64) {
    let (passes, last_pass) = order.passes();
    put_district(params, order.district);
    params.int4(order.c_id);
    params.timestamp(date_us);
    params.int2(order.all_local().into());
    params.int4_list(order.lines.iter().map(|line| line.i_id));
    params.int4_list(order.lines.iter().map(|line| line.supply_w_id));
    params.int2_list(order.lines.iter().map(|line| line.quantity));
    params.int2_list(passes[..order.lines.len()].iter().copied());
    params.int2(last_pass);
    params.boolean(order.unused_item);
}

/// Number and last name, one of them null.
fn put_customer(params: &mut impl Params, customer: &Customer) {
    match customer {
        Customer::Id(c_id) => {
            params.int4(*c_id);
            params.null();
        }
        Customer::LastName(name) => {
            params.null();
            params.text(name.as_bytes());
        }
    }
}
