//! `history`: one payment of 10.00 of each customer.

use super::super::random::Domain;
use super::{district_row, in_warehouse, Population, Table, CUSTOMERS, DISTRICTS, LOADED_AT_US};
use crate::loading::Rows;

/// The table.
pub struct History;

impl Table for History {
    fn name(&self) -> &'static str {
        "history"
    }

    fn cost_ms(&self) -> u32 {
        30
    }

    fn slices(&self, warehouses: u32) -> u64 {
        u64::from(warehouses) * u64::from(DISTRICTS)
    }

    fn write_slice(&self, population: &Population, slice: u64, rows: &mut Rows) {
        let (warehouse, slice) = in_warehouse(slice, DISTRICTS);
        for customer in 1..=CUSTOMERS {
            write_row(population, warehouse, slice + 1, customer, rows);
        }
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
