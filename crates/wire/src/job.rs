//! What a program is asked to do.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// Find the highest rate and number of users with which the driver stays on time.
    Calibrate(CalibrateJob),
    /// Do a little fixed work that has nothing to do with a database: what the machine is like now.
    Baseline(BaselineJob),
}

/// Which workload, and what it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadChoice {
    /// The workload's name.
    pub name: String,
    /// What the workload alone reads; the same keys in every job on the same database.
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

/// When virtual users act.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pace {
    /// Closed loop, back to back: each transaction is due when the one before is answered.
    None,
    /// Closed loop with the keying and think times that the workload specifies.
    Keyed,
    /// Closed loop with think times of a negative exponential law, cut at ten times the mean.
    Think {
        /// Their mean.
        mean_s: f64,
    },
    /// Open loop: transactions are due at a rate, whoever is answered or not.
    Rate {
        /// Transactions due in a second, over all users.
        per_s: f64,
        /// How they follow each other.
        arrivals: Arrivals,
    },
}

/// How the due times of an open loop follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent of each other, as those of many people.
    Poisson,
    /// At equal intervals.
    Constant,
}

/// Transaction isolation of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Row locks decide: less than the specification asks for.
    ReadCommitted,
    /// Snapshots; conflicts are retried.
    RepeatableRead,
    /// As if one after the other; conflicts are retried.
    Serializable,
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

/// Create the schema, load the rows, then indexes and keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrepareJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included.
    pub url: String,
    /// What to load.
    pub workload: WorkloadChoice,
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
    pub workload: WorkloadChoice,
    /// Seed of the chosen rows.
    pub seed: u64,
    /// Read-only transactions to do.
    pub transactions: u64,
}

/// The part of a window that one of several hammers has: every `of`-th user, connection and arrival, from `number` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Which of the hammers it is, from 0.
    pub number: u32,
    /// How many hammers there are.
    pub of: u32,
}

impl Share {
    /// All of it: there is one hammer.
    pub const ALL: Share = Share { number: 0, of: 1 };
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
    pub workload: WorkloadChoice,
    /// Seed of every draw of the virtual users.
    pub seed: u64,
    /// Virtual users of all hammers.
    pub users: u32,
    /// Which of them this hammer has; of arrivals and connections as well.
    pub share: Share,
    /// Connections that the users share, each for one transaction at a time. Null: each user has its
    /// own; in an open loop there are as many as users.
    pub connections: Option<u32>,
    /// When users act.
    pub pace: Pace,
    /// Unix time at which users begin, seconds, so that several hammers begin together. Null: as soon as
    /// all are seated.
    pub start_at_s: Option<f64>,
    /// Seconds before the measurement starts.
    pub ramp_up_s: f64,
    /// Seconds measured.
    pub duration_s: f64,
    /// Transaction isolation.
    pub isolation: Isolation,
    /// Unexpected errors after which the run gives up.
    pub error_limit: u64,
    /// While no connection can be opened, this long is waited for the server to come back, seconds;
    /// then the run gives up.
    pub reconnect_limit_s: f64,
    /// Where the HdrHistogram interval logs go: `<stem>.response.hlog`, `<stem>.service.hlog`,
    /// `<stem>.late.hlog`, and with a pool `<stem>.pool-wait.hlog`. Absent: none are written.
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
    pub workload: WorkloadChoice,
    /// Only the conditions that the workload holds for quick ones.
    pub quick: bool,
    /// Nothing has run since loading: conditions that hold only then are checked as well.
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
    pub workload: WorkloadChoice,
    /// The file that a run wrote.
    pub ledger: String,
}

/// Find the highest rate, and the highest number of users, with which the driver stays on time with a
/// transaction that does nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrateJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Connection URL, password included; the database may be empty.
    pub url: String,
    /// Connections, shared by all users.
    pub connections: u32,
    /// Seconds for which each rate, and each number of users, is tried.
    pub trial_s: f64,
    /// Mean time between two transactions of a user, in the search for the number of users; seconds.
    /// Null does not search it.
    pub think_s: Option<f64>,
}

/// A moment of work on the CPUs, and of reads of a neutral file: what the machine is like now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// The file that is read, on no storage under test; it is made where it is not there.
    pub file: String,
    /// Its size, a multiple of 4 KiB.
    pub file_bytes: u64,
    /// Seconds of work on one CPU, and again on all of them.
    pub spin_s: f64,
    /// Seconds of reads.
    pub read_s: f64,
}
