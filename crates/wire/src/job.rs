//! What a program is asked to do.

use serde::{Deserialize, Serialize};

/// One task for the hammer; `job` in the JSON names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum Job {
    /// Create the schema and load the rows.
    Prepare(PrepareJob),
    /// Read a fixed set of rows so that every window starts with the same caches.
    WarmUp(WarmUpJob),
    /// Drive the database with virtual users for one window.
    Run(RunJob),
    /// Verify the consistency conditions.
    Check(CheckJob),
    /// Compare what a run wrote into its ledger with the database.
    VerifyLedger(VerifyLedgerJob),
    /// Find the highest rate at which the driver stays on time.
    Calibrate(CalibrateJob),
}

/// Which workload, at which size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSize {
    /// The workload's name, `order-entry`.
    pub name: String,
    /// Number of warehouses (dimensionless, at least 1).
    pub warehouses: u32,
}

/// How a virtual user waits between transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Back to back.
    None,
}

/// Transaction isolation of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Row locks decide.
    ReadCommitted,
    /// Snapshots; conflicts are retried.
    RepeatableRead,
}

/// What the generated text is like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataShape {
    /// Share of the text's bytes that compression is to save, percent; null: random letters and
    /// digits, as the specification has it, of which it saves about 25.
    pub compressible_percent: Option<u8>,
    /// Share of the text's values that are taken from a small pool, percent.
    pub duplicate_percent: u8,
}

/// Create the schema, load the rows, then indexes, keys and procedures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrepareJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included.
    pub url: String,
    /// What to load.
    pub workload: WorkloadSize,
    /// Seed of every generated value.
    pub seed: u64,
    /// Parallel loading connections.
    pub loaders: u32,
    /// What the generated text is like.
    pub data: DataShape,
}

/// The same fixed, seeded, read-only pass before every window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUpJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included.
    pub url: String,
    /// What was loaded.
    pub workload: WorkloadSize,
    /// Seed of the chosen rows.
    pub seed: u64,
    /// Read-only transactions to do.
    pub transactions: u64,
}

/// One window of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included.
    pub url: String,
    /// What was loaded.
    pub workload: WorkloadSize,
    /// Seed of every draw of the virtual users.
    pub seed: u64,
    /// Virtual users.
    pub users: u32,
    /// How a user waits between transactions.
    pub pace: Pace,
    /// Seconds before the measurement starts.
    pub ramp_up_s: f64,
    /// Seconds measured.
    pub duration_s: f64,
    /// Transactions as server-side procedures, or as plain prepared SQL.
    pub procedures: bool,
    /// Transaction isolation.
    pub isolation: Isolation,
    /// Unexpected errors after which the run gives up.
    pub error_limit: u64,
    /// Where the HdrHistogram interval logs go: `<stem>.response.hlog`, `<stem>.service.hlog`,
    /// `<stem>.late.hlog`. Absent: none are written.
    pub hlog_stem: Option<String>,
    /// File, not there yet, for what is meant and what is acknowledged; it must not lie on a volume
    /// under test. Absent: none is written.
    pub ledger: Option<String>,
}

/// Verify the consistency conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included.
    pub url: String,
    /// What was loaded.
    pub workload: WorkloadSize,
    /// Only conditions 1 to 4.
    pub quick: bool,
    /// Nothing has run since loading: condition 11 is checked as well.
    pub after_load: bool,
}

/// Compare what a run wrote into its ledger with the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyLedgerJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included.
    pub url: String,
    /// What was loaded.
    pub workload: WorkloadSize,
    /// The file that a run wrote.
    pub ledger: String,
}

/// Find the highest rate at which the driver stays on time with a transaction that does nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrateJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included; the database may be empty.
    pub url: String,
    /// Virtual users, each with a connection of its own, among whom the rate is divided.
    pub connections: u32,
    /// Seconds for which each rate is tried.
    pub trial_s: f64,
}
