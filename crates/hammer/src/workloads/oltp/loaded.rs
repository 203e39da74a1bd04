//! What a database was loaded with, as its `stithy_meta` tells.

use super::options::Options;
use super::statements::Statements;
use super::NAME;
use crate::engines::Control;
use crate::error::HammerError;
use crate::workloads::meta::{self, META_TABLE};

/// Version of tables and rules of population; 1: the first.
pub const SCHEMA_VERSION: i32 = 1;
/// The table of marks, by which a ledger finds transactions.
pub const MARK_TABLE: &str = "stithy_transaction_mark";

/// What a database was loaded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    /// Number of tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// Seed of every value.
    pub seed: u64,
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
        // Another workload's table about its load has other columns.
        let first = [META_TABLE, MARK_TABLE, "sbtest1"];
        meta::refuse_missing_tables(place, control, &first).await?;
        let row = meta::read_row(place, control, statements.read_meta, NAME, SCHEMA_VERSION);
        let [size, seed] = row.await?;
        let (tables, rows) = (options.tables, options.rows);
        meta::refuse_other_size(place, &size, &write_size(tables, rows))?;
        let seed = meta::read_seed(place, &seed)?;
        let names: Vec<String> = (1..=tables).map(|table| format!("sbtest{table}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        meta::refuse_missing_tables(place, control, &names).await?;
        Ok(Loaded { tables, rows, seed })
    }
}

/// A size as `--size` takes it.
pub fn write_size(tables: u32, rows: u32) -> String {
    format!("tables={tables},rows={rows}")
}
