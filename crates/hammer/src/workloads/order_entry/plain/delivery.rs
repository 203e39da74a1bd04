//! A delivery (clause 2.7) in three batches: the oldest order of each district is taken, then dated,
//! then credited to its customer.

use stithy_measure::Outcome;

use super::super::input::{Delivery, District};
use super::{put_district, Plain, Step};
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError};

/// An order that was taken for delivery.
#[derive(Clone, Copy)]
struct Order {
    district: District,
    o_id: i32,
}

impl Plain {
    pub(super) async fn delivery(
        &self,
        session: &mut impl Session,
        delivery: Delivery,
        date_us: i64,
    ) -> Result<Outcome, SessionError> {
        let orders = self.take_oldest(session, delivery.w_id).await?;
        let customers = self
            .carry(session, &orders, delivery.carrier_id, date_us)
            .await?;
        session.start(Batch::Last);
        for (order, c_id) in orders.iter().zip(customers) {
            self.queue(session, Step::Credit, |params| {
                put_district(params, order.district);
                params.int4(c_id);
                params.int4(order.o_id);
            });
        }
        session.exchange().await?;
        Ok(Outcome::Committed)
    }

    /// Another delivery may take an order from under this one: the districts left are tried again,
    /// until none of them has an order, as in the procedure.
    ///
    /// All districts are taken by one statement, which sees one state of the queue: a delivery that
    /// had to wait then holds nothing when it tries again. One statement a district would leave it
    /// with some of the orders, and two such deliveries with each other's: a deadlock.
    async fn take_oldest(
        &self,
        session: &mut impl Session,
        w_id: i32,
    ) -> Result<Vec<Order>, SessionError> {
        let mut left: Vec<i16> = (1..=10).collect();
        let mut orders = Vec::with_capacity(left.len());
        session.start(Batch::First(Access::Write));
        loop {
            self.queue(session, Step::TakeOldest, |params| {
                params.int4(w_id);
                params.int2_list(left.iter().copied());
            });
            let before = orders.len();
            orders.extend(read_orders(session.exchange().await?, w_id)?);
            left.retain(|d_id| orders.iter().all(|order| order.district.d_id != *d_id));
            if left.is_empty() || orders.len() == before {
                return Ok(orders);
            }
            session.start(Batch::Middle);
        }
    }

    /// Gives the customers of the orders.
    async fn carry(
        &self,
        session: &mut impl Session,
        orders: &[Order],
        carrier_id: i16,
        date_us: i64,
    ) -> Result<Vec<i32>, SessionError> {
        session.start(Batch::Middle);
        for order in orders {
            self.queue(session, Step::Carry, |params| {
                put_district(params, order.district);
                params.int4(order.o_id);
                params.int2(carrier_id);
            });
            self.queue(session, Step::DateLines, |params| {
                put_district(params, order.district);
                params.int4(order.o_id);
                params.timestamp(date_us);
            });
        }
        let answer = session.exchange().await?;
        let customers = (0..).step_by(2).take(orders.len()).map(|at| {
            let c_id = answer.first(at).and_then(|row| row.integer(0));
            c_id.and_then(|c_id| i32::try_from(c_id).ok())
        });
        let customers: Option<Vec<i32>> = customers.collect();
        customers.ok_or_else(|| SessionError::unexpected("an order that waits is missing"))
    }
}

fn read_orders(answer: &impl Answer, w_id: i32) -> Result<Vec<Order>, SessionError> {
    let orders = answer.rows(0).map(|row| {
        let d_id = i16::try_from(row.integer(0)?).ok()?;
        let o_id = i32::try_from(row.integer(1)?).ok()?;
        let district = District { w_id, d_id };
        Some(Order { district, o_id })
    });
    let orders: Option<Vec<Order>> = orders.collect();
    orders.ok_or_else(|| SessionError::unexpected("an order that waits has no number"))
}
