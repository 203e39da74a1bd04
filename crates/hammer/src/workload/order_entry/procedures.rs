//! The transactions as server-side procedures: one round trip each, all random numbers drawn here.

use stithy_measure::Outcome;

use super::input::{Customer, Delivery, Input, NewOrder, OrderStatus, Payment, StockLevel};
use super::output::Shown;
use super::sql::Sql;
use crate::client::{Answer, Params, Row, Session, SessionError, Statement};

/// The prepared calls of one session.
#[derive(Debug, Clone, Copy)]
pub struct Procedures {
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
    begin: Statement,
}

impl Procedures {
    /// Prepares the calls.
    pub async fn prepare(session: &mut impl Session, sql: &Sql) -> Result<Self, SessionError> {
        let prepared = session.prepare(&sql.calls).await?;
        let [new_order, payment, order_status, delivery, stock_level, begin] = prepared[..] else {
            unreachable!("each call is prepared once");
        };
        Ok(Procedures {
            new_order,
            payment,
            order_status,
            delivery,
            stock_level,
            begin,
        })
    }

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    pub async fn act(
        &self,
        session: &mut impl Session,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        match input {
            Input::NewOrder(order) if order.unused_item => {
                return self.new_order_to_roll_back(session, order, date_us).await;
            }
            Input::NewOrder(order) => self.queue_new_order(session, order, date_us),
            Input::Payment(payment) => self.queue_payment(session, payment, date_us),
            Input::OrderStatus(question) => self.queue_order_status(session, question),
            Input::Delivery(delivery) => self.queue_delivery(session, *delivery, date_us),
            Input::StockLevel(question) => self.queue_stock_level(session, *question),
        }
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
        order: &NewOrder,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        session.queue(self.begin, |_| {});
        self.queue_new_order(session, order, date_us);
        let answer = session.exchange().await?;
        let order_id = answer.first(1).and_then(|row| row.integer(0));
        session.roll_back().await?;
        match order_id {
            None => Ok(Outcome::RolledBack.into()),
            Some(_) => Err(SessionError::unexpected(
                "an item that must be unused is in use",
            )),
        }
    }

    fn queue_new_order(&self, session: &mut impl Session, order: &NewOrder, date_us: i64) {
        let (passes, last_pass) = order.passes();
        session.queue(self.new_order, |params| {
            params.int4(order.district.w_id);
            params.int2(order.district.d_id);
            params.int4(order.c_id);
            params.timestamp(date_us);
            params.int2(order.all_local().into());
            params.int4_array(order.lines.iter().map(|line| line.i_id));
            params.int4_array(order.lines.iter().map(|line| line.supply_w_id));
            params.int2_array(order.lines.iter().map(|line| line.quantity));
            params.int2_array(passes[..order.lines.len()].iter().copied());
            params.int2(last_pass);
            params.boolean(order.unused_item);
        });
    }

    fn queue_payment(&self, session: &mut impl Session, payment: &Payment, date_us: i64) {
        session.queue(self.payment, |params| {
            params.int4(payment.district.w_id);
            params.int2(payment.district.d_id);
            params.int4(payment.customer_district.w_id);
            params.int2(payment.customer_district.d_id);
            put_customer(params, &payment.customer);
            params.cents(payment.amount_cents);
            params.timestamp(date_us);
        });
    }

    fn queue_order_status(&self, session: &mut impl Session, question: &OrderStatus) {
        session.queue(self.order_status, |params| {
            params.int4(question.district.w_id);
            params.int2(question.district.d_id);
            put_customer(params, &question.customer);
        });
    }

    fn queue_delivery(&self, session: &mut impl Session, delivery: Delivery, date_us: i64) {
        session.queue(self.delivery, |params| {
            params.int4(delivery.w_id);
            params.int2(delivery.carrier_id);
            params.timestamp(date_us);
        });
    }

    fn queue_stock_level(&self, session: &mut impl Session, question: StockLevel) {
        session.queue(self.stock_level, |params| {
            params.int4(question.district.w_id);
            params.int2(question.district.d_id);
            params.int2(question.threshold);
        });
    }
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
