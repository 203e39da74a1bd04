//! What a database was loaded with, as its `stithy_meta` tells, and up to which number it has trades.

use super::options::Options;
use super::population::Population;
use super::schema::{read_tables, SCHEMA_VERSION};
use super::statements::Statements;
use super::NAME;
use crate::engines::{Control, Value};
use crate::error::HammerError;
use crate::workloads::meta::{self, META_TABLE};

/// What a database was loaded with.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Who and what there is.
    pub population: Population,
    /// Customers.
    pub customers: u32,
    /// Initial trade days.
    pub days: u32,
    /// The greatest number of a trade.
    pub last_trade: i64,
}

impl Loaded {
    /// Reads it and compares it with what the job expects.
    ///
    /// Errors (precondition): `tables-missing`, `load-incomplete`, `schema-version-differs`,
    /// `size-differs`.
    pub async fn read(
        place: &str,
        control: &impl Control,
        statements: &Statements,
        options: &Options,
    ) -> Result<Self, HammerError> {
        let names = read_tables().into_iter().map(|table| table.name);
        let names: Vec<&str> = names.chain([META_TABLE]).collect();
        meta::refuse_missing_tables(place, control, &names).await?;
        let row = meta::read_row(place, control, statements.read_meta, NAME, SCHEMA_VERSION);
        let [size, seed] = row.await?;
        let (customers, days) = (options.customers, options.days);
        meta::refuse_other_size(place, &size, &write_size(customers, days))?;
        let seed = meta::read_seed(place, &seed)?;
        let rows = control.query("reading trades", "SELECT max(t_id) FROM trade", &[]);
        let last = rows
            .await?
            .pop()
            .and_then(|row| row.first().map(Value::integer));
        Ok(Loaded {
            population: Population::new(seed, customers, days),
            customers,
            days,
            last_trade: last.unwrap_or_default(),
        })
    }
}

/// A size as `--size` takes it.
pub fn write_size(customers: u32, days: u32) -> String {
    format!("customers={customers},days={days}")
}
