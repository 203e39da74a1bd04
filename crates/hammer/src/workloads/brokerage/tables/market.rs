//! Companies and their figures, securities and their prices, news.

use super::super::names;
use super::super::population::{
    business_day, EXCHANGES, MARKET_DAYS, MARKET_FIRST_DAY, PRICE_PERIOD_S, UNIT_COMPANIES,
    UNIT_SECURITIES,
};
use super::super::random::{Domain, Rng};
use super::customers::company_address;
use super::fixed::{exchange_id, industry_of};
use super::Slice;
use crate::loading::Rows;

/// Days from the start of 1800 to that of 2000.
const SINCE_1800: u32 = 73_048;
/// The same from 1900.
const SINCE_1900: u32 = 36_524;
/// News of a company.
const COMPANY_NEWS: u64 = 2;
/// Letters of the longest and the shortest article.
const ARTICLE: std::ops::RangeInclusive<u32> = 1_000..=100_000;

/// Name of a company, from 0.
pub fn company_name(company: u64) -> String {
    format!("{} Works", names::unique(company))
}

pub(super) fn company(slice: &Slice<'_>, rows: &mut Rows) {
    for number in slice.things(UNIT_COMPANIES, 1) {
        let mut rng = slice.population.rng(Domain::Company, number);
        let (first, last) = names::person(&mut rng);
        rows.begin(9);
        rows.int8(number as i64 + 1);
        rows.str(b"ACTV");
        rows.str(company_name(number).as_bytes());
        rows.str(&industry_of(number));
        rows.str(&rating(rng.uniform(0, 38)));
        rows.str(format!("{first} {last}").as_bytes());
        rows.int8(company_address(number));
        rows.text(&mut rng, 60..=150);
        rows.date(-(rng.uniform(0, SINCE_1800) as i32));
    }
}

/// One of 39 ratings: `A1+` to `M3`, with a sign.
fn rating(number: u32) -> [u8; 3] {
    [b'A' + (number / 3) as u8, b'1' + (number % 3) as u8, b'+']
}

/// The next three companies of the same load unit.
pub(super) fn company_competitor(slice: &Slice<'_>, rows: &mut Rows) {
    for number in slice.things(UNIT_COMPANIES, 1) {
        let first = slice.unit * UNIT_COMPANIES;
        let next = |step: u64| first + (number - first + step) % UNIT_COMPANIES;
        let mut competitors = [1, 2, 3].map(next);
        competitors.sort_unstable();
        for competitor in competitors {
            rows.begin(3);
            rows.int8(number as i64 + 1);
            rows.int8(competitor as i64 + 1);
            rows.str(&industry_of(competitor));
        }
    }
}

/// 20 quarters, 2000 to 2004.
pub(super) fn financial(slice: &Slice<'_>, rows: &mut Rows) {
    for number in slice.things(UNIT_COMPANIES, 5) {
        let mut rng = Rng::of(slice.population.seed, Domain::Company, number, 1);
        let shares = 4_000_000 + rng.below(500_000_000) as i64;
        for quarter in 0..20_u32 {
            let (year, within) = (2000 + quarter / 4, quarter % 4);
            let (years, is_leap) = ((year - 2000) as i32, year % 4 == 0);
            let quarters = if is_leap {
                [0, 91, 182, 274]
            } else {
                [0, 90, 181, 273]
            };
            let start = 365 * years + i32::from(years > 0) + quarters[within as usize];
            let revenue = 100_000_000 + rng.below(100_000_000_000) as i64;
            let earned = revenue / 100 * i64::from(rng.uniform(1, 30));
            rows.begin(14);
            rows.int8(number as i64 + 1);
            rows.int4(year);
            rows.int2(within as i16 + 1);
            rows.date(start);
            rows.cents(revenue);
            rows.cents(earned);
            rows.cents(earned / shares);
            rows.cents(earned / (shares + shares / 10));
            rows.cents(100 * earned / revenue);
            for part in [3, 1, 2] {
                rows.cents(revenue / part);
            }
            rows.int8(shares);
            rows.int8(shares + shares / 10);
        }
    }
}

pub(super) fn security(slice: &Slice<'_>, rows: &mut Rows) {
    let population = slice.population;
    for number in population.by_symbol(slice.things(UNIT_SECURITIES, 1)) {
        let mut rng = Rng::of(population.seed, Domain::Security, number, 1);
        let (company, issue) = population.issue_of(number);
        let swing = population.swing(number);
        let start = rng.uniform(1_000, SINCE_1900) as i32;
        let day = |rng: &mut Rng| 1_461 + rng.uniform(0, 360) as i32;
        rows.begin(16);
        rows.str(&population.symbol(number));
        rows.str(issue_name(issue).as_bytes());
        rows.str(b"ACTV");
        rows.str(format!("{} {}", issue_name(issue), company_name(company)).as_bytes());
        rows.str(exchange_id(number % EXCHANGES).as_bytes());
        rows.int8(company as i64 + 1);
        rows.int8(4_000_000 + rng.below(9_496_000_000) as i64);
        rows.date(-start);
        rows.date(-start + rng.uniform(0, 1_000) as i32);
        rows.cents(rng.uniform(100, 12_000).into());
        rows.cents((swing.mid_cents + swing.half_cents).round() as i64);
        rows.date(day(&mut rng));
        rows.cents((swing.mid_cents - swing.half_cents).round() as i64);
        rows.date(day(&mut rng));
        rows.cents(rng.uniform(0, 1_000).into());
        rows.cents(rng.uniform(0, 1_200).into());
    }
}

/// What an issue of a company is called, from 0.
pub fn issue_name(issue: u64) -> &'static str {
    ["COMMON", "PREF_A", "PREF_B", "PREF_C", "PREF_D"][issue as usize]
}

pub(super) fn last_trade(slice: &Slice<'_>, rows: &mut Rows) {
    let population = slice.population;
    let at_us = population.loaded_until_us();
    for number in population.by_symbol(slice.things(UNIT_SECURITIES, 1)) {
        let price = population.price_cents(number, at_us as f64 / 1e6, PRICE_PERIOD_S);
        rows.begin(5);
        rows.str(&population.symbol(number));
        rows.timestamp(at_us);
        rows.cents(price);
        rows.cents(price);
        rows.int8(0);
    }
}

/// Every business day of 2000 to 2004.
pub(super) fn daily_market(slice: &Slice<'_>, rows: &mut Rows) {
    let population = slice.population;
    for number in population.by_symbol(slice.things(UNIT_SECURITIES, 137)) {
        let (symbol, swing) = (population.symbol(number), population.swing(number));
        let mut rng = population.rng(Domain::Market, number);
        let cents = |share: f64| (swing.mid_cents + swing.half_cents * share).round() as i64;
        for day in 0..MARKET_DAYS {
            let mut shares = [0; 3].map(|_| 2.0 * rng.share() - 1.0);
            shares.sort_by(f64::total_cmp);
            rows.begin(6);
            rows.str(&symbol);
            rows.date(business_day(MARKET_FIRST_DAY, day) as i32);
            rows.cents(cents(shares[1]));
            rows.cents(cents(shares[2]));
            rows.cents(cents(shares[0]));
            rows.int8(rng.uniform(1_000, 10_000_000).into());
        }
    }
}

pub(super) fn news_item(slice: &Slice<'_>, rows: &mut Rows) {
    for number in slice.things(COMPANY_NEWS * UNIT_COMPANIES, 50) {
        let mut rng = slice.population.rng(Domain::News, number);
        let (first, last) = names::person(&mut rng);
        rows.begin(7);
        rows.int8(number as i64 + 1);
        rows.text(&mut rng, 40..=80);
        rows.text(&mut rng, 150..=255);
        rows.text(&mut rng, ARTICLE);
        rows.timestamp(slice.population.loaded_until_us() - rng.below(1 << 42) as i64);
        rows.str(names::word(rng.below(50)).as_bytes());
        rows.str(format!("{first} {last}").as_bytes());
    }
}

pub(super) fn news_xref(slice: &Slice<'_>, rows: &mut Rows) {
    for number in slice.things(COMPANY_NEWS * UNIT_COMPANIES, 1) {
        rows.begin(2);
        rows.int8((number / COMPANY_NEWS) as i64 + 1);
        rows.int8(number as i64 + 1);
    }
}
