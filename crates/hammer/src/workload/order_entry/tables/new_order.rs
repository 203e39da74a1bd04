//! `new_order`: the last 900 orders of a district wait for delivery.

use super::{Population, Table, CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED};
use crate::loading::Rows;

/// The table.
pub const TABLE: Table = Table {
    name: "new_order",
    cost_ms: 6,
    slices: DISTRICTS,
    once: false,
    write,
};

fn write(_population: &Population, warehouse: u32, slice: u32, rows: &mut Rows) {
    for order in FIRST_UNDELIVERED..=CUSTOMERS {
        rows.begin(3);
        rows.int4(warehouse);
        rows.int4(order);
        rows.int2(slice as i16 + 1);
    }
}
