//! What a job says to order entry alone.

use serde::{Deserialize, Serialize};
use stithy_wire::WorkloadChoice;

use crate::error::HammerError;
use crate::workloads;

/// More warehouses than this do not fit into the tables' 32-bit keys with room to spare.
const WAREHOUSES_MAX: u32 = 1_000_000;

/// Which mix and which keys virtual users draw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// As specified: skewed keys, types dealt to all users from decks of 23 cards.
    #[default]
    Specification,
    /// As HammerDB: uniform keys, each type drawn by itself.
    Hammerdb,
}

/// What a job says; jobs that run nothing need no more than the number of warehouses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Number of warehouses (dimensionless, at least 1).
    pub warehouses: u32,
    /// Only the first so many warehouses are touched. None: all.
    #[serde(default)]
    pub warehouses_touched: Option<u32>,
    /// Users that are bound to each warehouse, one district after the other, the first warehouse
    /// first. None: each transaction draws its warehouse and district.
    #[serde(default)]
    pub users_per_warehouse: Option<u32>,
    /// Mix and keys.
    #[serde(default)]
    pub profile: Profile,
    /// Deliveries are queued and done behind the users' backs, who go on at once.
    #[serde(default)]
    pub deferred_delivery: bool,
    /// Transactions as procedures in the server, or as plain prepared SQL. None: as the engine does it best.
    #[serde(default)]
    pub procedures: Option<bool>,
}

impl Options {
    /// Reads a job's choice.
    ///
    /// Errors: `job-invalid` (usage).
    pub fn read(choice: &WorkloadChoice) -> Result<Self, HammerError> {
        let options: Options = workloads::options(choice)?;
        let most = options.warehouses;
        within("warehouses", most, WAREHOUSES_MAX)?;
        if let Some(touched) = options.warehouses_touched {
            within("warehouses_touched", touched, most)?;
        }
        Ok(options)
    }

    /// How many warehouses are touched at most.
    pub fn touched(&self) -> u32 {
        self.warehouses_touched.unwrap_or(self.warehouses)
    }
}

fn within(key: &str, value: u32, most: u32) -> Result<(), HammerError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(HammerError::usage(
        "job-invalid",
        format!("workload.{key} is {value}"),
        format!("workload.{key}"),
        format!("give a number from 1 to {most}"),
    ))
}
