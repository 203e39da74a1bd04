//! How the rows of each table are cut into slices: fixed tables are one, others so many for each load unit.

mod customers;
mod fixed;
mod market;
mod trades;

pub use customers::person;
pub use fixed::{industry_name, sector_name, tax_id};
pub use market::{company_name, issue_name};
pub use trades::broker_name;

use std::collections::HashMap;
use std::sync::Mutex;

use stithy_measure::locked;

use super::history::{History, HistoryState, Trade};
use super::population::{Population, DAY_TRADES};
use crate::loading::Rows;

/// Trades of a slice.
const SLICE_TRADES: u64 = DAY_TRADES / 16;

/// Into how many slices a table is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// One for all.
    Whole,
    /// So many for each load unit.
    Unit(u64),
    /// Sixteen for each trade day of a load unit.
    Days,
}

/// How a table is filled.
pub struct Filled {
    /// Its name.
    pub name: &'static str,
    /// Time to load and index its rows of a load unit with 12 days, roughly, in milliseconds.
    pub cost_ms: u32,
    /// Its slices.
    pub cut: Cut,
    /// Appends the rows of a slice.
    write: fn(&Slice<'_>, &mut Rows),
}

/// One slice of a table.
struct Slice<'a> {
    population: &'a Population,
    histories: &'a Histories,
    table: usize,
    /// Load unit.
    unit: u64,
    /// Number within the load unit.
    number: u64,
}

const fn filled(
    name: &'static str,
    cost_ms: u32,
    cut: Cut,
    write: fn(&Slice<'_>, &mut Rows),
) -> Filled {
    Filled {
        name,
        cost_ms,
        cut,
        write,
    }
}

/// How every table is filled, parents before children.
pub const FILLED: &[Filled] = &[
    filled("status_type", 1, Cut::Whole, fixed::status_type),
    filled("trade_type", 1, Cut::Whole, fixed::trade_type),
    filled("zip_code", 5, Cut::Whole, fixed::zip_code),
    filled("address", 10, Cut::Unit(1), customers::address),
    filled("exchange", 1, Cut::Whole, fixed::exchange),
    filled("sector", 1, Cut::Whole, fixed::sector),
    filled("industry", 1, Cut::Whole, fixed::industry),
    filled("charge", 1, Cut::Whole, fixed::charge),
    filled("commission_rate", 1, Cut::Whole, fixed::commission_rate),
    filled("taxrate", 1, Cut::Whole, fixed::taxrate),
    filled("company", 5, Cut::Unit(1), market::company),
    filled(
        "company_competitor",
        5,
        Cut::Unit(1),
        market::company_competitor,
    ),
    filled("financial", 30, Cut::Unit(5), market::financial),
    filled("security", 5, Cut::Unit(1), market::security),
    filled("last_trade", 2, Cut::Unit(1), market::last_trade),
    filled("daily_market", 1_400, Cut::Unit(137), market::daily_market),
    filled("news_item", 800, Cut::Unit(50), market::news_item),
    filled("news_xref", 3, Cut::Unit(1), market::news_xref),
    filled("customer", 10, Cut::Unit(1), customers::customer),
    filled(
        "customer_taxrate",
        3,
        Cut::Unit(1),
        customers::customer_taxrate,
    ),
    filled("broker", 150, Cut::Unit(1), trades::broker),
    filled(
        "customer_account",
        180,
        Cut::Unit(1),
        trades::customer_account,
    ),
    filled(
        "account_permission",
        15,
        Cut::Unit(1),
        customers::account_permission,
    ),
    filled("watch_list", 3, Cut::Unit(1), customers::watch_list),
    filled("watch_item", 150, Cut::Unit(10), customers::watch_item),
    filled("trade", 3_500, Cut::Days, trades::trade),
    filled("trade_history", 2_500, Cut::Days, trades::trade_history),
    filled("trade_request", 1, Cut::Whole, trades::trade_request),
    filled("settlement", 1_000, Cut::Days, trades::settlement),
    filled(
        "cash_transaction",
        1_100,
        Cut::Days,
        trades::cash_transaction,
    ),
    filled(
        "holding_summary",
        250,
        Cut::Unit(1),
        trades::holding_summary,
    ),
    filled("holding", 250, Cut::Unit(1), trades::holding),
    filled("holding_history", 1_800, Cut::Days, trades::holding_history),
];

impl Filled {
    /// Into how many slices its rows are cut.
    pub fn slices(&self, population: &Population) -> u64 {
        population.units.max(1) * self.slices_of_unit(population) / self.shared(population)
    }

    fn slices_of_unit(&self, population: &Population) -> u64 {
        match self.cut {
            Cut::Whole => 1,
            Cut::Unit(slices) => slices,
            Cut::Days => population.unit_trades() / SLICE_TRADES,
        }
    }

    fn shared(&self, population: &Population) -> u64 {
        match self.cut {
            Cut::Whole => population.units,
            _ => 1,
        }
    }
}

/// Appends the rows of a slice of a table.
pub fn write_slice(
    population: &Population,
    histories: &Histories,
    (table, slice): (usize, u64),
    rows: &mut Rows,
) {
    let filled = &FILLED[table];
    let of_unit = filled.slices_of_unit(population);
    let slice = Slice {
        population,
        histories,
        table,
        unit: slice / of_unit,
        number: slice % of_unit,
    };
    (filled.write)(&slice, rows);
}

/// Where the histories of the tables of trades have come to. A slice follows from its number alone; whoever asks for
/// the one behind the last need not go through all before it again.
#[derive(Default)]
pub struct Histories(Mutex<HashMap<(usize, u64, u64), HistoryState>>);

impl Slice<'_> {
    /// The numbers of this slice of so many things of a load unit, counted over all load units.
    fn things(&self, of_unit: u64, slices: u64) -> std::ops::Range<u64> {
        let bound = |number: u64| self.unit * of_unit + of_unit * number / slices;
        bound(self.number)..bound(self.number + 1)
    }

    /// Shows the trades of this slice, one after the other.
    fn each_trade(&self, mut take: impl FnMut(&Trade)) {
        let first = self.number * SLICE_TRADES;
        let left = locked(&self.histories.0).remove(&(self.table, self.unit, first));
        let mut history = match left {
            Some(state) => History::resume(self.population, self.unit, state),
            None => History::new(self.population, self.unit),
        };
        while history.place() < first {
            history.advance();
        }
        for _ in 0..SLICE_TRADES {
            take(&history.advance());
        }
        let place = history.place();
        if place < self.population.unit_trades() {
            let left = history.leave();
            locked(&self.histories.0).insert((self.table, self.unit, place), left);
        }
    }
}

#[cfg(test)]
mod tests;
