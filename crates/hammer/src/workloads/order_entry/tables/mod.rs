//! The nine tables: how many rows each has (clause 4.3.3.1), and how they are cut into slices.
//!
//! Each table's rows are cut into slices in the order of its key. A slice is made from the seed and
//! its number alone, so slices may be made anywhere and in any order.

use std::ops::Range;

use super::random::{Domain, NurandConstants, Rng};
use crate::loading::Rows;

mod rows;

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
    Table {
        name: "order_line",
        cost_ms: 570,
        repeats: Repeats::InDistricts,
        ids: 1..CUSTOMERS + 1,
        slice_ids: 150,
        write: rows::order_line,
    },
    Table {
        name: "stock",
        cost_ms: 500,
        repeats: Repeats::InWarehouses,
        ids: 1..ITEMS + 1,
        slice_ids: 500,
        write: rows::stock,
    },
    Table {
        name: "customer",
        cost_ms: 260,
        repeats: Repeats::InDistricts,
        ids: 1..CUSTOMERS + 1,
        slice_ids: 500,
        write: rows::customer,
    },
    Table {
        name: "orders",
        cost_ms: 60,
        repeats: Repeats::InDistricts,
        ids: 1..CUSTOMERS + 1,
        slice_ids: CUSTOMERS,
        write: rows::orders,
    },
    Table {
        name: "history",
        cost_ms: 30,
        repeats: Repeats::InDistricts,
        ids: 1..CUSTOMERS + 1,
        slice_ids: CUSTOMERS,
        write: rows::history,
    },
    Table {
        name: "item",
        // Spread over all warehouses, so almost nothing in each.
        cost_ms: 20,
        repeats: Repeats::Never,
        ids: 1..ITEMS + 1,
        slice_ids: 1_000,
        write: rows::item,
    },
    Table {
        name: "new_order",
        cost_ms: 6,
        repeats: Repeats::InDistricts,
        ids: FIRST_UNDELIVERED..CUSTOMERS + 1,
        slice_ids: CUSTOMERS + 1 - FIRST_UNDELIVERED,
        write: rows::new_order,
    },
    Table {
        name: "district",
        cost_ms: 1,
        repeats: Repeats::InWarehouses,
        ids: 1..DISTRICTS + 1,
        slice_ids: DISTRICTS,
        write: rows::district,
    },
    Table {
        name: "warehouse",
        cost_ms: 1,
        repeats: Repeats::InWarehouses,
        ids: 0..1,
        slice_ids: 1,
        write: rows::warehouse,
    },
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
    repeats: Repeats,
    /// The numbers of what its rows are of.
    ids: Range<u32>,
    /// How many of them make a slice.
    slice_ids: u32,
    /// Appends the rows of a slice.
    write: fn(&Slice, &mut Rows),
}

/// Where the numbers of a table begin anew.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    /// Nowhere: all warehouses share its rows.
    Never,
    InWarehouses,
    InDistricts,
}

/// Some rows of a table that follow each other.
struct Slice<'a> {
    population: &'a Population,
    /// From 1; 0 where all share the rows.
    warehouse: u32,
    /// From 1; 0 where districts do not matter.
    district: u32,
    ids: Range<u32>,
}

impl Slice<'_> {
    /// The random stream of a row.
    fn rng(&self, domain: Domain, id: u32) -> Rng {
        let row = u64::from(self.district) << 32 | u64::from(id);
        self.population.rng(domain, self.warehouse, row)
    }
}

impl Table {
    /// Number of slices.
    pub fn slices(&self, warehouses: u32) -> u64 {
        let times = match self.repeats {
            Repeats::Never => 1,
            Repeats::InWarehouses => u64::from(warehouses),
            Repeats::InDistricts => u64::from(warehouses) * u64::from(DISTRICTS),
        };
        times * self.slices_of_all_ids()
    }

    fn slices_of_all_ids(&self) -> u64 {
        u64::from((self.ids.end - self.ids.start) / self.slice_ids)
    }

    /// Appends the rows of a slice, counted from 0 over all warehouses.
    pub fn write_slice(&self, population: &Population, slice: u64, rows: &mut Rows) {
        let (time, part) = (
            (slice / self.slices_of_all_ids()) as u32,
            (slice % self.slices_of_all_ids()) as u32,
        );
        let (warehouse, district) = match self.repeats {
            Repeats::Never => (0, 0),
            Repeats::InWarehouses => (time + 1, 0),
            Repeats::InDistricts => (time / DISTRICTS + 1, time % DISTRICTS + 1),
        };
        let first = self.ids.start + part * self.slice_ids;
        let slice = Slice {
            population,
            warehouse,
            district,
            ids: first..first + self.slice_ids,
        };
        (self.write)(&slice, rows);
    }
}

#[cfg(test)]
mod tests;
