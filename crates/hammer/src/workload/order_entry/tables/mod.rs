//! The nine tables: how many rows each has, and what a row holds after loading (clause 4.3.3.1).
//!
//! Each table's rows are cut into slices in the order of its key. A slice is made from the seed and
//! its number alone, so slices may be made anywhere and in any order.

use super::random::{Domain, NurandConstants, Rng};
use crate::loading::Rows;

mod address;
mod customer;
mod district;
mod history;
mod item;
mod new_order;
mod order_line;
mod orders;
mod stock;
mod warehouse;

/// Items, and rows of stock in a warehouse.
pub const ITEMS: u32 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of a district, and orders of a district after loading.
pub const CUSTOMERS: u32 = 3_000;
/// The first order of a district that is not delivered after loading.
pub const FIRST_UNDELIVERED: u32 = 2_101;
/// Every date of the loaded rows: the start of 2026, in microseconds since the start of 2000, UTC.
/// A fixed date instead of now, so that the same seed gives the same rows on every candidate.
pub const LOADED_AT_US: i64 = 820_540_800_000_000;

/// Every table. The costliest first, so that parallel loaders end together.
pub const TABLES: &[Table] = &[
    order_line::TABLE,
    stock::TABLE,
    customer::TABLE,
    orders::TABLE,
    history::TABLE,
    item::TABLE,
    new_order::TABLE,
    district::TABLE,
    warehouse::TABLE,
];

/// What all rows are made from.
#[derive(Debug, Clone, Copy)]
pub struct Population {
    /// Seed of every value.
    pub seed: u64,
    /// Constants of NURand while loading.
    pub constants: NurandConstants,
}

impl Population {
    /// The population of a seed.
    pub fn new(seed: u64) -> Self {
        let constants = NurandConstants::for_load(seed);
        Population { seed, constants }
    }

    fn rng(&self, domain: Domain, warehouse: u32, row: u64) -> Rng {
        Rng::of(self.seed, domain, u64::from(warehouse), row)
    }
}

/// One table of the workload.
pub struct Table {
    /// Its name in the database.
    pub name: &'static str,
    /// Time to load and index the rows of one warehouse, measured roughly, in milliseconds; only its
    /// ratio to the other tables matters.
    pub cost_ms: u32,
    /// Number of slices of a warehouse.
    slices: u32,
    /// Whether there are rows of the first warehouse alone, and all others share them.
    once: bool,
    /// Appends the rows of a slice: warehouse, from 1, and slice in it, from 0.
    write: fn(&Population, u32, u32, &mut Rows),
}

impl Table {
    /// Number of slices.
    pub fn slices(&self, warehouses: u32) -> u64 {
        let warehouses = if self.once { 1 } else { warehouses };
        u64::from(warehouses) * u64::from(self.slices)
    }

    /// Appends the rows of a slice, counted from 0 over all warehouses.
    pub fn write_slice(&self, population: &Population, slice: u64, rows: &mut Rows) {
        let per = u64::from(self.slices);
        let (warehouse, slice) = ((slice / per) as u32 + 1, (slice % per) as u32);
        (self.write)(population, warehouse, slice, rows);
    }
}

/// A row's number for its random stream: unique for district and id.
fn district_row(district: u32, id: u32) -> u64 {
    u64::from(district) << 32 | u64::from(id)
}

#[cfg(test)]
mod tests;
