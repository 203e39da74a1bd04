//! `stock`: 100000 rows a warehouse.

use super::super::random::Domain;
use super::super::text;
use super::{Population, Table, DISTRICTS, ITEMS};
use crate::loading::Rows;

const ROWS_PER_SLICE: u32 = 500;
const SLICES_PER_WAREHOUSE: u32 = ITEMS / ROWS_PER_SLICE;

/// The table.
pub const TABLE: Table = Table {
    name: "stock",
    cost_ms: 500,
    slices: SLICES_PER_WAREHOUSE,
    once: false,
    write,
};

fn write(population: &Population, warehouse: u32, slice: u32, rows: &mut Rows) {
    let first = slice * ROWS_PER_SLICE + 1;
    for item in first..first + ROWS_PER_SLICE {
        write_row(population, warehouse, item, rows);
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
