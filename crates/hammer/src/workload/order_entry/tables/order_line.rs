//! `order_line`: 5 to 15 rows an order; those of delivered orders cost nothing.

use super::super::random::{Domain, Rng};
use super::{district_row, orders, Population, Table};
use super::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS, LOADED_AT_US};
use crate::loading::Rows;

const ORDERS_PER_SLICE: u32 = 150;
const SLICES_PER_DISTRICT: u32 = CUSTOMERS / ORDERS_PER_SLICE;

/// The table.
pub const TABLE: Table = Table {
    name: "order_line",
    cost_ms: 570,
    slices: DISTRICTS * SLICES_PER_DISTRICT,
    once: false,
    write,
};

fn write(population: &Population, warehouse: u32, slice: u32, rows: &mut Rows) {
    let district = slice / SLICES_PER_DISTRICT + 1;
    let first = slice % SLICES_PER_DISTRICT * ORDERS_PER_SLICE + 1;
    for order in first..first + ORDERS_PER_SLICE {
        write_order(population, (warehouse, district, order), rows);
    }
}

fn write_order(population: &Population, order: (u32, u32, u32), rows: &mut Rows) {
    let (warehouse, district, id) = order;
    let mut rng = population.rng(Domain::OrderLine, warehouse, district_row(district, id));
    for number in 1..=orders::line_count(population, order) {
        write_line(&mut rng, order, number, rows);
    }
}

fn write_line(rng: &mut Rng, order: (u32, u32, u32), number: u32, rows: &mut Rows) {
    let (warehouse, district, id) = order;
    let delivered = id < FIRST_UNDELIVERED;
    rows.begin(10);
    if delivered {
        rows.timestamp(LOADED_AT_US);
    } else {
        rows.null();
    }
    rows.int4(warehouse);
    rows.int4(id);
    rows.int4(rng.uniform(1, ITEMS));
    rows.int4(warehouse);
    rows.int2(district as i16);
    rows.int2(number as i16);
    rows.int2(5);
    rows.cents(if delivered {
        0
    } else {
        i64::from(rng.uniform(1, 999_999))
    });
    rows.text(rng, 24..=24);
}
