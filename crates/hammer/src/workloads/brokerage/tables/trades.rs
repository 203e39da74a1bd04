//! The initial trades with their children, what accounts hold and have of them, and what brokers earned.

use super::super::history::History;
use super::super::history::{Holding, Trade};
use super::super::names;
use super::super::population::{UNIT_ACCOUNTS, UNIT_BROKERS};
use super::customers::person;
use super::Slice;
use crate::loading::Rows;

const DAY_US: i64 = 86_400_000_000;

pub(super) fn trade(slice: &Slice<'_>, rows: &mut Rows) {
    let population = slice.population;
    slice.each_trade(|trade| {
        rows.begin(15);
        rows.int8(trade.id);
        rows.timestamp(trade.at_us);
        rows.str(b"CMPT");
        rows.str(trade.kind.id().as_bytes());
        rows.int2(trade.is_cash.into());
        rows.str(&population.symbol(trade.security));
        rows.int4(trade.quantity as u32);
        rows.cents(trade.price_cents);
        rows.int8(trade.account.number as i64 + 1);
        let (first, last) = person(population, trade.account.customer);
        rows.written(|out| out.extend_from_slice(format!("{first} {last}").as_bytes()));
        for amount in [
            trade.price_cents,
            trade.charge_cents,
            trade.commission_cents,
            trade.tax_cents,
        ] {
            rows.cents(amount);
        }
        rows.int2(trade.is_lifo.into());
    });
}

/// Two or three rows a trade, in the order of their states' letters.
pub(super) fn trade_history(slice: &Slice<'_>, rows: &mut Rows) {
    slice.each_trade(|trade| {
        let pending = (!trade.kind.is_market()).then_some(("PNDG", trade.ordered_us));
        let states = [
            Some(("CMPT", trade.at_us)),
            pending,
            Some(("SBMT", trade.sent_us)),
        ];
        for (state, at_us) in states.into_iter().flatten() {
            rows.begin(3);
            rows.int8(trade.id);
            rows.timestamp(at_us);
            rows.str(state.as_bytes());
        }
    });
}

/// Empty at load.
pub(super) fn trade_request(_: &Slice<'_>, _: &mut Rows) {}

/// How a trade was paid.
fn cash_type(trade: &Trade) -> &'static str {
    match trade.is_cash {
        true => "Cash Account",
        false => "Margin",
    }
}

pub(super) fn settlement(slice: &Slice<'_>, rows: &mut Rows) {
    slice.each_trade(|trade| {
        rows.begin(4);
        rows.int8(trade.id);
        rows.str(cash_type(trade).as_bytes());
        rows.date((trade.at_us / DAY_US) as i32 + 2);
        rows.cents(trade.amount_cents);
    });
}

pub(super) fn cash_transaction(slice: &Slice<'_>, rows: &mut Rows) {
    slice.each_trade(|trade| {
        if !trade.is_cash {
            return;
        }
        let (_, _, kind) = super::super::fees::TRADE_TYPES[trade.kind as usize];
        let symbol = slice.population.symbol(trade.security);
        let symbol = std::str::from_utf8(&symbol).unwrap_or_default();
        rows.begin(4);
        rows.int8(trade.id);
        rows.timestamp(trade.at_us);
        rows.cents(trade.amount_cents);
        let text = format!("{kind} {} shares of {symbol}", trade.quantity);
        rows.shaped(|_, out| out.extend_from_slice(text.as_bytes()));
    });
}

pub(super) fn holding_history(slice: &Slice<'_>, rows: &mut Rows) {
    slice.each_trade(|trade| {
        let mut changes = trade.changes.clone();
        changes.sort_unstable_by_key(|change| change.holding);
        for change in changes {
            rows.begin(4);
            rows.int8(trade.id);
            rows.int8(change.holding);
            rows.signed(change.before as i32);
            rows.signed(change.after as i32);
        }
    });
}

fn finished<'a>(slice: &Slice<'a>) -> History<'a> {
    let mut history = History::new(slice.population, slice.unit);
    history.finish().for_each(drop);
    history
}

/// Accounts with the symbols that they hold, in the order of both.
fn held<'a>(slice: &Slice<'_>, history: &'a History<'_>) -> Vec<(i64, [u8; 6], &'a [Holding])> {
    let mut all = Vec::new();
    for within in 0..UNIT_ACCOUNTS {
        let account = (slice.unit * UNIT_ACCOUNTS + within) as i64 + 1;
        let positions = history.positions(within as usize);
        all.extend(
            positions.map(|(security, held)| (account, slice.population.symbol(security), held)),
        );
    }
    all.sort_unstable_by_key(|(account, symbol, _)| (*account, *symbol));
    all
}

pub(super) fn holding_summary(slice: &Slice<'_>, rows: &mut Rows) {
    for (account, symbol, holdings) in held(slice, &finished(slice)) {
        rows.begin(3);
        rows.int8(account);
        rows.str(&symbol);
        rows.signed(holdings.iter().map(|held| held.quantity).sum::<i64>() as i32);
    }
}

pub(super) fn holding(slice: &Slice<'_>, rows: &mut Rows) {
    let history = finished(slice);
    let held = held(slice, &history);
    let each = held.iter().flat_map(|(account, symbol, holdings)| {
        holdings.iter().map(move |held| (held, *account, symbol))
    });
    let mut all: Vec<_> = each.collect();
    all.sort_unstable_by_key(|(held, ..)| held.trade);
    for (held, account, symbol) in all {
        rows.begin(6);
        rows.int8(held.trade);
        rows.int8(account);
        rows.str(symbol);
        rows.timestamp(held.at_us);
        rows.cents(held.price_cents);
        rows.signed(held.quantity as i32);
    }
}

/// The broker of an account, from 1.
fn broker_of(account: u64) -> i64 {
    (account / UNIT_ACCOUNTS * UNIT_BROKERS + account % UNIT_BROKERS) as i64 + 1
}

/// Name of a broker, from 1.
pub fn broker_name(number: u64) -> String {
    names::unique(number + 1_000)
}

pub(super) fn customer_account(slice: &Slice<'_>, rows: &mut Rows) {
    let (population, history) = (slice.population, finished(slice));
    for within in 0..UNIT_ACCOUNTS {
        let account = population.account(slice.unit, within as u16);
        let (first, last) = person(population, account.customer);
        rows.begin(6);
        rows.int8(account.number as i64 + 1);
        rows.int8(broker_of(account.number));
        rows.int8(account.customer as i64 + 1);
        rows.shaped(|_, out| out.extend_from_slice(format!("{first} {last} savings").as_bytes()));
        rows.int2(population.tax_status(account.number).into());
        rows.cents(history.balance_cents(within as usize));
    }
}

pub(super) fn broker(slice: &Slice<'_>, rows: &mut Rows) {
    let mut earned = [(0_u32, 0_i64); UNIT_BROKERS as usize];
    for trade in History::new(slice.population, slice.unit).finish() {
        let (trades, cents) = &mut earned[(trade.account.number % UNIT_BROKERS) as usize];
        *trades += 1;
        *cents += trade.commission_cents;
    }
    for (within, (trades, cents)) in (0..).zip(earned) {
        let number = slice.unit * UNIT_BROKERS + within + 1;
        rows.begin(5);
        rows.int8(number as i64);
        rows.str(b"ACTV");
        rows.str(broker_name(number).as_bytes());
        rows.int4(trades);
        rows.cents(cents);
    }
}
