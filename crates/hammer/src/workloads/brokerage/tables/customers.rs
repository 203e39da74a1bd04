//! Customers, their addresses, taxes, watch lists, and who may act for an account.

use super::super::names;
use super::super::population::{
    Population, EXCHANGES, UNIT_ACCOUNTS, UNIT_COMPANIES, UNIT_CUSTOMERS,
};
use super::super::random::{Domain, Rng};
use super::fixed::{tax_id, ZIP_CODES};
use super::Slice;
use crate::loading::Rows;

/// Addresses of a load unit: customers, then companies; those of exchanges come before all.
const UNIT_ADDRESSES: u64 = UNIT_CUSTOMERS + UNIT_COMPANIES;

/// The address of a company, from 0.
pub fn company_address(company: u64) -> i64 {
    let (unit, within) = (company / UNIT_COMPANIES, company % UNIT_COMPANIES);
    (EXCHANGES + unit * UNIT_ADDRESSES + UNIT_CUSTOMERS + within) as i64 + 1
}

fn customer_address(customer: u64) -> i64 {
    let (unit, within) = (customer / UNIT_CUSTOMERS, customer % UNIT_CUSTOMERS);
    (EXCHANGES + unit * UNIT_ADDRESSES + within) as i64 + 1
}

/// Addresses, of which the first load unit has those of the exchanges as well.
pub(super) fn address(slice: &Slice<'_>, rows: &mut Rows) {
    let first = EXCHANGES + slice.unit * UNIT_ADDRESSES;
    let from = if slice.unit == 0 { 0 } else { first };
    for number in from..first + UNIT_ADDRESSES {
        let mut rng = Rng::of(slice.population.seed, Domain::Fixed, number, 0);
        rows.begin(5);
        rows.int8(number as i64 + 1);
        let house = rng.uniform(1, 9_999);
        let street = names::word(rng.below(2_000));
        rows.shaped(|_, out| out.extend_from_slice(format!("{house} {street} Street").as_bytes()));
        match rng.percent(40) {
            true => rows.text(&mut rng, 6..=12),
            false => rows.null(),
        }
        rows.str(names::zip_code(rng.below(ZIP_CODES)).as_bytes());
        rows.str(if rng.percent(70) {
            b"Faraway"
        } else {
            b"Southby"
        });
    }
}

/// First and last name of a customer.
pub fn person(population: &Population, customer: u64) -> (String, String) {
    names::person(&mut population.rng(Domain::Customer, customer))
}

pub(super) fn customer(slice: &Slice<'_>, rows: &mut Rows) {
    let population = slice.population;
    for number in slice.things(UNIT_CUSTOMERS, 1) {
        let (first, last) = person(population, number);
        let mut rng = Rng::of(population.seed, Domain::Customer, number, 2);
        rows.begin(24);
        rows.int8(number as i64 + 1);
        rows.str(&population.tax_number(number));
        rows.str(b"ACTV");
        rows.str(last.as_bytes());
        rows.str(first.as_bytes());
        rows.written(|out| out.push(b'A' + rng.uniform(0, 25) as u8));
        rows.str(if rng.percent(50) { b"F" } else { b"M" });
        rows.int2(population.tier(number).into());
        rows.date(-(rng.uniform(0, 20_000) as i32));
        rows.int8(customer_address(number));
        for phone in 0..3 {
            rows.str(b"011");
            rows.str(rng.uniform(200, 999).to_string().as_bytes());
            rows.str(rng.uniform(1_000_000, 9_999_999).to_string().as_bytes());
            match phone {
                0 => rows.str(rng.uniform(100, 999).to_string().as_bytes()),
                _ => rows.null(),
            }
        }
        for host in ["mail.example", "post.example"] {
            rows.str(format!("{first}.{last}{number}@{host}").as_bytes());
        }
    }
}

pub(super) fn customer_taxrate(slice: &Slice<'_>, rows: &mut Rows) {
    for number in slice.things(UNIT_CUSTOMERS, 1) {
        let (_, national, regional) = slice.population.taxed(number);
        let mut rates = [tax_id(national), tax_id(regional)];
        rates.sort();
        for rate in rates {
            rows.begin(2);
            rows.int8(number as i64 + 1);
            rows.str(rate.as_bytes());
        }
    }
}

/// The owner, and whoever else may act for the account.
pub(super) fn account_permission(slice: &Slice<'_>, rows: &mut Rows) {
    let population = slice.population;
    for within in 0..UNIT_ACCOUNTS {
        let account = population.account(slice.unit, within as u16);
        let mut people: Vec<u64> = population.deputies(account).collect();
        people.push(account.customer);
        people.sort_by_key(|person| population.tax_number(*person));
        for someone in people {
            let (first, last) = person(population, someone);
            let owner = someone == account.customer;
            rows.begin(5);
            rows.int8(account.number as i64 + 1);
            rows.str(if owner { b"0000" } else { b"0001" });
            rows.str(&population.tax_number(someone));
            rows.str(last.as_bytes());
            rows.str(first.as_bytes());
        }
    }
}

pub(super) fn watch_list(slice: &Slice<'_>, rows: &mut Rows) {
    for number in slice.things(UNIT_CUSTOMERS, 1) {
        rows.begin(2);
        rows.int8(number as i64 + 1);
        rows.int8(number as i64 + 1);
    }
}

/// 50 to 150 securities a list: a stretch of the shuffled ones.
pub(super) fn watch_item(slice: &Slice<'_>, rows: &mut Rows) {
    let population = slice.population;
    for number in slice.things(UNIT_CUSTOMERS, 10) {
        let mut rng = population.rng(Domain::Watch, number);
        let count = u64::from(rng.uniform(50, 150));
        let first = rng.below(population.securities());
        let symbol = |place| population.symbol(population.shuffled(first + place));
        let mut symbols: Vec<[u8; 6]> = (0..count).map(symbol).collect();
        symbols.sort_unstable();
        for symbol in symbols {
            rows.begin(2);
            rows.int8(number as i64 + 1);
            rows.str(&symbol);
        }
    }
}
