//! `warehouse`: one row each.

use super::super::random::Domain;
use super::{address, Population, Table};
use crate::loading::Rows;

/// The table.
pub struct Warehouse;

impl Table for Warehouse {
    fn name(&self) -> &'static str {
        "warehouse"
    }

    fn cost_ms(&self) -> u32 {
        1
    }

    fn slices(&self, warehouses: u32) -> u64 {
        u64::from(warehouses)
    }

    fn write_slice(&self, population: &Population, slice: u64, rows: &mut Rows) {
        let warehouse = slice as u32 + 1;
        let mut rng = population.rng(Domain::Warehouse, warehouse, 0);
        rows.begin(9);
        rows.int4(warehouse);
        rows.ten_thousandths(rng.uniform(0, 2_000) as u16);
        rows.cents(300_000 * 100);
        rows.name(&mut rng, 6..=10);
        address::write(&mut rng, rows);
    }
}
