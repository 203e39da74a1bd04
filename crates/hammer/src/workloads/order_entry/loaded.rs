//! What a database was loaded with, as its `stithy_meta` tells.

use super::schema::{self, SCHEMA_VERSION};
use super::statements::Statements;
use super::NAME;
use crate::engines::Control;
use crate::error::HammerError;
use crate::workloads::meta;

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
        meta::refuse_missing_tables(place, control, &schema::table_names()).await?;
        let row = meta::read_row(place, control, statements.read_meta, NAME, SCHEMA_VERSION);
        let [warehouses_loaded, seed, c_last_load] = row.await?;
        let loaded = Loaded {
            warehouses: warehouses_loaded.integer() as u32,
            seed: meta::read_seed(place, &seed)?,
            c_last_load: c_last_load.integer() as u32,
        };
        loaded.refuse_other_size(place, warehouses)?;
        Ok(loaded)
    }

    fn refuse_other_size(&self, place: &str, expected: u32) -> Result<(), HammerError> {
        if self.warehouses == expected {
            return Ok(());
        }
        Err(meta::other_size(
            place,
            format!(
                "the number of warehouses differs: {} loaded, {} in the job",
                self.warehouses, expected
            ),
            format!("set warehouses to {}", self.warehouses),
        ))
    }
}
