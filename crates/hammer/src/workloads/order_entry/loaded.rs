//! What a database was loaded with, as its `stithy_meta` tells.

use super::schema::{self, SCHEMA_VERSION};
use super::statements::Statements;
use super::NAME;
use crate::engines::{Control, Value};
use crate::error::HammerError;

const LOAD_AGAIN: &str = "load an empty database with `stithy hammer prepare`";

/// What a database was loaded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    /// Number of warehouses.
    pub warehouses: u32,
    /// Seed of every value.
    pub seed: u64,
    /// The constant of NURand for C_LAST while loading.
    pub c_last_load: u32,
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
        warehouses: u32,
    ) -> Result<Self, HammerError> {
        refuse_missing_tables(place, control).await?;
        let name = [Value::Text(NAME.into())];
        let rows = control.query("reading stithy_meta", statements.read_meta, &name);
        let row = rows.await?.pop().ok_or_else(|| incomplete(place))?;
        let [version, loaded, seed, c_last_load] = &row[..] else {
            return Err(incomplete(place));
        };
        refuse_other_version(place, version.integer())?;
        let seed = seed.text().and_then(|seed| seed.parse().ok());
        let loaded = Loaded {
            warehouses: loaded.integer() as u32,
            seed: seed.ok_or_else(|| incomplete(place))?,
            c_last_load: c_last_load.integer() as u32,
        };
        loaded.refuse_other_size(place, warehouses)?;
        Ok(loaded)
    }

    fn refuse_other_size(&self, place: &str, expected: u32) -> Result<(), HammerError> {
        if self.warehouses == expected {
            return Ok(());
        }
        Err(HammerError::precondition(
            "size-differs",
            format!(
                "the number of warehouses differs: {} loaded, {} in the job",
                self.warehouses, expected
            ),
            place,
            format!("set warehouses to {}, or {LOAD_AGAIN}", self.warehouses),
        ))
    }
}

async fn refuse_missing_tables(place: &str, control: &impl Control) -> Result<(), HammerError> {
    let names = schema::table_names();
    let present = control.present_tables(&names).await?;
    let missing: Vec<&str> = names
        .into_iter()
        .filter(|name| !present.iter().any(|p| p == name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let problem = format!("tables are missing: {}", missing.join(", "));
    Err(unusable(place, "tables-missing", problem))
}

fn refuse_other_version(place: &str, found: i64) -> Result<(), HammerError> {
    if found == i64::from(SCHEMA_VERSION) {
        return Ok(());
    }
    let problem = format!("the tables have version {found}, this hammer knows {SCHEMA_VERSION}");
    Err(unusable(place, "schema-version-differs", problem))
}

fn incomplete(place: &str) -> HammerError {
    let problem = "the database was not loaded to the end, or with another workload";
    unusable(place, "load-incomplete", problem.into())
}

fn unusable(place: &str, code: &'static str, problem: String) -> HammerError {
    HammerError::precondition(code, problem, place, LOAD_AGAIN)
}
