//! `orders`: one order of each customer, in random order, the last 900 of a district undelivered.

use super::super::random::Domain;
use super::{district_row, Population, Table};
use super::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, LOADED_AT_US};
use crate::loading::Rows;

/// The table.
pub const TABLE: Table = Table {
    name: "orders",
    cost_ms: 60,
    slices: DISTRICTS,
    once: false,
    write,
};

fn write(population: &Population, warehouse: u32, slice: u32, rows: &mut Rows) {
    let district = slice + 1;
    let customers = customers_in_random_order(population, warehouse, district);
    for (id, customer) in (1..).zip(customers) {
        write_row(population, (warehouse, district, id), customer, rows);
    }
}

/// The lines of a loaded order, 5 to 15; `order_line` asks for the same number.
pub fn line_count(population: &Population, (w, d, id): (u32, u32, u32)) -> u32 {
    population
        .rng(Domain::Order, w, district_row(d, id))
        .uniform(5, 15)
}

fn write_row(p: &Population, order: (u32, u32, u32), customer: u32, rows: &mut Rows) {
    let (warehouse, district, id) = order;
    let mut rng = p.rng(Domain::Order, warehouse, district_row(district, id));
    let lines = rng.uniform(5, 15);
    rows.begin(8);
    rows.timestamp(LOADED_AT_US);
    rows.int4(warehouse);
    rows.int4(id);
    rows.int4(customer);
    rows.int2(district as i16);
    rows.int2(lines as i16);
    rows.int2(1);
    if id < FIRST_UNDELIVERED {
        rows.int2(rng.uniform(1, 10) as i16);
    } else {
        rows.null();
    }
}

/// Every customer of a district once (Fisher and Yates).
fn customers_in_random_order(p: &Population, warehouse: u32, district: u32) -> Vec<u32> {
    let mut rng = p.rng(Domain::OrderCustomer, warehouse, u64::from(district));
    let mut customers: Vec<u32> = (1..=CUSTOMERS).collect();
    for last in (1..CUSTOMERS).rev() {
        customers.swap(last as usize, rng.uniform(0, last) as usize);
    }
    customers
}
