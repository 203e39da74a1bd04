//! The SQL of order entry, a folder for each engine.

mod postgresql;

use super::plain::Step;
use crate::error::HammerError;

/// The SQL of one engine.
pub struct Sql {
    /// The engine's name.
    pub engine: &'static str,
    /// Creates the table of one row that says what was loaded.
    pub create_meta: &'static str,
    /// Writes that row: workload, version, warehouses, seed as text, C_LAST, compressible and duplicate
    /// percent.
    pub write_meta: &'static str,
    /// Reads it for a workload: version, warehouses, seed as text, C_LAST.
    pub read_meta: &'static str,
    /// Of each table first `CREATE TABLE`, then indexes, then keys.
    pub tables: [(&'static str, &'static str); 9],
    /// Creates each procedure, after loading.
    pub procedures: [&'static str; 5],
    /// Calls of the procedures, in the order of the transactions, and the begin of a transaction block.
    pub calls: [&'static str; 6],
    /// The statements of the transactions without procedures.
    pub(crate) steps: [(Step, &'static str); 23],
    /// Statements that read what the transactions of a run touch, old row versions apart: district,
    /// customer by number and by name, lines, last order, oldest waiting order, stock level.
    pub reads: [&'static str; 7],
    /// Gives the rows that break each consistency condition.
    pub conditions: [&'static str; 12],
    /// Date, district, warehouse, number and amount of orders dated within two bounds, by date.
    pub orders_by_date: &'static str,
    /// The same of payments.
    pub payments_by_date: &'static str,
    /// Sum of D_NEXT_O_ID.
    pub order_numbers: &'static str,
    /// How many orders there are of lists of warehouses, districts and dates.
    pub orders_found: &'static str,
}

const ALL: [&Sql; 1] = [&postgresql::SQL];

/// The SQL of an engine.
///
/// Errors: `engine-unknown` (usage) where order entry has none for it.
pub fn of(engine: &str) -> Result<&'static Sql, HammerError> {
    let found = ALL.into_iter().find(|sql| sql.engine == engine);
    found.ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|sql| sql.engine).collect();
        HammerError::usage(
            "engine-unknown",
            format!("order entry has no SQL for {engine}"),
            "url",
            format!("name a database of one of: {}", known.join(", ")),
        )
    })
}

/// The SQL of some engine, for what holds of all.
#[cfg(test)]
pub(super) fn any() -> &'static Sql {
    ALL[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements are looked up by the step's number.
    #[test]
    fn every_step_stands_at_its_own_number() {
        for sql in ALL {
            for (number, step) in sql.steps.iter().enumerate() {
                assert_eq!(number, step.0 as usize);
            }
        }
    }
}
