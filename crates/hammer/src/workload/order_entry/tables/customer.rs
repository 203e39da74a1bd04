//! `customer`: 3000 rows a district, a tenth of them with bad credit.

use super::super::random::{self, Domain, Rng};
use super::super::text;
use super::{address, district_row, Population, Table, CUSTOMERS, DISTRICTS, LOADED_AT_US};
use crate::loading::Rows;

const ROWS_PER_SLICE: u32 = 500;
const SLICES_PER_DISTRICT: u32 = CUSTOMERS / ROWS_PER_SLICE;
/// The first customers of a district have one last name each, so that every name exists.
const EVERY_NAME_ONCE: u32 = 1_000;

/// The table.
pub const TABLE: Table = Table {
    name: "customer",
    cost_ms: 260,
    slices: DISTRICTS * SLICES_PER_DISTRICT,
    once: false,
    write,
};

fn write(population: &Population, warehouse: u32, slice: u32, rows: &mut Rows) {
    let district = slice / SLICES_PER_DISTRICT + 1;
    let first = slice % SLICES_PER_DISTRICT * ROWS_PER_SLICE + 1;
    for id in first..first + ROWS_PER_SLICE {
        write_row(population, warehouse, district, id, rows);
    }
}

fn write_row(p: &Population, warehouse: u32, district: u32, id: u32, rows: &mut Rows) {
    let mut rng = p.rng(Domain::Customer, warehouse, district_row(district, id));
    rows.begin(21);
    rows.timestamp(LOADED_AT_US);
    rows.int4(warehouse);
    rows.int4(id);
    rows.int4(1);
    rows.int4(0);
    rows.int2(district as i16);
    rows.ten_thousandths(rng.uniform(0, 5_000) as u16);
    rows.cents(50_000 * 100);
    rows.cents(-10 * 100);
    rows.cents(10 * 100);
    rows.str(if rng.percent(10) { b"BC" } else { b"GC" });
    rows.str(random::last_name(last_name_number(p, id, &mut rng)).as_bytes());
    rows.name(&mut rng, 8..=16);
    rows.str(b"OE");
    address::write(&mut rng, rows);
    rows.written(|out| text::push_digits(out, &mut rng, 16));
    rows.text(&mut rng, 300..=500);
}

fn last_name_number(population: &Population, id: u32, rng: &mut Rng) -> u32 {
    if id <= EVERY_NAME_ONCE {
        id - 1
    } else {
        population.constants.last_name(rng)
    }
}
