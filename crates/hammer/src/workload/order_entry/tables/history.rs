//! `history`: one payment of 10.00 of each customer.

use super::super::random::Domain;
use super::{district_row, Population, Table, CUSTOMERS, DISTRICTS, LOADED_AT_US};
use crate::loading::Rows;

/// The table.
pub const TABLE: Table = Table {
    name: "history",
    cost_ms: 30,
    slices: DISTRICTS,
    once: false,
    write,
};

fn write(population: &Population, warehouse: u32, slice: u32, rows: &mut Rows) {
    for customer in 1..=CUSTOMERS {
        write_row(population, warehouse, slice + 1, customer, rows);
    }
}

fn write_row(p: &Population, warehouse: u32, district: u32, customer: u32, rows: &mut Rows) {
    let mut rng = p.rng(Domain::History, warehouse, district_row(district, customer));
    rows.begin(8);
    rows.timestamp(LOADED_AT_US);
    rows.int4(warehouse);
    rows.int4(customer);
    rows.int4(warehouse);
    rows.int2(district as i16);
    rows.int2(district as i16);
    rows.cents(10 * 100);
    rows.text(&mut rng, 12..=24);
}
