//! The last order of a customer (clause 2.6): who, which order, which lines.

use stithy_measure::Outcome;

use super::super::input::OrderStatus;
use super::{customer_id, put_district, Plain, Step};
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError};

impl Plain {
    pub(super) async fn order_status(
        &self,
        session: &mut impl Session,
        question: &OrderStatus,
    ) -> Result<Outcome, SessionError> {
        session.start(Batch::First(Access::Read));
        self.queue_find(session, question.district, &question.customer);
        session.exchange().await?;
        let c_id = customer_id(session, &question.customer, 0)?;
        session.start(Batch::Middle);
        for step in [Step::Balance, Step::LastOrder] {
            self.queue(session, step, |params| {
                put_district(params, question.district);
                params.int4(c_id);
            });
        }
        let answer = session.exchange().await?;
        let o_id = answer.first(1).and_then(|row| row.integer(0));
        session.start(Batch::Last);
        if let Some(o_id) = o_id.and_then(|o_id| i32::try_from(o_id).ok()) {
            self.queue(session, Step::Lines, |params| {
                put_district(params, question.district);
                params.int4(o_id);
            });
        }
        session.exchange().await?;
        Ok(Outcome::Committed)
    }
}
