//! `district`: ten rows a warehouse.

use super::super::random::Domain;
use super::{address, Population, Table, CUSTOMERS, DISTRICTS};
use crate::loading::Rows;

/// The table.
pub const TABLE: Table = Table {
    name: "district",
    cost_ms: 1,
    slices: 1,
    once: false,
    write,
};

fn write(population: &Population, warehouse: u32, _slice: u32, rows: &mut Rows) {
    for district in 1..=DISTRICTS {
        write_row(population, warehouse, district, rows);
    }
}

fn write_row(population: &Population, warehouse: u32, district: u32, rows: &mut Rows) {
    let mut rng = population.rng(Domain::District, warehouse, u64::from(district));
    rows.begin(11);
    rows.int4(warehouse);
    rows.int4(CUSTOMERS + 1);
    rows.int2(district as i16);
    rows.ten_thousandths(rng.uniform(0, 2_000) as u16);
    rows.cents(30_000 * 100);
    rows.name(&mut rng, 6..=10);
    address::write(&mut rng, rows);
}
