//! Row counts are those of the sheet, every slice follows from its number alone, and rows come in the order of keys.

use std::io::Write as _;

use super::super::population::{UNIT_CUSTOMERS, UNIT_SECURITIES};
use super::super::schema::read_tables;
use super::*;
use crate::engines::RowFormat;
use crate::loading::Shape;
use crate::plugins::SOME_FORMAT;

const UNITS: u64 = 2;

fn population() -> Population {
    Population::new(7, (UNITS * UNIT_CUSTOMERS) as u32, 12)
}

fn number(name: &str) -> usize {
    FILLED
        .iter()
        .position(|filled| filled.name == name)
        .unwrap()
}

fn rows(
    population: &Population,
    table: usize,
    slices: impl Iterator<Item = u64>,
) -> (u64, Vec<u8>) {
    let histories = Histories::default();
    let mut rows = Rows::new(SOME_FORMAT, Shape::default());
    slices.for_each(|slice| write_slice(population, &histories, (table, slice), &mut rows));
    (rows.count, rows.bytes)
}

/// Every table of the schema is filled, in its order.
#[test]
fn every_table_is_filled() {
    let schema = read_tables().into_iter().map(|table| table.name);
    assert!(schema.eq(FILLED.iter().map(|filled| filled.name)));
}

/// Fixed tables, and those that grow with the customers alone, have the specified rows.
#[test]
fn tables_have_the_specified_rows() {
    let population = population();
    let counted = |name: &str| {
        let table = number(name);
        rows(&population, table, 0..FILLED[table].slices(&population)).0
    };
    for (name, expected) in [
        ("charge", 15),
        ("commission_rate", 240),
        ("exchange", 4),
        ("industry", 102),
        ("sector", 12),
        ("status_type", 5),
        ("taxrate", 320),
        ("trade_type", 5),
        ("zip_code", 14_741),
        ("customer", UNITS * 1_000),
        ("customer_account", UNITS * 5_000),
        ("customer_taxrate", UNITS * 2_000),
        ("address", UNITS * 1_500 + 4),
        ("broker", UNITS * 10),
        ("company", UNITS * 500),
        ("watch_list", UNITS * 1_000),
        ("company_competitor", UNITS * 1_500),
        ("security", UNITS * 685),
        ("last_trade", UNITS * 685),
        ("financial", UNITS * 10_000),
        ("news_xref", UNITS * 1_000),
        ("trade_request", 0),
    ] {
        assert_eq!(expected, counted(name), "{name}");
    }
    for (name, expected) in [("account_permission", 7_100), ("watch_item", 100_000)] {
        let share = counted(name) as f64 / (UNITS * expected) as f64;
        assert!((share - 1.0).abs() < 0.03, "{name}: {share}");
    }
}

/// Whatever order slices are made in, by whomever, they hold the same rows; a slice of a day has 3,600 trades, and
/// each of a security 1,305 days.
#[test]
fn slices_follow_from_their_numbers() {
    let population = population();
    for name in [
        "trade",
        "trade_history",
        "settlement",
        "cash_transaction",
        "holding_history",
    ] {
        let table = number(name);
        let of_unit = FILLED[table].slices(&population) / UNITS;
        assert_eq!(12 * 16, of_unit);
        let parts = [0, 1, 2, of_unit, 17];
        let (count, together) = rows(&population, table, parts.into_iter());
        let alone = parts.map(|slice| rows(&population, table, [slice].into_iter()).1);
        assert_eq!(alone.concat(), together, "{name}");
        if name == "trade" {
            assert_eq!(5 * 3_600, count);
        }
    }
    for name in ["daily_market", "news_item", "watch_item", "financial"] {
        let (table, slices) = (number(name), [3, 1, 4]);
        let (_, together) = rows(&population, table, slices.into_iter());
        let alone = slices.map(|slice| rows(&population, table, [slice].into_iter()).1);
        assert_eq!(alone.concat(), together, "{name}");
    }
    let market = number("daily_market");
    let slices = FILLED[market].slices(&population);
    assert_eq!(0, UNIT_SECURITIES % (slices / UNITS));
    assert_eq!(
        5 * 1_305,
        rows(&population, market, [slices - 1].into_iter()).0
    );
}

/// Values as bytes that sort as they do, in lines of a row each.
struct Sortable;

impl Sortable {
    fn put(out: &mut Vec<u8>, value: impl Into<i128>) {
        writeln!(out, "{:020}", value.into() + (1 << 63)).unwrap();
        *out.last_mut().unwrap() = b'\t';
    }
}

impl RowFormat for Sortable {
    fn begin(&self, out: &mut Vec<u8>, _: u16) {
        out.push(b'\n');
    }
    fn int2(&self, out: &mut Vec<u8>, value: i16) {
        Sortable::put(out, value);
    }
    fn int4(&self, out: &mut Vec<u8>, value: u32) {
        Sortable::put(out, value);
    }
    fn int8(&self, out: &mut Vec<u8>, value: i64) {
        Sortable::put(out, value);
    }
    fn timestamp(&self, out: &mut Vec<u8>, value_us: i64) {
        Sortable::put(out, value_us);
    }
    fn null(&self, out: &mut Vec<u8>) {
        out.push(b'\t');
    }
    fn begin_text(&self, out: &mut Vec<u8>) -> usize {
        out.len()
    }
    fn end_text(&self, out: &mut Vec<u8>, _: usize) {
        out.push(b'\t');
    }
    fn cents(&self, out: &mut Vec<u8>, value: i64) {
        Sortable::put(out, value);
    }
    fn ten_thousandths(&self, out: &mut Vec<u8>, value: u16) {
        Sortable::put(out, i32::from(value));
    }
}

/// SQL Server is told that they do, and refuses rows that do not; others fill their pages one after the other.
#[test]
fn rows_come_in_the_order_of_their_keys() {
    let (population, histories) = (population(), Histories::default());
    for (table, schema) in read_tables().iter().enumerate() {
        let slices = FILLED[table].slices(&population);
        let mut rows = Rows::new(&Sortable, Shape::default());
        for slice in (0..slices).filter(|slice| *slice < 3 || *slice == slices / UNITS) {
            write_slice(&population, &histories, (table, slice), &mut rows);
        }
        let place = |key: &&str| schema.columns.iter().position(|column| column.name == *key);
        let places: Vec<usize> = schema.key.iter().filter_map(place).collect();
        let key = |row: &[u8]| {
            let values: Vec<&[u8]> = row.split(|byte| *byte == b'\t').collect();
            places
                .iter()
                .map(|place| values[*place].to_vec())
                .collect::<Vec<_>>()
        };
        let keys: Vec<_> = rows
            .bytes
            .split(|byte| *byte == b'\n')
            .skip(1)
            .map(key)
            .collect();
        assert!(
            keys.is_sorted_by(|before, next| before < next),
            "{}",
            schema.name
        );
    }
}
