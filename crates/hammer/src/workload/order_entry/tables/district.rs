//! `district`: ten rows a warehouse.

use super::super::random::Domain;
use super::{address, Population, Table, CUSTOMERS, DISTRICTS};
use crate::loading::Rows;

/// The table.
pub struct District;

impl Table for District {
    fn name(&self) -> &'static str {
        "district"
    }

    fn cost_ms(&self) -> u32 {
        1
    }

    fn slices(&self, warehouses: u32) -> u64 {
        u64::from(warehouses)
    }

    fn write_slice(&self, population: &Population, slice: u64, rows: &mut Rows) {
        for district in 1..=DISTRICTS {
            write_row(population, slice as u32 + 1, district, rows);
        }
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
