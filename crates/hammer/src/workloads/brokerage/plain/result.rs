//! What the exchange has done with an order, in three batches: the order, what the account holds, and all changes.
//! The broker, for whom most others wait where an engine has several writers, is changed last.

use super::super::fees::{commission_cents, tax_cents};
use super::super::input::Execution;
use super::super::statements::Shown;
use super::super::transactions::Prepared;
use super::lots::{read_lots, use_lots, Used};
use super::Step;
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError};

const DAY_US: i64 = 86_400_000_000;
/// Between a trade and its settlement.
const DUE_US: i64 = 2 * DAY_US;

/// The order, as the first batch told of it.
struct Deal {
    account: i64,
    kind: Vec<u8>,
    symbol: Vec<u8>,
    quantity: i64,
    charge_cents: i64,
    is_lifo: bool,
    is_cash: bool,
    /// 1 for a buy, -1 for a sell.
    sign: i64,
    name: String,
    broker: i64,
    customer: i64,
    tax_status: i64,
    tier: i64,
    exchange: Vec<u8>,
}

/// What follows from what the account holds.
struct Outcome {
    /// None where it holds nothing of the security.
    held: Option<i64>,
    used: Used,
    tax_cents: i64,
    commission_cents: i64,
    amount_cents: i64,
}

impl Prepared {
    pub(super) async fn complete(
        self,
        session: &mut impl Session,
        done: &Execution,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        session.start(Batch::First(Access::Write));
        self.queue_step(session, Step::Deal, |params| params.int8(done.id));
        let deal = read_deal(session.exchange().await?)?;
        session.start(Batch::Middle);
        self.queue_position(session, &deal);
        let outcome = work_out(session.exchange().await?, &deal, done.price_cents)?;
        session.start(Batch::Last);
        self.queue_holdings(session, done, &deal, &outcome, date_us);
        self.queue_settlement(session, done, &deal, &outcome, date_us);
        session.exchange().await?;
        Ok(Shown::default())
    }

    fn queue_position(self, session: &mut impl Session, deal: &Deal) {
        self.queue_summary(session, Step::Held, deal, None);
        self.queue_step(session, Step::Rate, |params| {
            params.int8(deal.tier);
            params.text(&deal.kind);
            params.text(&deal.exchange);
            params.int8(deal.quantity);
        });
        self.queue_step(session, Step::Lots, |params| {
            params.int8(deal.account);
            params.text(&deal.symbol);
            params.boolean(deal.is_lifo);
            params.int8(deal.sign);
        });
        if deal.tax_status > 0 {
            self.queue_step(session, Step::TaxRate, |params| params.int8(deal.customer));
        }
    }

    /// Reads or changes what the account holds of the security in all.
    fn queue_summary(
        self,
        session: &mut impl Session,
        step: Step,
        deal: &Deal,
        quantity: Option<i64>,
    ) {
        self.queue_step(session, step, |params| {
            params.int8(deal.account);
            params.text(&deal.symbol);
            if let Some(quantity) = quantity {
                params.int8(quantity);
            }
        });
    }

    /// A summary is there before its first holding, and goes after its last.
    fn queue_holdings(
        self,
        session: &mut impl Session,
        done: &Execution,
        deal: &Deal,
        outcome: &Outcome,
        date_us: i64,
    ) {
        let traded = deal.sign * deal.quantity;
        let left = outcome.held.unwrap_or(0) + traded;
        match outcome.held {
            None => self.queue_summary(session, Step::WriteSummary, deal, Some(left)),
            Some(_) if left != 0 => {
                self.queue_summary(session, Step::ChangeSummary, deal, Some(left));
            }
            Some(_) => {}
        }
        for change in &outcome.used.changes {
            match change.after {
                0 => self.queue_step(session, Step::DropLot, |params| params.int8(change.holding)),
                after => self.queue_step(session, Step::ChangeLot, |params| {
                    params.int8(change.holding);
                    params.int8(after);
                }),
            }
            self.queue_change(
                session,
                done.id,
                [change.holding, change.before, change.after],
            );
        }
        if outcome.used.rest > 0 {
            let quantity = deal.sign * outcome.used.rest;
            self.queue_step(session, Step::WriteLot, |params| {
                params.int8(done.id);
                params.int8(deal.account);
                params.text(&deal.symbol);
                params.timestamp(date_us);
                params.int8(done.price_cents);
                params.int8(quantity);
            });
            self.queue_change(session, done.id, [done.id, 0, quantity]);
        }
        if outcome.held.is_some() && left == 0 {
            self.queue_summary(session, Step::DropSummary, deal, None);
        }
    }

    fn queue_change(self, session: &mut impl Session, id: i64, change: [i64; 3]) {
        self.queue_step(session, Step::WriteChange, |params| {
            params.int8(id);
            for number in change {
                params.int8(number);
            }
        });
    }

    fn queue_settlement(
        self,
        session: &mut impl Session,
        done: &Execution,
        deal: &Deal,
        outcome: &Outcome,
        date_us: i64,
    ) {
        self.queue_step(session, Step::Complete, |params| {
            params.int8(done.id);
            params.int8(outcome.commission_cents);
            params.int8(outcome.tax_cents);
            params.timestamp(date_us);
            params.int8(done.price_cents);
        });
        self.queue_state(session, done.id, date_us, "CMPT");
        self.queue_step(session, Step::Settle, |params| {
            params.int8(done.id);
            params.text(if deal.is_cash {
                b"Cash Account"
            } else {
                b"Margin"
            });
            params.int8((date_us + DUE_US).div_euclid(DAY_US));
            params.int8(outcome.amount_cents);
        });
        if deal.is_cash {
            self.queue_step(session, Step::Pay, |params| {
                params.int8(deal.account);
                params.int8(outcome.amount_cents);
            });
            let symbol = String::from_utf8_lossy(&deal.symbol);
            let text = format!("{} {} shares of {symbol}", deal.name, deal.quantity);
            self.queue_step(session, Step::WriteCash, |params| {
                params.int8(done.id);
                params.timestamp(date_us);
                params.int8(outcome.amount_cents);
                params.text(text.as_bytes());
            });
        }
        self.queue_step(session, Step::Credit, |params| {
            params.int8(deal.broker);
            params.int8(outcome.commission_cents);
        });
    }
}

fn read_deal(answer: &impl Answer) -> Result<Deal, SessionError> {
    let read = || {
        let row = answer.first(0)?;
        Some(Deal {
            account: row.integer(0)?,
            kind: row.bytes(1)?.to_vec(),
            symbol: row.bytes(2)?.to_vec(),
            quantity: row.integer(3)?,
            charge_cents: row.cents(4)?,
            is_lifo: row.integer(5)? == 1,
            is_cash: row.integer(6)? == 1,
            sign: if row.integer(7)? == 1 { -1 } else { 1 },
            name: String::from_utf8_lossy(row.bytes(8)?).into_owned(),
            broker: row.integer(9)?,
            customer: row.integer(10)?,
            tax_status: row.integer(11)?,
            tier: row.integer(12)?,
            exchange: row.bytes(13)?.to_vec(),
        })
    };
    read().ok_or_else(|| SessionError::unexpected("a trade was not submitted"))
}

fn work_out(answer: &impl Answer, deal: &Deal, price_cents: i64) -> Result<Outcome, SessionError> {
    let first = |step| answer.first(step).and_then(|row| row.cents(0));
    let rate = first(1).ok_or_else(|| SessionError::unexpected("a commission rate is missing"))?;
    let used = use_lots(read_lots(answer, 2), deal.quantity, deal.sign, price_cents);
    let tax_cents = tax_cents(used.gain_cents, first(3).unwrap_or(0));
    let commission_cents = commission_cents(rate, deal.quantity, price_cents);
    let withheld_cents = if deal.tax_status == 1 { tax_cents } else { 0 };
    Ok(Outcome {
        held: answer.first(0).and_then(|row| row.integer(0)),
        used,
        tax_cents,
        commission_cents,
        amount_cents: -deal.sign * deal.quantity * price_cents
            - deal.charge_cents
            - commission_cents
            - withheld_cents,
    })
}
