//! What a database was loaded with, as its `stithy_meta` tells.

use super::options::Options;
use super::statements::Statements;
use super::NAME;
use crate::engines::{Control, Value};
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
        let name = [Value::Text(NAME.into())];
        let rows = control.query("reading stithy_meta", statements.read_meta, &name);
        let row = rows.await?.pop().ok_or_else(|| meta::incomplete(place))?;
        let [version, size, seed] = &row[..] else {
            return Err(meta::incomplete(place));
        };
        meta::refuse_other_version(place, version.integer(), SCHEMA_VERSION)?;
        let size = size.text().and_then(read_size);
        let seed = seed.text().and_then(|seed| seed.parse().ok());
        let ((tables, rows), seed) = size.zip(seed).ok_or_else(|| meta::incomplete(place))?;
        let loaded = Loaded { tables, rows, seed };
        loaded.refuse_other_size(place, options)?;
        let names: Vec<String> = (1..=tables).map(|table| format!("sbtest{table}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        meta::refuse_missing_tables(place, control, &names).await?;
        Ok(loaded)
    }

    fn refuse_other_size(&self, place: &str, expected: &Options) -> Result<(), HammerError> {
        if (self.tables, self.rows) == (expected.tables, expected.rows) {
            return Ok(());
        }
        Err(meta::other_size(
            place,
            format!(
                "the size differs: {} loaded, {} in the job",
                write_size(self.tables, self.rows),
                write_size(expected.tables, expected.rows)
            ),
            format!("set tables to {} and rows to {}", self.tables, self.rows),
        ))
    }
}

/// A size as `--size` takes it.
pub fn write_size(tables: u32, rows: u32) -> String {
    format!("tables={tables},rows={rows}")
}

fn read_size(text: &str) -> Option<(u32, u32)> {
    let (tables, rows) = text.strip_prefix("tables=")?.split_once(",rows=")?;
    Some((tables.parse().ok()?, rows.parse().ok()?))
}
