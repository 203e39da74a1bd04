//! What a row of each table holds after loading (clause 4.3.3.1).

use super::super::random::{self, Domain, Rng};
use super::super::text;
use super::{Slice, CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS, LOADED_AT_US};
use crate::loading::Rows;

/// The first customers of a district have one last name each, so that every name exists.
const EVERY_NAME_ONCE: u32 = 1_000;

pub(super) fn warehouse(slice: &Slice, rows: &mut Rows) {
    for row in slice.ids.clone() {
        let mut rng = slice.rng(Domain::Warehouse, row);
        rows.begin(9);
        rows.int4(slice.warehouse);
        rows.ten_thousandths(rng.uniform(0, 2_000) as u16);
        rows.cents(300_000 * 100);
        rows.name(&mut rng, 6..=10);
        address(&mut rng, rows);
    }
}

pub(super) fn district(slice: &Slice, rows: &mut Rows) {
    for district in slice.ids.clone() {
        let mut rng = slice.rng(Domain::District, district);
        rows.begin(11);
        rows.int4(slice.warehouse);
        rows.int4(CUSTOMERS + 1);
        rows.int2(district as i16);
        rows.ten_thousandths(rng.uniform(0, 2_000) as u16);
        rows.cents(30_000 * 100);
        rows.name(&mut rng, 6..=10);
        address(&mut rng, rows);
    }
}

/// A tenth of them with bad credit.
pub(super) fn customer(slice: &Slice, rows: &mut Rows) {
    for id in slice.ids.clone() {
        let mut rng = slice.rng(Domain::Customer, id);
        rows.begin(21);
        rows.timestamp(LOADED_AT_US);
        rows.int4(slice.warehouse);
        rows.int4(id);
        rows.int4(1);
        rows.int4(0);
        rows.int2(slice.district as i16);
        rows.ten_thousandths(rng.uniform(0, 5_000) as u16);
        rows.cents(50_000 * 100);
        rows.cents(-10 * 100);
        rows.cents(10 * 100);
        rows.str(if rng.percent(10) { b"BC" } else { b"GC" });
        let last_name = match id <= EVERY_NAME_ONCE {
            true => id - 1,
            false => slice.population.constants.last_name(&mut rng),
        };
        rows.str(random::last_name(last_name).as_bytes());
        rows.name(&mut rng, 8..=16);
        rows.str(b"OE");
        address(&mut rng, rows);
        rows.written(|out| text::push_digits(out, &mut rng, 16));
        rows.text(&mut rng, 300..=500);
    }
}

/// The address that warehouses, districts and customers have in common (clause 4.3.2.7): two streets,
/// city, state and zip.
fn address(rng: &mut Rng, rows: &mut Rows) {
    rows.text(rng, 10..=20);
    rows.text(rng, 10..=20);
    rows.text(rng, 10..=20);
    rows.written(|out| text::push_letters(out, rng, 2));
    rows.written(|out| text::push_zip(out, rng));
}

/// One payment of 10.00 of each customer.
pub(super) fn history(slice: &Slice, rows: &mut Rows) {
    for customer in slice.ids.clone() {
        let mut rng = slice.rng(Domain::History, customer);
        rows.begin(8);
        rows.timestamp(LOADED_AT_US);
        rows.int4(slice.warehouse);
        rows.int4(customer);
        rows.int4(slice.warehouse);
        rows.int2(slice.district as i16);
        rows.int2(slice.district as i16);
        rows.cents(10 * 100);
        rows.text(&mut rng, 12..=24);
    }
}

/// One order of each customer, in random order, the last 900 of a district undelivered. A slice is a
/// whole district.
pub(super) fn orders(slice: &Slice, rows: &mut Rows) {
    for (id, customer) in slice.ids.clone().zip(customers_in_random_order(slice)) {
        let mut rng = slice.rng(Domain::Order, id);
        rows.begin(8);
        rows.timestamp(LOADED_AT_US);
        rows.int4(slice.warehouse);
        rows.int4(id);
        rows.int4(customer);
        rows.int2(slice.district as i16);
        rows.int2(line_count(&mut rng) as i16);
        rows.int2(1);
        match id < FIRST_UNDELIVERED {
            true => rows.int2(rng.uniform(1, 10) as i16),
            false => rows.null(),
        }
    }
}

/// Every customer of a district once (Fisher and Yates).
fn customers_in_random_order(slice: &Slice) -> Vec<u32> {
    let (population, district) = (slice.population, u64::from(slice.district));
    let mut rng = population.rng(Domain::OrderCustomer, slice.warehouse, district);
    let mut customers: Vec<u32> = (1..=CUSTOMERS).collect();
    for last in (1..CUSTOMERS).rev() {
        customers.swap(last as usize, rng.uniform(0, last) as usize);
    }
    customers
}

/// The lines of a loaded order: the first number of its own stream, for `orders` and `order_line`.
fn line_count(order: &mut Rng) -> u32 {
    order.uniform(5, 15)
}

/// 5 to 15 rows an order; those of delivered orders cost nothing.
pub(super) fn order_line(slice: &Slice, rows: &mut Rows) {
    for order in slice.ids.clone() {
        let mut rng = slice.rng(Domain::OrderLine, order);
        let delivered = order < FIRST_UNDELIVERED;
        for number in 1..=line_count(&mut slice.rng(Domain::Order, order)) {
            rows.begin(10);
            match delivered {
                true => rows.timestamp(LOADED_AT_US),
                false => rows.null(),
            }
            rows.int4(slice.warehouse);
            rows.int4(order);
            rows.int4(rng.uniform(1, ITEMS));
            rows.int4(slice.warehouse);
            rows.int2(slice.district as i16);
            rows.int2(number as i16);
            rows.int2(5);
            rows.cents(match delivered {
                true => 0,
                false => rng.uniform(1, 999_999).into(),
            });
            rows.text(&mut rng, 24..=24);
        }
    }
}

pub(super) fn new_order(slice: &Slice, rows: &mut Rows) {
    for order in slice.ids.clone() {
        rows.begin(3);
        rows.int4(slice.warehouse);
        rows.int4(order);
        rows.int2(slice.district as i16);
    }
}

pub(super) fn item(slice: &Slice, rows: &mut Rows) {
    for id in slice.ids.clone() {
        let mut rng = slice.rng(Domain::Item, id);
        rows.begin(5);
        rows.int4(id);
        rows.int4(rng.uniform(1, 10_000));
        rows.cents(i64::from(rng.uniform(100, 10_000)));
        rows.name(&mut rng, 14..=24);
        rows.shaped(|shape, out| text::push_data(shape, out, &mut rng));
    }
}

pub(super) fn stock(slice: &Slice, rows: &mut Rows) {
    for item in slice.ids.clone() {
        let mut rng = slice.rng(Domain::Stock, item);
        rows.begin(17);
        rows.int4(slice.warehouse);
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
}
