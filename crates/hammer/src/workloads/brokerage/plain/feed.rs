//! Prices of the exchange in two batches: the prices with the orders before them whose limits they reach, which are
//! then submitted.

use super::super::input::Tick;
use super::super::population::Population;
use super::super::statements::Shown;
use super::super::transactions::Prepared;
use super::Step;
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError};

impl Prepared {
    pub(super) async fn take_feed(
        self,
        session: &mut impl Session,
        population: &Population,
        ticks: &[Tick],
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        session.start(Batch::First(Access::Write));
        for tick in ticks {
            let symbol = population.symbol(tick.security);
            self.queue_step(session, Step::Quote, |params| {
                params.text(&symbol);
                params.int8(tick.price_cents);
                params.int4(tick.quantity as i32);
                params.timestamp(date_us);
            });
            self.queue_step(session, Step::TakeReached, |params| {
                params.text(&symbol);
                params.int8(tick.price_cents);
                params.timestamp(date_us);
            });
        }
        let answer = session.exchange().await?;
        let steps = (1..2 * ticks.len() as u16).step_by(2);
        let reached: Vec<i64> = steps
            .flat_map(|step| answer.rows(step).filter_map(|row| row.integer(0)))
            .collect();
        session.start(Batch::Last);
        for id in &reached {
            self.queue_step(session, Step::Submit, |params| {
                params.int8(*id);
                params.timestamp(date_us);
            });
            self.queue_state(session, *id, date_us, "SBMT");
        }
        session.exchange().await?;
        Ok(Shown {
            reached,
            ..Shown::default()
        })
    }
}
