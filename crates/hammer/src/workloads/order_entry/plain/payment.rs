//! A payment (clause 2.5) in two batches: who pays and where, then the payment itself, so that the
//! hot rows are locked for one batch only.

use stithy_measure::Outcome;

use super::super::input::Payment;
use super::{customer_id, put_district, Plain, Step};
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError};

/// Between the names of warehouse and district in H_DATA.
const GAP: &[u8] = b"    ";

impl Plain {
    pub(super) async fn payment(
        &self,
        session: &mut impl Session,
        payment: &Payment,
        date_us: i64,
    ) -> Result<Outcome, SessionError> {
        session.start(Batch::First(Access::Write));
        self.queue(session, Step::Labels, |params| {
            put_district(params, payment.district);
        });
        self.queue_find(session, payment.customer_district, &payment.customer);
        session.exchange().await?;
        let c_id = customer_id(session, &payment.customer, 1)?;
        let label = read_label(session)?;
        session.start(Batch::Last);
        self.queue_paying(session, payment, c_id);
        self.queue(session, Step::WriteHistory, |params| {
            put_district(params, payment.customer_district);
            params.int4(c_id);
            put_district(params, payment.district);
            params.timestamp(date_us);
            params.cents(payment.amount_cents);
            params.text(&label);
        });
        let answer = session.exchange().await?;
        match answer.affected(0) {
            1 => Ok(Outcome::Committed),
            _ => Err(SessionError::unexpected("a customer is missing")),
        }
    }

    fn queue_paying(&self, session: &mut impl Session, payment: &Payment, c_id: i32) {
        self.queue(session, Step::Pay, |params| {
            put_district(params, payment.customer_district);
            params.int4(c_id);
            params.cents(payment.amount_cents);
            put_district(params, payment.district);
        });
        self.queue(session, Step::PayDistrict, |params| {
            put_district(params, payment.district);
            params.cents(payment.amount_cents);
        });
        // The row that most others wait for comes last, so that it is locked for the shortest time.
        self.queue(session, Step::PayWarehouse, |params| {
            params.int4(payment.district.w_id);
            params.cents(payment.amount_cents);
        });
    }
}

/// H_DATA: the names of warehouse and district.
fn read_label(session: &impl Session) -> Result<Vec<u8>, SessionError> {
    let row = session.answer().first(0);
    let names = row.and_then(|row| Some([row.bytes(0)?, GAP, row.bytes(1)?].concat()));
    names.ok_or_else(|| SessionError::unexpected("a district is missing"))
}
