//! What a database was loaded with, as its `stithy_meta` tells.

use stithy_wire::WorkloadSize;
use tokio_postgres::Client;

use super::schema::{self, META_TABLE, SCHEMA_VERSION};
use crate::client::postgresql::Target;
use crate::client::Target as _;
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
        target: &Target,
        client: &Client,
        expected: &WorkloadSize,
    ) -> Result<Self, HammerError> {
        refuse_missing_tables(target, client).await?;
        let sql = format!(
            "SELECT schema_version, warehouses, seed::text, c_last_load FROM {META_TABLE} \
             WHERE workload = $1"
        );
        let row = client.query_opt(&sql, &[&expected.name]).await;
        let row = row.map_err(|e| target.error("reading stithy_meta", e))?;
        let row = row.ok_or_else(|| incomplete(target))?;
        refuse_other_version(target, row.get(0))?;
        let loaded = Loaded {
            warehouses: row.get::<_, i32>(1) as u32,
            seed: row
                .get::<_, &str>(2)
                .parse()
                .map_err(|_| incomplete(target))?,
            c_last_load: row.get::<_, i32>(3) as u32,
        };
        loaded.refuse_other_size(target, expected)?;
        Ok(loaded)
    }

    fn refuse_other_size(&self, target: &Target, job: &WorkloadSize) -> Result<(), HammerError> {
        if self.warehouses == job.warehouses {
            return Ok(());
        }
        Err(HammerError::precondition(
            "size-differs",
            format!(
                "the number of warehouses differs: {} loaded, {} in the job",
                self.warehouses, job.warehouses
            ),
            target.place(),
            format!("set warehouses to {}, or {LOAD_AGAIN}", self.warehouses),
        ))
    }
}

async fn refuse_missing_tables(target: &Target, client: &Client) -> Result<(), HammerError> {
    let present = present_tables(target, client).await?;
    let names = schema::table_names();
    let missing: Vec<&str> = names
        .into_iter()
        .filter(|name| !present.iter().any(|p| p == name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(HammerError::precondition(
        "tables-missing",
        format!("tables are missing: {}", missing.join(", ")),
        target.place(),
        LOAD_AGAIN,
    ))
}

/// Those of the workload's tables that the database holds already.
pub async fn present_tables(target: &Target, client: &Client) -> Result<Vec<String>, HammerError> {
    let sql = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL";
    let rows = client.query(sql, &[&schema::table_names()]).await;
    let rows = rows.map_err(|e| target.error("looking for tables", e))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn refuse_other_version(target: &Target, found: i32) -> Result<(), HammerError> {
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    let problem = format!("the tables have version {found}, this hammer knows {SCHEMA_VERSION}");
    Err(HammerError::precondition(
        "schema-version-differs",
        problem,
        target.place(),
        LOAD_AGAIN,
    ))
}

fn incomplete(target: &Target) -> HammerError {
    let problem = "the database was not loaded to the end, or with another workload";
    HammerError::precondition("load-incomplete", problem, target.place(), LOAD_AGAIN)
}
