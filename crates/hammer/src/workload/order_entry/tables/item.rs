//! `item`: 100000 rows whatever the number of warehouses.

use super::super::random::Domain;
use super::super::text;
use super::{Population, Table, ITEMS};
use crate::loading::Rows;

const ROWS_PER_SLICE: u32 = 1_000;

/// The table.
pub const TABLE: Table = Table {
    name: "item",
    // Spread over all warehouses, so almost nothing in each.
    cost_ms: 20,
    slices: ITEMS / ROWS_PER_SLICE,
    once: true,
    write,
};

fn write(population: &Population, _warehouse: u32, slice: u32, rows: &mut Rows) {
    let first = slice * ROWS_PER_SLICE + 1;
    for id in first..first + ROWS_PER_SLICE {
        write_row(population, id, rows);
    }
}

fn write_row(population: &Population, id: u32, rows: &mut Rows) {
    let mut rng = population.rng(Domain::Item, 0, u64::from(id));
    rows.begin(5);
    rows.int4(id);
    rows.int4(rng.uniform(1, 10_000));
    rows.cents(i64::from(rng.uniform(100, 10_000)));
    rows.name(&mut rng, 14..=24);
    rows.shaped(|shape, out| text::push_data(shape, out, &mut rng));
}
