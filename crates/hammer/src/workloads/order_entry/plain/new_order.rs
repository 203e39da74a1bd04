//! A new order (clause 2.4) in two batches: what it takes, then what it writes.

use stithy_measure::Outcome;

use super::super::input::NewOrder;
use super::super::output::Shown;
use super::{put_district, Plain, Step};
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError};

/// What the first batch learned.
struct Taken {
    o_id: i32,
    /// None where an item is unused.
    lines: Option<Vec<TakenLine>>,
}

struct TakenLine {
    amount_cents: u32,
    /// The text of the district.
    dist_info: Vec<u8>,
    /// Whether the texts of item and stock both say [`ORIGINAL`].
    brand: bool,
}

const ORIGINAL: &[u8] = b"ORIGINAL";

/// Places of the answers in the first batch: number, rates, then price and stock a line.
const NUMBER_AT: u16 = 0;
const LINES_AT: u16 = 2;

impl Plain {
    pub(super) async fn new_order(
        &self,
        session: &mut impl Session,
        order: &NewOrder,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        self.queue_taking(session, order);
        session.exchange().await?;
        let taken = read_taken(session, order)?;
        let Some(lines) = taken.lines else {
            session.roll_back().await?;
            return Ok(Outcome::RolledBack.into());
        };
        session.start(Batch::Last);
        self.queue_order(session, order, taken.o_id, date_us);
        let mut shown = Shown::from(Outcome::Committed);
        for (number, line) in (0..).zip(&lines) {
            self.queue_line(session, order, taken.o_id, number, line);
            shown.brand_lines |= u16::from(line.brand) << number;
        }
        session.exchange().await?;
        Ok(shown)
    }

    fn queue_taking(&self, session: &mut impl Session, order: &NewOrder) {
        session.start(Batch::First(Access::Write));
        self.queue(session, Step::TakeNumber, |params| {
            put_district(params, order.district);
        });
        self.queue(session, Step::Rates, |params| {
            put_district(params, order.district);
            params.int4(order.c_id);
        });
        for line in order.lines.iter() {
            self.queue(session, Step::Price, |params| params.int4(line.i_id));
            self.queue(session, Step::TakeStock, |params| {
                params.int4(line.supply_w_id);
                params.int4(line.i_id);
                params.int2(line.quantity);
                params.int4((line.supply_w_id != order.district.w_id).into());
                params.int2(order.district.d_id);
            });
        }
    }

    fn queue_order(&self, session: &mut impl Session, order: &NewOrder, o_id: i32, date_us: i64) {
        self.queue(session, Step::WriteOrder, |params| {
            put_district(params, order.district);
            params.int4(o_id);
            params.int4(order.c_id);
            params.timestamp(date_us);
            params.int2(order.lines.len() as i16);
            params.int2(order.all_local().into());
        });
        self.queue(session, Step::WriteWaiting, |params| {
            put_district(params, order.district);
            params.int4(o_id);
        });
    }

    fn queue_line(
        &self,
        session: &mut impl Session,
        order: &NewOrder,
        o_id: i32,
        number: usize,
        taken: &TakenLine,
    ) {
        let line = order.lines[number];
        self.queue(session, Step::WriteLine, |params| {
            put_district(params, order.district);
            params.int4(o_id);
            params.int2(number as i16 + 1);
            params.int4(line.i_id);
            params.int4(line.supply_w_id);
            params.int2(line.quantity);
            params.cents(taken.amount_cents);
            params.text(&taken.dist_info);
        });
    }
}

fn says_original(text: &[u8]) -> bool {
    text.windows(ORIGINAL.len()).any(|part| part == ORIGINAL)
}

fn read_taken(session: &impl Session, order: &NewOrder) -> Result<Taken, SessionError> {
    let answer = session.answer();
    let number = answer.first(NUMBER_AT).and_then(|row| row.integer(0));
    let o_id = number.and_then(|o_id| i32::try_from(o_id).ok());
    let lines = (LINES_AT..)
        .step_by(2)
        .zip(order.lines.iter())
        .map(|(at, line)| {
            let (item, stock) = (answer.first(at)?, answer.first(at + 1)?);
            let price_cents = u32::try_from(item.cents(0)?).ok()?;
            Some(TakenLine {
                amount_cents: price_cents * u32::from(line.quantity.unsigned_abs()),
                dist_info: stock.bytes(0)?.to_vec(),
                brand: says_original(stock.bytes(1)?) && says_original(item.bytes(1)?),
            })
        });
    Ok(Taken {
        o_id: o_id.ok_or_else(|| SessionError::unexpected("a district is missing"))?,
        lines: lines.collect(),
    })
}
