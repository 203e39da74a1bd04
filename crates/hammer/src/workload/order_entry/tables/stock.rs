//! `stock`: 100000 rows a warehouse.

use super::super::random::Domain;
use super::super::text;
use super::{in_warehouse, Population, Table, DISTRICTS, ITEMS};
use crate::loading::Rows;

const ROWS_PER_SLICE: u32 = 500;
const SLICES_PER_WAREHOUSE: u32 = ITEMS / ROWS_PER_SLICE;

/// The table.
pub struct Stock;

impl Table for Stock {
    fn name(&self) -> &'static str {
        "stock"
    }

    fn cost_ms(&self) -> u32 {
        500
    }

    fn slices(&self, warehouses: u32) -> u64 {
        u64::from(warehouses) * u64::from(SLICES_PER_WAREHOUSE)
    }

    fn write_slice(&self, population: &Population, slice: u64, rows: &mut Rows) {
        let (warehouse, slice) = in_warehouse(slice, SLICES_PER_WAREHOUSE);
        let first = slice * ROWS_PER_SLICE + 1;
        for item in first..first + ROWS_PER_SLICE {
            write_row(population, warehouse, item, rows);
        }
    }
}

fn write_row(population: &Population, warehouse: u32, item: u32, rows: &mut Rows) {
    let mut rng = population.rng(Domain::Stock, warehouse, u64::from(item));
    rows.begin(17);
    rows.int4(warehouse);
    rows.int4(item);
    rows.int4(0);
    rows.int4(0);
    rows.int4(0);
    rows.int2(rng.uniform(10, 100) as i16);
    for _ in 0..DISTRICTS {
        rows.text(&mut rng, 24..=24);
    }
    rows.shaped(|shape, out| text::push_data(shape, out, &mut rng));
}
