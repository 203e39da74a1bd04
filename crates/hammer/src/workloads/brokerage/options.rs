//! What a job says to brokerage alone.

use serde::Deserialize;
use stithy_wire::WorkloadChoice;

use super::population::UNIT_CUSTOMERS;
use crate::error::HammerError;
use crate::workloads;

/// Accounts of fewer days have fewer trades than a transaction lists: some have seven a day. Studies
/// want 12 at least.
pub const DAYS_MIN: u32 = 8;

/// What a job says; jobs that run nothing need no more than the size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Customers, in steps of a thousand.
    pub customers: u32,
    /// Initial trade days.
    pub days: u32,
    /// In which time a price swings from low to high and back, and so how long limits are waited for, seconds.
    #[serde(default = "price_period_s")]
    pub price_period_s: f64,
    /// After which time in the mean the exchange answers, seconds.
    #[serde(default = "exchange_delay_s")]
    pub exchange_delay_s: f64,
    /// Between two transactions of data maintenance, seconds.
    #[serde(default = "maintenance_interval_s")]
    pub maintenance_interval_s: f64,
    /// Which part of the count the skew of picks is at most: A is the greatest 2^k - 1 up to it.
    #[serde(default = "skew_part")]
    pub skew_part: u64,
    /// Connections of the exchange. None: half as many as users up to 64, one for eight users beyond, at least two.
    #[serde(default)]
    pub exchange_connections: Option<u32>,
}

fn price_period_s() -> f64 {
    900.0
}

fn exchange_delay_s() -> f64 {
    1.0
}

fn maintenance_interval_s() -> f64 {
    60.0
}

fn skew_part() -> u64 {
    4
}

impl Options {
    /// Reads a job's choice.
    ///
    /// Errors: `job-invalid` (usage).
    pub fn read(choice: &WorkloadChoice) -> Result<Self, HammerError> {
        let options: Options = workloads::options(choice)?;
        let step = UNIT_CUSTOMERS as u32;
        let customers = options.customers;
        if customers == 0 || !customers.is_multiple_of(step) || customers > 1_000_000 {
            return Err(refuse(
                "customers",
                customers,
                "a multiple of 1,000 up to 1,000,000",
            ));
        }
        if !(DAYS_MIN..=10_000).contains(&options.days) {
            return Err(refuse("days", options.days, "8 to 10,000 days"));
        }
        for (key, value) in [
            ("price_period_s", options.price_period_s),
            ("exchange_delay_s", options.exchange_delay_s),
            ("maintenance_interval_s", options.maintenance_interval_s),
        ] {
            if !(value > 0.0 && value <= 86_400.0) {
                return Err(refuse(key, value, "more than 0 s, up to a day"));
            }
        }
        if !(1..=1_000_000).contains(&options.skew_part) {
            return Err(refuse("skew_part", options.skew_part, "1 to 1,000,000"));
        }
        if options.exchange_connections == Some(0) {
            return Err(refuse("exchange_connections", 0, "at least 1"));
        }
        Ok(options)
    }

    /// Connections of the exchange for a number of users.
    ///
    /// With fewer it falls behind users who never pause while the CPUs are busy, and results are missing in the mix.
    pub fn exchange_connections(&self, users: u32) -> u32 {
        let needed = (users / 2).min(64).max(users / 8).max(2);
        self.exchange_connections.unwrap_or(needed)
    }
}

fn refuse(key: &str, value: impl std::fmt::Display, right: &str) -> HammerError {
    HammerError::usage(
        "job-invalid",
        format!("workload.{key} is {value}"),
        format!("workload.{key}"),
        format!("give {right}"),
    )
}
