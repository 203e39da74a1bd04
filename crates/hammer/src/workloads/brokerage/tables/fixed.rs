//! The nine tables of a fixed size.

use super::super::fees::{charge_cents, commission_rate as rate, QUANTITY_RANGES, TRADE_TYPES};
use super::super::names;
use super::super::population::{
    tax_rate, EXCHANGES, INDUSTRIES, NATIONAL_RATES, REGIONAL_RATES, SECTORS,
};
use super::Slice;
use crate::loading::Rows;

/// Postal codes.
pub const ZIP_CODES: u64 = 14_741;

pub(super) fn status_type(_: &Slice<'_>, rows: &mut Rows) {
    for (id, name) in [
        ("ACTV", "Active"),
        ("CMPT", "Completed"),
        ("CNCL", "Canceled"),
        ("PNDG", "Pending"),
        ("SBMT", "Submitted"),
    ] {
        rows.begin(2);
        rows.str(id.as_bytes());
        rows.str(name.as_bytes());
    }
}

pub(super) fn trade_type(_: &Slice<'_>, rows: &mut Rows) {
    for (kind, id, name) in TRADE_TYPES {
        rows.begin(4);
        rows.str(id.as_bytes());
        rows.str(name.as_bytes());
        rows.int2(kind.is_sell().into());
        rows.int2(kind.is_market().into());
    }
}

pub(super) fn zip_code(_: &Slice<'_>, rows: &mut Rows) {
    for number in 0..ZIP_CODES {
        rows.begin(3);
        rows.str(names::zip_code(number).as_bytes());
        rows.str(names::word(number % 1_987).as_bytes());
        rows.str(names::word(number % 53).as_bytes());
    }
}

/// Identifier of an exchange, from 0.
pub fn exchange_id(number: u64) -> &'static str {
    ["ALPHEX", "BRAVEX", "CHARLX", "DELTEX"][number as usize]
}

pub(super) fn exchange(slice: &Slice<'_>, rows: &mut Rows) {
    for number in 0..EXCHANGES {
        let securities = slice.population.securities();
        let listed = (securities + EXCHANGES - 1 - number) / EXCHANGES;
        rows.begin(7);
        rows.str(exchange_id(number).as_bytes());
        rows.str(format!("{} Exchange", names::word(number)).as_bytes());
        rows.int4(listed as u32);
        rows.int4(900);
        rows.int4(1_700);
        rows.str(b"Trades in shares of all kinds, from nine to five.");
        rows.int8(number as i64 + 1);
    }
}

/// Identifier of a sector or an industry, from 0: two letters or digits.
fn short_id(number: u64) -> [u8; 2] {
    let letter = |digit: u64| b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit as usize];
    [letter(number / 36), letter(number % 36)]
}

/// Name of a sector, from 0.
pub fn sector_name(number: u64) -> String {
    format!("Sector {}", names::word(number * 11))
}

/// Name of an industry, from 0.
pub fn industry_name(number: u64) -> String {
    format!("Industry {}", names::word(number * 13 + 1))
}

pub(super) fn sector(_: &Slice<'_>, rows: &mut Rows) {
    for number in 0..SECTORS {
        rows.begin(2);
        rows.str(&short_id(number));
        rows.str(sector_name(number).as_bytes());
    }
}

/// Identifier of the industry of a company.
pub fn industry_of(company: u64) -> [u8; 2] {
    short_id(company % INDUSTRIES)
}

pub(super) fn industry(_: &Slice<'_>, rows: &mut Rows) {
    for number in 0..INDUSTRIES {
        rows.begin(3);
        rows.str(&short_id(number));
        rows.str(industry_name(number).as_bytes());
        rows.str(&short_id(number % SECTORS));
    }
}

pub(super) fn charge(_: &Slice<'_>, rows: &mut Rows) {
    for (kind, id, _) in TRADE_TYPES {
        for tier in 1..=3 {
            rows.begin(3);
            rows.str(id.as_bytes());
            rows.int2(tier.into());
            rows.cents(charge_cents(kind, tier));
        }
    }
}

pub(super) fn commission_rate(_: &Slice<'_>, rows: &mut Rows) {
    for tier in 1..=3_u8 {
        for (kind, id, _) in TRADE_TYPES {
            for exchange in 0..EXCHANGES {
                let mut from = 0;
                for (range, to) in QUANTITY_RANGES.into_iter().enumerate() {
                    rows.begin(6);
                    rows.int2(tier.into());
                    rows.str(id.as_bytes());
                    rows.str(exchange_id(exchange).as_bytes());
                    rows.int4(from);
                    rows.int4(to);
                    rows.cents(rate(tier, kind, exchange, range));
                    from = to + 1;
                }
            }
        }
    }
}

/// Identifier of a tax rate, from 0: two letters and two digits, or one digit where it is national.
pub fn tax_id(rate: u64) -> String {
    let (first, all) = (NATIONAL_RATES[0], NATIONAL_RATES.iter().sum::<u64>());
    match rate {
        _ if rate < first => format!("FA{}", rate + 1),
        _ if rate < all => format!("SB{}", rate - first + 1),
        _ => {
            let region = rate - all;
            format!("R{}{}", (b'A' + (region / 26) as u8) as char, region % 26)
        }
    }
}

pub(super) fn taxrate(_: &Slice<'_>, rows: &mut Rows) {
    let mut rates: Vec<u64> = (0..NATIONAL_RATES.iter().sum::<u64>() + REGIONAL_RATES).collect();
    rates.sort_by_key(|rate| tax_id(*rate));
    for rate in rates {
        rows.begin(3);
        rows.str(tax_id(rate).as_bytes());
        rows.str(format!("{} Tax {rate}", names::word(rate)).as_bytes());
        rows.ten_thousandths(tax_rate(rate) as u16);
    }
}
