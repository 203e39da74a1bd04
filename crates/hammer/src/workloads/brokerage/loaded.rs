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
        let name = [Value::Text(NAME.into())];
        let rows = control.query("reading stithy_meta", statements.read_meta, &name);
        let row = rows.await?.pop().ok_or_else(|| meta::incomplete(place))?;
        let [version, size, seed] = &row[..] else {
            return Err(meta::incomplete(place));
        };
        meta::refuse_other_version(place, version.integer(), SCHEMA_VERSION)?;
        let size = size.text().and_then(read_size);
        let seed = seed.text().and_then(|seed| seed.parse().ok());
        let ((customers, days), seed) = size.zip(seed).ok_or_else(|| meta::incomplete(place))?;
        if (customers, days) != (options.customers, options.days) {
            return Err(meta::other_size(
                place,
                format!(
                    "the size differs: {} loaded, {} in the job",
                    write_size(customers, days),
                    write_size(options.customers, options.days)
                ),
                format!("set customers to {customers} and days to {days}"),
            ));
        }
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

fn read_size(text: &str) -> Option<(u32, u32)> {
    let (customers, days) = text.strip_prefix("customers=")?.split_once(",days=")?;
    Some((customers.parse().ok()?, days.parse().ok()?))
}
