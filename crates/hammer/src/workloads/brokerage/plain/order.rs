//! A new order in three batches: who and what, what it would cost and gain, and the order itself.

use super::super::fees::commission_cents;
use super::super::input::Order;
use super::super::population::Population;
use super::super::statements::Shown;
use super::super::tables::{company_name, issue_name, person};
use super::super::transactions::Prepared;
use super::Step;
use crate::engines::{Access, Answer, Batch, Params, Row, Session, SessionError};

/// What the first batch told.
struct Parties {
    broker: i64,
    customer: i64,
    is_taxable: bool,
    tier: i64,
    executor: Vec<u8>,
    symbol: Vec<u8>,
    exchange: Vec<u8>,
    price_cents: i64,
}

impl Prepared {
    pub(super) async fn place_order(
        self,
        session: &mut impl Session,
        population: &Population,
        order: &Order,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        session.start(Batch::First(Access::Write));
        self.queue_parties(session, population, order);
        let parties = read_parties(session.exchange().await?, order)?;
        session.start(Batch::Middle);
        self.queue_terms(session, order, &parties);
        let (rate, charge_cents) = read_terms(session.exchange().await?)?;
        session.start(match order.rolls_back {
            true => Batch::Middle,
            false => Batch::Last,
        });
        let commission = commission_cents(rate, order.quantity.into(), parties.price_cents);
        self.queue_trade(
            session,
            order,
            &parties,
            [charge_cents, commission],
            date_us,
        );
        session.exchange().await?;
        if order.rolls_back {
            session.roll_back().await?;
        }
        Ok(Shown {
            rolled_back: order.rolls_back,
            price_cents: parties.price_cents,
            ..Shown::default()
        })
    }

    fn queue_parties(self, session: &mut impl Session, population: &Population, order: &Order) {
        let account = order.account.number as i64 + 1;
        self.queue_step(session, Step::Account, |params| params.int8(account));
        if order.by_company {
            let (company, issue) = population.issue_of(order.security);
            self.queue_step(session, Step::ByCompany, |params| {
                params.text(company_name(company).as_bytes());
                params.text(issue_name(issue).as_bytes());
            });
        } else {
            self.queue_step(session, Step::BySymbol, |params| {
                params.text(&population.symbol(order.security));
            });
        }
        self.queue_step(session, Step::Kind, |params| {
            params.text(order.kind.id().as_bytes());
        });
        if let Some(executor) = order.executor {
            let (first, last) = person(population, executor);
            self.queue_step(session, Step::Executor, |params| {
                params.int8(account);
                params.text(&population.tax_number(executor));
                params.text(last.as_bytes());
                params.text(first.as_bytes());
            });
        }
    }

    /// What a customer is told of before it decides: rate and charge, which holdings it would use, its tax rate, and
    /// what the account is worth where it buys on margin.
    fn queue_terms(self, session: &mut impl Session, order: &Order, parties: &Parties) {
        let account = order.account.number as i64 + 1;
        self.queue_step(session, Step::Rate, |params| {
            params.int8(parties.tier);
            params.text(order.kind.id().as_bytes());
            params.text(&parties.exchange);
            params.int4(order.quantity as i32);
        });
        self.queue_step(session, Step::Charge, |params| {
            params.text(order.kind.id().as_bytes());
            params.int8(parties.tier);
        });
        self.queue_step(session, Step::Lots, |params| {
            params.int8(account);
            params.text(&parties.symbol);
            params.boolean(order.is_lifo);
            params.int2(if order.kind.is_sell() { -1 } else { 1 });
        });
        if parties.is_taxable {
            self.queue_step(session, Step::TaxRate, |params| {
                params.int8(parties.customer);
            });
        }
        if !order.is_cash {
            self.queue_step(session, Step::Assets, |params| params.int8(account));
        }
    }

    fn queue_trade(
        self,
        session: &mut impl Session,
        order: &Order,
        parties: &Parties,
        cents: [i64; 2],
        date_us: i64,
    ) {
        let state = match order.kind.is_market() {
            true => "SBMT",
            false => "PNDG",
        };
        self.queue_step(session, Step::WriteTrade, |params| {
            params.int8(order.id);
            params.timestamp(date_us);
            params.text(state.as_bytes());
            params.text(order.kind.id().as_bytes());
            params.boolean(order.is_cash);
            params.text(&parties.symbol);
            params.int4(order.quantity as i32);
            params.int8(parties.price_cents);
            params.int8(order.account.number as i64 + 1);
            params.text(&parties.executor);
            for amount in cents {
                params.int8(amount);
            }
            params.boolean(order.is_lifo);
        });
        if !order.kind.is_market() {
            self.queue_step(session, Step::WriteRequest, |params| {
                params.int8(order.id);
                params.text(order.kind.id().as_bytes());
                params.text(&parties.symbol);
                params.int4(order.quantity as i32);
                params.int8(parties.price_cents);
                params.int8(parties.broker);
            });
        }
        self.queue_state(session, order.id, date_us, state);
    }
}

fn read_parties(answer: &impl Answer, order: &Order) -> Result<Parties, SessionError> {
    let read = || {
        let (account, stock) = (answer.first(0)?, answer.first(1)?);
        let is_market = answer.first(2)?.integer(1)? == 1;
        Some(Parties {
            broker: account.integer(1)?,
            customer: account.integer(2)?,
            is_taxable: account.integer(3)? > 0,
            tier: account.integer(4)?,
            executor: match order.executor {
                Some(_) => answer.first(3)?.bytes(0)?.to_vec(),
                None => account.bytes(5)?.to_vec(),
            },
            symbol: stock.bytes(0)?.to_vec(),
            exchange: stock.bytes(1)?.to_vec(),
            price_cents: match is_market {
                true => stock.cents(4)?,
                false => order.limit_cents,
            },
        })
    };
    read().ok_or_else(|| {
        SessionError::unexpected("an account, its executor or a security is missing")
    })
}

/// Commission rate in hundredths of a per cent, charge in hundredths.
fn read_terms(answer: &impl Answer) -> Result<(i64, i64), SessionError> {
    let cents = |step| answer.first(step).and_then(|row| row.cents(0));
    let terms = cents(0).zip(cents(1));
    terms.ok_or_else(|| SessionError::unexpected("a commission rate or a charge is missing"))
}
