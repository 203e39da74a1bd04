//! A delivery (clause 2.7) in three batches: the oldest order of each district is taken, then dated,
//! then credited to its customer.

use stithy_measure::Outcome;

use super::super::input::{Delivery, District};
use super::step::Step;
use super::{put_district, Plain};
use crate::client::postgresql::{Session, SessionError};

/// An order that was taken for delivery.
#[derive(Clone, Copy)]
struct Order {
    district: District,
    o_id: i32,
}

impl Plain {
    pub(super) async fn delivery(
        &self,
        session: &mut Session,
        delivery: Delivery,
        date_us: i64,
    ) -> Result<Outcome, SessionError> {
        let orders = self.take_oldest(session, delivery.w_id).await?;
        let customers = self
            .carry(session, &orders, delivery.carrier_id, date_us)
            .await?;
        for (order, c_id) in orders.iter().zip(customers) {
            self.queue(session, Step::Credit, |params| {
                put_district(params, order.district);
                params.int4(c_id);
                params.int4(order.o_id);
            });
        }
        self.queue_bare(session, Step::Commit);
        session.exchange().await?;
        Ok(Outcome::Committed)
    }

    /// Another delivery may take an order from under this one: the districts left are tried again,
    /// until none of them has an order, as in the procedure.
    async fn take_oldest(
        &self,
        session: &mut Session,
        w_id: i32,
    ) -> Result<Vec<Order>, SessionError> {
        let mut left: Vec<District> = (1..=10).map(|d_id| District { w_id, d_id }).collect();
        let mut orders = Vec::with_capacity(left.len());
        self.queue_bare(session, Step::Begin);
        let mut first_at = 1;
        loop {
            for district in &left {
                self.queue(session, Step::TakeOldest, |params| {
                    put_district(params, *district);
                });
            }
            let answer = session.exchange().await?;
            let before = orders.len();
            let mut at = first_at;
            left.retain(|district| {
                let o_id = answer.first(at).and_then(|row| row.integer(0));
                at += 1;
                let o_id = o_id.and_then(|o_id| i32::try_from(o_id).ok());
                orders.extend(o_id.map(|o_id| Order {
                    district: *district,
                    o_id,
                }));
                o_id.is_none()
            });
            if left.is_empty() || orders.len() == before {
                return Ok(orders);
            }
            first_at = 0;
        }
    }

    /// Gives the customers of the orders.
    async fn carry(
        &self,
        session: &mut Session,
        orders: &[Order],
        carrier_id: i16,
        date_us: i64,
    ) -> Result<Vec<i32>, SessionError> {
        for order in orders {
            self.queue(session, Step::Carry, |params| {
                put_district(params, order.district);
                params.int4(order.o_id);
                params.int2(carrier_id);
            });
            self.queue(session, Step::DateLines, |params| {
                put_district(params, order.district);
                params.int4(order.o_id);
                params.int8(date_us);
            });
        }
        let answer = session.exchange().await?;
        let customers = (0..).step_by(2).take(orders.len()).map(|at| {
            let c_id = answer.first(at).and_then(|row| row.integer(0));
            c_id.and_then(|c_id| i32::try_from(c_id).ok())
        });
        let customers: Option<Vec<i32>> = customers.collect();
        customers.ok_or(SessionError::Unexpected("an order that waits is missing"))
    }
}
