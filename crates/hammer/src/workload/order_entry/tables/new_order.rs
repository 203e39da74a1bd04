//! `new_order`: the last 900 orders of a district wait for delivery.

use super::{in_warehouse, Population, Table, CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED};
use crate::loading::Rows;

/// The table.
pub struct NewOrder;

impl Table for NewOrder {
    fn name(&self) -> &'static str {
        "new_order"
    }

    fn cost_ms(&self) -> u32 {
        6
    }

    fn slices(&self, warehouses: u32) -> u64 {
        u64::from(warehouses) * u64::from(DISTRICTS)
    }

    fn write_slice(&self, _population: &Population, slice: u64, rows: &mut Rows) {
        let (warehouse, slice) = in_warehouse(slice, DISTRICTS);
        for order in FIRST_UNDELIVERED..=CUSTOMERS {
            rows.begin(3);
            rows.int4(warehouse);
            rows.int4(order);
            rows.int2(slice as i16 + 1);
        }
    }
}
