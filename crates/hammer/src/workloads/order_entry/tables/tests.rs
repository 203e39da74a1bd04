//! The rules of population, on rows decoded from their binary form, and the property that any split
//! gives the same rows.

use std::collections::{BTreeMap, HashSet};

use super::super::random::last_name;
use super::super::statements::{OnPostgresql, Pair};
use super::*;
use crate::loading::Shape;
use crate::plugins::SOME_FORMAT;

type Row = Vec<Option<Vec<u8>>>;

const SEED: u64 = 99;

fn table(name: &str) -> &'static Table {
    let found = TABLES.iter().find(|table| table.name == name);
    found.expect("it is one of the nine")
}

fn slice(table: &Table, slice: u64) -> Vec<Row> {
    decoded(&encoded(table, SEED, &[slice]).bytes)
}

fn encoded(table: &Table, seed: u64, slices: &[u64]) -> Rows {
    let population = Population::new(seed);
    let mut rows = Rows::new(SOME_FORMAT, Shape::default());
    slices
        .iter()
        .for_each(|slice| table.write_slice(&population, *slice, &mut rows));
    rows
}

/// All rows of the first warehouse.
fn first_warehouse(table: &Table) -> Vec<Row> {
    (0..table.slices(1))
        .flat_map(|number| slice(table, number))
        .collect()
}

fn decoded(mut bytes: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let fields = take(&mut bytes, 2);
        rows.push(
            (0..u16::from_be_bytes([fields[0], fields[1]]))
                .map(|_| field(&mut bytes))
                .collect(),
        );
    }
    rows
}

fn field(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let length = int(&take(bytes, 4));
    (length >= 0).then(|| take(bytes, length as usize))
}

fn take(bytes: &mut &[u8], length: usize) -> Vec<u8> {
    let (head, rest) = bytes.split_at(length);
    *bytes = rest;
    head.to_vec()
}

fn int(bytes: &[u8]) -> i64 {
    let negative = bytes[0] & 0x80 != 0;
    bytes.iter().fold(if negative { -1 } else { 0 }, |n, byte| {
        n << 8 | i64::from(*byte)
    })
}

fn number(row: &Row, column: usize) -> i64 {
    int(row[column].as_ref().expect("the column is not null"))
}

fn text(row: &Row, column: usize) -> &str {
    let bytes = row[column].as_deref().expect("the column is not null");
    std::str::from_utf8(bytes).expect("the text is ASCII")
}

/// A `numeric` in ten-thousandths.
fn numeric(row: &Row, column: usize) -> i64 {
    let bytes = row[column].as_ref().expect("the column is not null");
    let short = |at: usize| int(&bytes[at..at + 2]);
    let digits = (0..short(0)).map(|i| {
        let power = short(2) - i + 1;
        short(8 + 2 * i as usize) * 10_000i64.pow(power as u32)
    });
    digits.sum::<i64>() * if short(4) == 0 { 1 } else { -1 }
}

/// Which of `columns` holds a length outside its bounds.
fn assert_lengths(row: &Row, columns: &[(usize, usize, usize)]) {
    for (column, low, high) in columns {
        let length = text(row, *column).len();
        assert!(
            (*low..=*high).contains(&length),
            "column {column}: {length}"
        );
    }
}

/// Each table's rows and fields, and that the count of a buffer is the number of its rows.
#[test]
fn every_table_has_its_specified_rows() {
    let expected: BTreeMap<&str, usize> = BTreeMap::from([
        ("warehouse", 1),
        ("district", 10),
        ("customer", 30_000),
        ("history", 30_000),
        ("orders", 30_000),
        ("new_order", 9_000),
        ("stock", 100_000),
        ("item", 100_000),
    ]);
    let sql = OnPostgresql::STATEMENTS;
    for table in TABLES {
        let all: Vec<u64> = (0..table.slices(1)).collect();
        let rows = encoded(table, SEED, &all);
        let decoded = decoded(&rows.bytes);
        assert_eq!(rows.count, decoded.len() as u64);
        let sql = sql.tables.iter().find(|(name, _)| *name == table.name);
        let columns = sql
            .expect("every table has SQL")
            .1
            .lines()
            .filter(|line| line.starts_with("    "))
            .count();
        assert!(
            decoded.iter().all(|row| row.len() == columns),
            "{}",
            table.name
        );
        if let Some(count) = expected.get(table.name) {
            assert_eq!(*count, decoded.len(), "{}", table.name);
        }
    }
}

/// Only item has the same number of rows for every number of warehouses.
#[test]
fn tables_grow_with_the_warehouses() {
    for table in TABLES {
        let factor = if table.name == "item" { 1 } else { 7 };
        assert_eq!(factor * table.slices(1), table.slices(7), "{}", table.name);
    }
}

/// Property: however the slices are dealt to loaders, and in whatever order they are made, each
/// slice gives the same bytes. Two hundred random deals over several seeds.
#[test]
fn any_split_over_loaders_gives_the_same_rows() {
    for trial in 0..200u64 {
        let mut draw = Rng::of(trial, Domain::User, 1, 1);
        let table = &TABLES[draw.uniform(0, TABLES.len() as u32 - 1) as usize];
        let seed = u64::from(draw.uniform(0, 3));
        let first = draw.bits() % table.slices(50);
        let slices: Vec<u64> =
            (first..table.slices(50).min(first + u64::from(draw.uniform(1, 4)))).collect();
        let whole = encoded(table, seed, &slices);
        let mut alone: Vec<(u64, Vec<u8>)> = slices
            .iter()
            .rev()
            .map(|slice| (*slice, encoded(table, seed, &[*slice]).bytes))
            .collect();
        alone.sort_by_key(|(slice, _)| *slice);
        let joined: Vec<u8> = alone.into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(whole.bytes, joined, "{} from slice {first}", table.name);
    }
}

/// Rows of two warehouses, and of two seeds, differ in more than their keys.
#[test]
fn warehouses_and_seeds_have_rows_of_their_own() {
    let stock = |seed, number| decoded(&encoded(table("stock"), seed, &[number]).bytes);
    let dist = |rows: &[Row]| text(&rows[0], 6).to_string();
    let first = dist(&stock(1, 0));
    assert_ne!(first, dist(&stock(1, table("stock").slices(1))));
    assert_ne!(first, dist(&stock(2, 0)));
    assert_eq!(first, dist(&stock(1, 0)));
}

/// Clause 4.3.3.1, ITEM.
#[test]
fn items_follow_their_rules() {
    let rows = first_warehouse(table("item"));
    for (id, row) in (1..).zip(&rows) {
        assert_eq!(id, number(row, 0));
        assert!((1..=10_000).contains(&number(row, 1)));
        assert!(
            (10_000..=1_000_000).contains(&numeric(row, 2)),
            "1.00 to 100.00"
        );
        assert_lengths(row, &[(3, 14, 24), (4, 26, 50)]);
    }
    let original = rows
        .iter()
        .filter(|row| text(row, 4).contains("ORIGINAL"))
        .count();
    assert!((9_500..10_500).contains(&original), "{original}");
}

/// Clause 4.3.3.1, STOCK.
#[test]
fn stock_follows_its_rules() {
    let rows = first_warehouse(table("stock"));
    for (id, row) in (1..).zip(&rows) {
        assert_eq!((1, id), (number(row, 0), number(row, 1)));
        assert_eq!([0, 0, 0], [number(row, 2), number(row, 3), number(row, 4)]);
        assert!((10..=100).contains(&number(row, 5)));
        assert!((6..16).all(|column| text(row, column).len() == 24));
        assert_lengths(row, &[(16, 26, 50)]);
    }
    let original = rows
        .iter()
        .filter(|row| text(row, 16).contains("ORIGINAL"))
        .count();
    assert!((9_500..10_500).contains(&original), "{original}");
}

/// Clause 4.3.3.1, WAREHOUSE and DISTRICT.
#[test]
fn warehouses_and_districts_follow_their_rules() {
    for row in slice(table("warehouse"), 4) {
        assert_eq!((5, 3_000_000_000), (number(&row, 0), numeric(&row, 2)));
        assert!((0..=2_000).contains(&numeric(&row, 1)));
        assert_lengths(
            &row,
            &[
                (3, 6, 10),
                (4, 10, 20),
                (5, 10, 20),
                (6, 10, 20),
                (7, 2, 2),
                (8, 9, 9),
            ],
        );
    }
    for (id, row) in (1..).zip(slice(table("district"), 4)) {
        assert_eq!(
            (5, 3_001, id),
            (number(&row, 0), number(&row, 1), number(&row, 2))
        );
        assert_eq!(300_000_000, numeric(&row, 4));
        assert!((0..=2_000).contains(&numeric(&row, 3)));
        assert_lengths(
            &row,
            &[
                (5, 6, 10),
                (6, 10, 20),
                (7, 10, 20),
                (8, 10, 20),
                (9, 2, 2),
                (10, 9, 9),
            ],
        );
    }
}

/// Clause 4.3.3.1, CUSTOMER: fixed amounts, a tenth with bad credit.
#[test]
fn customers_follow_their_rules() {
    let rows = first_warehouse(table("customer"));
    for row in &rows {
        assert_eq!((1, 1, 0), (number(row, 1), number(row, 3), number(row, 4)));
        assert!((0..=5_000).contains(&numeric(row, 6)));
        let amounts = [numeric(row, 7), numeric(row, 8), numeric(row, 9)];
        assert_eq!([500_000_000, -100_000, 100_000], amounts);
        assert_eq!("OE", text(row, 13));
        assert!(text(row, 19).len() == 16 && text(row, 19).bytes().all(|c| c.is_ascii_digit()));
        assert_lengths(
            row,
            &[
                (12, 8, 16),
                (14, 10, 20),
                (17, 2, 2),
                (18, 9, 9),
                (20, 300, 500),
            ],
        );
    }
    let bad = rows.iter().filter(|row| text(row, 10) == "BC").count();
    assert!((2_700..3_300).contains(&bad), "{bad} of 30000");
    assert!(rows.iter().all(|row| ["BC", "GC"].contains(&text(row, 10))));
}

/// Clause 4.3.3.1: the first thousand customers of a district have every name once, the others by
/// NURand with the constant of loading.
#[test]
fn last_names_cover_every_name_and_then_follow_nurand() {
    let rows: Vec<Row> = first_warehouse(table("customer"))
        .into_iter()
        .take(3_000)
        .collect();
    for (id, row) in (1..).zip(&rows) {
        assert_eq!((id, 1), (number(row, 2), number(row, 5)));
        if id <= 1_000 {
            assert_eq!(
                last_name(id as u32 - 1).as_bytes(),
                text(row, 11).as_bytes()
            );
        }
    }
    let others: HashSet<&str> = rows[1_000..].iter().map(|row| text(row, 11)).collect();
    assert!(
        others.len() < 900,
        "2000 draws of a skewed choice leave names out: {}",
        others.len()
    );
}

/// Clause 4.3.3.1, ORDER: every customer once, in another order in each district, carriers up to 2100.
#[test]
fn orders_follow_their_rules() {
    let districts: Vec<Vec<Row>> = (0..2)
        .map(|number| slice(table("orders"), number))
        .collect();
    let customers = |rows: &[Row]| rows.iter().map(|row| number(row, 3)).collect::<Vec<_>>();
    for rows in &districts {
        let mut sorted = customers(rows);
        sorted.sort_unstable();
        assert_eq!((1..=3_000).collect::<Vec<i64>>(), sorted);
        for (id, row) in (1..).zip(rows) {
            assert_eq!((id, 1), (number(row, 2), number(row, 6)));
            assert!((5..=15).contains(&number(row, 5)));
            assert_eq!(id < 2_101, row[7].is_some(), "order {id}");
            assert!(row[7].is_none() || (1..=10).contains(&number(row, 7)));
        }
    }
    assert_ne!(customers(&districts[0]), customers(&districts[1]));
}

/// Clause 4.3.3.1, ORDER-LINE: as many as the order says, free and dated once delivered.
#[test]
fn order_lines_follow_their_rules() {
    let mut lines: BTreeMap<i64, i64> = BTreeMap::new();
    for number_of_slice in 0..table("order_line").slices(1) / 10 {
        for row in slice(table("order_line"), number_of_slice) {
            let (order, amount) = (number(&row, 2), numeric(&row, 8));
            *lines.entry(order).or_default() += 1;
            assert_eq!(lines[&order], number(&row, 6), "lines are counted from 1");
            assert_eq!(order < 2_101, row[0].is_some());
            let priced = (100..=99_999_900).contains(&amount);
            assert!(
                if order < 2_101 { amount == 0 } else { priced },
                "order {order}: {amount}"
            );
            assert!((1..=100_000).contains(&number(&row, 3)));
            assert_eq!((1, 5), (number(&row, 4), number(&row, 7)));
            assert_lengths(&row, &[(9, 24, 24)]);
        }
    }
    let told: Vec<i64> = slice(table("orders"), 0)
        .iter()
        .map(|row| number(row, 5))
        .collect();
    assert_eq!(told, lines.into_values().collect::<Vec<_>>());
}

/// Clause 4.3.3.1, NEW-ORDER and HISTORY.
#[test]
fn queues_and_payments_follow_their_rules() {
    let queue = slice(table("new_order"), 12);
    let keys = |row: &Row| (number(row, 0), number(row, 2), number(row, 1));
    assert_eq!((2, 3, 2_101), keys(&queue[0]));
    assert_eq!((2, 3, 3_000), keys(&queue[899]));
    for (customer, row) in (1..).zip(slice(table("history"), 12)) {
        let key = [number(&row, 1), number(&row, 4), number(&row, 2)];
        assert_eq!([2, 3, customer], key);
        assert_eq!(
            (2, 3, 100_000),
            (number(&row, 3), number(&row, 5), numeric(&row, 6))
        );
        assert_lengths(&row, &[(7, 12, 24)]);
    }
}

/// The date of loaded rows is the start of 2026.
#[test]
fn the_date_of_loading_is_fixed() {
    let days = (2000..2026)
        .map(|y| if y % 4 == 0 { 366 } else { 365 })
        .sum::<i64>();
    assert_eq!(days * 86_400_000_000, LOADED_AT_US);
}
