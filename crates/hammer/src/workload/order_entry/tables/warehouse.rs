//! `warehouse`: one row each.

use super::super::random::Domain;
use super::{address, Population, Table};
use crate::loading::Rows;

/// The table.
pub const TABLE: Table = Table {
    name: "warehouse",
    cost_ms: 1,
    slices: 1,
    once: false,
    write,
};

fn write(population: &Population, warehouse: u32, _slice: u32, rows: &mut Rows) {
    let mut rng = population.rng(Domain::Warehouse, warehouse, 0);
    rows.begin(9);
    rows.int4(warehouse);
    rows.ten_thousandths(rng.uniform(0, 2_000) as u16);
    rows.cents(300_000 * 100);
    rows.name(&mut rng, 6..=10);
    address::write(&mut rng, rows);
}
