//! The transactions as server-side procedures: one round trip each, all random numbers drawn here.

use std::fmt::Write;

use stithy_measure::Outcome;

use super::input::{Customer, Input, NewOrder};
use super::output::Shown;
use super::plain::put_district;
use crate::engines::{Answer, Batch, Params, Row, Session, SessionError, Statement};

/// Calls of an engine's procedures.
#[derive(Debug)]
pub struct Calls {
    /// In the order of the transactions.
    pub texts: [&'static str; 5],
    /// How a new order gets its lines.
    pub lines: Lines,
    /// Whose is the transaction in which a procedure works.
    pub transaction: Transaction,
}

/// How a new order gets its lines.
#[derive(Debug, Clone, Copy)]
pub enum Lines {
    /// Lists of items, supplying warehouses, quantities and passes.
    Lists,
    /// One text of JSON, `[[item, warehouse, quantity, pass, number], …]`, and how many lines there are.
    Json,
}

/// Whose is the transaction in which a procedure works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// The caller's, who commits it or rolls it back.
    OfTheCaller,
    /// The procedure's own: it has ended with the call.
    OfTheProcedure,
}

/// The prepared calls of one session.
#[derive(Debug, Clone, Copy)]
pub struct Procedures {
    prepared: [Statement; 5],
    calls: &'static Calls,
}

impl Procedures {
    /// Prepares the calls.
    pub async fn prepare(
        session: &mut impl Session,
        calls: &'static Calls,
    ) -> Result<Self, SessionError> {
        let prepared = session.prepare(&calls.texts).await?.try_into();
        let prepared = prepared.expect("each call is prepared once");
        Ok(Procedures { prepared, calls })
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
        let callers = self.calls.transaction == Transaction::OfTheCaller;
        session.start(match callers {
            true => Batch::First(order.access()),
            false => Batch::Whole(order.access()),
        });
        self.queue(session, order, date_us);
        let answer = session.exchange().await?;
        let order_id = answer.first(0).and_then(|row| row.integer(0));
        if callers {
            session.roll_back().await?;
        }
        match order_id {
            None => Ok(Outcome::RolledBack.into()),
            Some(_) => Err(SessionError::unexpected(
                "an item that must be unused is in use",
            )),
        }
    }

    fn queue(&self, session: &mut impl Session, input: &Input, date_us: i64) {
        session.queue(self.prepared[input.kind()], |params| match input {
            Input::NewOrder(order) => put_new_order(params, self.calls.lines, order, date_us),
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

fn put_new_order(params: &mut impl Params, lines: Lines, order: &NewOrder, date_us: i64) {
    let (passes, last_pass) = order.passes();
    put_district(params, order.district);
    params.int4(order.c_id);
    params.timestamp(date_us);
    params.int2(order.all_local().into());
    match lines {
        Lines::Lists => {
            params.int4_list(order.lines.iter().map(|line| line.i_id));
            params.int4_list(order.lines.iter().map(|line| line.supply_w_id));
            params.int2_list(order.lines.iter().map(|line| line.quantity));
            params.int2_list(passes[..order.lines.len()].iter().copied());
        }
        Lines::Json => {
            params.text(json_lines(order, &passes).as_bytes());
            params.int2(order.lines.len() as i16);
        }
    }
    params.int2(last_pass);
    params.boolean(order.unused_item);
}

/// Item, supplying warehouse, quantity, pass and number of each line.
fn json_lines(order: &NewOrder, passes: &[i16]) -> String {
    let mut text = String::with_capacity(32 * order.lines.len());
    for ((line, pass), number) in order.lines.iter().zip(passes).zip(1..) {
        let begin = if text.is_empty() { '[' } else { ',' };
        let (i_id, w_id, quantity) = (line.i_id, line.supply_w_id, line.quantity);
        let _ = write!(text, "{begin}[{i_id},{w_id},{quantity},{pass},{number}]");
    }
    text.push(']');
    text
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

#[cfg(test)]
mod tests {
    use super::super::input::{District, Line};
    use super::*;

    /// Each line with its pass, which counts up where the same stock comes again.
    #[test]
    fn lines_are_json() {
        let line = |i_id, quantity| Line {
            supply_w_id: 12,
            i_id,
            quantity,
        };
        let order = NewOrder {
            district: District { w_id: 1, d_id: 1 },
            c_id: 1,
            lines: [line(7, 10), line(7, 2), line(99_999, 1)]
                .into_iter()
                .collect(),
            unused_item: false,
        };
        let (passes, _) = order.passes();
        let expected = "[[7,12,10,0,1],[7,12,2,1,2],[99999,12,1,0,3]]";
        assert_eq!(expected, json_lines(&order, &passes));
    }
}
