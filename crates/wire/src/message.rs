//! What a program answers, one message a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One line of output; `message` in the JSON names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum Message {
    /// The job was read and begins.
    Started(Started),
    /// A long job goes on.
    Progress(Progress),
    /// One second of a run.
    Second(Second),
    /// Something a reader should know; the job goes on.
    Warning(Warning),
    /// The job cannot go on; the program ends with an exit code other than 0.
    Failure(Failure),
    /// One consistency condition was verified.
    Condition(Condition),
    /// Loading ended.
    PrepareSummary(PrepareSummary),
    /// The warm-up pass ended.
    WarmUpSummary(WarmUpSummary),
    /// The window ended.
    RunSummary(Box<RunSummary>),
    /// All conditions were verified.
    CheckSummary(CheckSummary),
    /// A transaction for which ledger and database tell different things.
    LedgerFinding(LedgerFinding),
    /// The ledger was compared with the database.
    LedgerSummary(LedgerSummary),
    /// The driver's highest rate and number of users were found.
    CalibrateSummary(CalibrateSummary),
    /// The baseline check came back.
    BaselineSummary(BaselineSummary),
}

/// The job was read and begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Program and version.
    pub program: String,
    /// Unix time, seconds.
    pub at_s: f64,
}

/// How far a long job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done, in words for a person.
    pub stage: String,
    /// Units done.
    pub done: u64,
    /// Units in all.
    pub total: u64,
}

/// Which part of a window a second belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the measurement.
    RampUp,
    /// Measured.
    Measure,
    /// After it, until the last answer.
    Drain,
}

/// One second of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds since the users started, counted from 0.
    pub second: u64,
    /// Unix time at which this second began, seconds.
    pub at_s: f64,
    /// Ramp-up, measure or drain.
    pub phase: Phase,
    /// Transactions that were due and not yet begun when the second ended: waiting for a connection,
    /// or to be done behind the users' backs.
    pub waiting: u64,
    /// One entry a transaction type, always all, in the workload's order.
    pub transactions: Vec<TransactionSecond>,
}

/// One transaction type in one second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransactionSecond {
    /// Name of the transaction type.
    pub name: String,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the workload wants it.
    pub rolled_back: u64,
    /// Failed.
    pub errors: u64,
    /// Repeated after a serialization failure or deadlock.
    pub retries: u64,
    /// Median of response time, for whoever watches; null where none completed.
    pub live_p50_s: Option<f64>,
    /// 95th percentile of it, likewise.
    pub live_p95_s: Option<f64>,
    /// 99th percentile of it, likewise.
    pub live_p99_s: Option<f64>,
}

/// Something a reader should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// A short fixed word for programs, such as `connection-lost`.
    pub code: String,
    /// For people.
    pub text: String,
}

/// Why the job cannot go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// A short fixed word for programs, such as `connect-refused`.
    pub code: String,
    /// What failed.
    pub problem: String,
    /// Where: host, database, table.
    #[serde(rename = "where")]
    pub place: String,
    /// How to fix it.
    pub remedy: String,
    /// The exit code the program ends with.
    pub exit: u8,
}

/// One consistency condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Its number in the specification, 1 to 12.
    pub number: u32,
    /// What must hold, in a sentence.
    pub text: String,
    /// Whether it holds.
    pub holds: bool,
    /// Rows that break it.
    pub violations: u64,
    /// One row that breaks it, in words.
    pub example: Option<String>,
    /// Time it took, seconds.
    pub duration_s: f64,
}

/// Rows of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRows {
    /// Table.
    pub table: String,
    /// Rows loaded.
    pub rows: u64,
}

/// What a sample of the generated rows is like. Compressed is zstd, level 3, each 128 KiB by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSample {
    /// Size of the sampled rows.
    pub rows_bytes: u64,
    /// Their size, compressed.
    pub rows_compressed_bytes: u64,
    /// Size of the text in them that the job may shape.
    pub text_bytes: u64,
    /// Its size, compressed.
    pub text_compressed_bytes: u64,
    /// Size of those of its values that occur more than once in the sample.
    pub text_repeated_bytes: u64,
}

/// What loading did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrepareSummary {
    /// Time for everything, seconds.
    pub duration_s: f64,
    /// Of that, copying rows, seconds.
    pub copy_s: f64,
    /// Of that, indexes, keys and procedures, seconds.
    pub index_s: f64,
    /// Rows of each table.
    pub tables: Vec<TableRows>,
    /// What the workload says of it.
    pub workload: Map<String, Value>,
    /// What the rows are like, measured.
    pub sample: DataSample,
}

/// What the warm-up pass did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarmUpSummary {
    /// Time, seconds.
    pub duration_s: f64,
    /// Read-only transactions done.
    pub transactions: u64,
}

/// What a distribution of times comes to where nobody merges it with others, all in seconds; null where
/// nothing was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean_s: Option<f64>,
    /// Smallest.
    pub min_s: Option<f64>,
    /// Median.
    pub p50_s: Option<f64>,
    /// 90th percentile.
    pub p90_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// 99.9th percentile.
    pub p999_s: Option<f64>,
    /// Largest.
    pub max_s: Option<f64>,
}

/// A distribution of times: an HdrHistogram of microseconds, as in an interval log (V2, deflated,
/// base64). Those of several hammers are merged by adding up their counts.
pub type PackedHistogram = String;

/// One transaction type over the measurement, ramp-up apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransactionTotal {
    /// Name of the transaction type.
    pub name: String,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the workload wants it.
    pub rolled_back: u64,
    /// Failed.
    pub errors: u64,
    /// Repeated after a serialization failure or deadlock.
    pub retries: u64,
    /// From the moment the user meant to act to the answer, retries included; of a deferred transaction
    /// to the moment it was queued.
    pub response: PackedHistogram,
    /// From sending the last attempt to the answer.
    pub service: PackedHistogram,
    /// Waiting for a connection, or in the queue of deferred ones; null where a type never
    /// waits.
    pub pool_wait: Option<PackedHistogram>,
}

/// Whether the database holds as many transactions as it acknowledged, over the whole job. Those that
/// count are the workload's choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The database's own count before the first transaction; null when it could not be read.
    pub before: Option<u64>,
    /// The same after the last; null when it could not be read.
    pub after: Option<u64>,
    /// Counted transactions acknowledged as committed between the two, ramp-up and drain included.
    pub acknowledged: u64,
    /// Counted transactions whose answer never came.
    pub in_doubt: u64,
    /// Of those, found in the database afterwards; null when that could not be looked up.
    pub in_doubt_found: Option<u64>,
}

/// What an error means, whatever the engine calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The same transaction may succeed when tried again: a conflict with another one.
    Retryable,
    /// The server has no room left on a volume.
    Full,
    /// The database could not read or write its files, or found them damaged.
    Storage,
    /// The connection is gone, and with it the answer.
    Lost,
    /// Anything else; the session goes on.
    Other,
}

/// An unexpected error, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// What it means.
    pub kind: ErrorKind,
    /// The engine's own code, or null for errors that are not the server's.
    pub code: Option<String>,
    /// Text of the first such error.
    pub text: String,
    /// How often it came.
    pub count: u64,
}

/// What the driver itself cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriverCost {
    /// CPU time of the driver during the measurement, seconds.
    pub cpu_s: f64,
    /// Time its threads waited for a CPU during the measurement (schedstat), seconds; null where
    /// the kernel does not tell.
    pub run_queue_delay_s: Option<f64>,
    /// Its priority: -20 is served first, 19 last; null where the kernel does not tell.
    pub nice: Option<i32>,
}

/// Connections of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// Opened at the start.
    pub opened: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Opened again after a loss.
    pub reopened: u64,
    /// From the first loss to the first transaction that came to an end over a connection opened
    /// after it, seconds; null where none was lost, or none came back.
    pub first_success_s: Option<f64>,
}

/// Times in the measurement in which nothing came to a good end, seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitGaps {
    /// The longest in which no user's transaction did.
    pub longest_s: f64,
    /// Unix time at which that began.
    pub longest_from_s: f64,
    /// Median over the users of the longest of each; null without users.
    pub user_p50_s: Option<f64>,
    /// The 99th percentile of these, by nearest rank.
    pub user_p99_s: Option<f64>,
    /// The longest of any user.
    pub user_max_s: Option<f64>,
    /// What those of all hammers are made of; null where there is one.
    pub own: Option<OwnGaps>,
}

/// The gaps of one of several hammers, of which those of all together are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnGaps {
    /// Every time in which no transaction of its users came to a good end is listed, if it was longer than this.
    pub above_s: f64,
    /// When each began, after the begin of the measurement, in order.
    pub from_s: Vec<f64>,
    /// How long each was.
    pub length_s: Vec<f64>,
    /// The longest of each user.
    pub users: PackedHistogram,
}

/// What the server said of its own size at the start; null where it could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The database.
    pub database_bytes: Option<u64>,
    /// What the server keeps in memory by itself.
    pub cache_bytes: Option<u64>,
}

/// What one window gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Unix time of the users' start, seconds: the one that the job named, or that of the first user.
    pub started_at_s: f64,
    /// How long after a start that the job named the driver was awake; null where it named none.
    pub woke_late_s: Option<f64>,
    /// How late the driver was with the first transaction of all; null without any.
    pub first_late_s: Option<f64>,
    /// Unix time at which the measurement began, seconds.
    pub measure_from_s: f64,
    /// Unix time at which it ended, seconds.
    pub measure_to_s: f64,
    /// Unix time after the last answer, seconds.
    pub ended_at_s: f64,
    /// Whether it was cut short (interrupted, error limit, all connections lost).
    pub complete: bool,
    /// Virtual users.
    pub users: u32,
    /// What the workload says of the run.
    pub workload: Map<String, Value>,
    /// The server's sizes.
    pub sizes: Sizes,
    /// Every transaction type, in the workload's order, over the measurement.
    pub transactions: Vec<TransactionTotal>,
    /// Commits over the whole job, ramp-up and drain included (server commits expected).
    pub commits: u64,
    /// Intended and unexpected rollbacks over the whole job (server rollbacks expected).
    pub rollbacks: u64,
    /// Start of an attempt after its due time.
    pub lateness: PackedHistogram,
    /// Transactions that users would have begun at their usual pace while answers that took over ten
    /// times the median of their type held them up; null in an open loop, where all are begun, and
    /// where nothing was answered.
    pub suppressed_arrivals: Option<u64>,
    /// Transactions that were due in the measurement and not begun by its end.
    pub backlog: u64,
    /// Proof that transactions were counted rightly.
    pub proof: Proof,
    /// Unexpected errors over the whole job.
    pub errors: Vec<ErrorCount>,
    /// What the driver itself cost.
    pub driver: DriverCost,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Times without a success.
    pub gaps: CommitGaps,
    /// What was written into the ledger; null where the job wanted none.
    pub ledger: Option<LedgerWritten>,
}

/// What a run wrote into its ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerWritten {
    /// Acknowledgements that are durable.
    pub acknowledged: u64,
    /// Size of the entries.
    pub size_bytes: u64,
    /// Groups of entries, each synced by itself.
    pub syncs: u64,
    /// The longest that a group took to be written and synced, seconds; null where none was.
    pub slowest_sync_s: Option<f64>,
    /// Why the ledger ended early; null where it did not.
    pub problem: Option<String>,
}

/// All conditions were verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSummary {
    /// Conditions verified.
    pub checked: u32,
    /// Numbers of those that do not hold.
    pub broken: Vec<u32>,
}

/// What ledger and database tell differently, or what became of a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LedgerFindingKind {
    /// Acknowledged, and not in the database.
    Lost,
    /// Acknowledged, and otherwise in the database.
    Differs,
    /// Certainly not committed, and in the database all the same.
    Returned,
    /// Never answered; it was committed.
    DoubtCommitted,
    /// Never answered; it was not committed.
    DoubtAbsent,
    /// In the database, dated within the ledger's time, and not in the ledger.
    Unknown,
}

/// A transaction for which ledger and database tell different things, or which was in doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerFinding {
    /// Which of the transactions that the workload keeps.
    pub entry: String,
    /// What is the matter.
    pub kind: LedgerFindingKind,
    /// Which one, in words.
    pub text: String,
}

/// One of the transactions that a ledger keeps, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerCounts {
    /// Acknowledged as committed.
    pub acknowledged: u64,
    /// Of those, not in the database.
    pub lost: u64,
    /// Of those, otherwise in the database.
    pub differing: u64,
    /// Certainly not committed.
    pub refused: u64,
    /// Of those, in the database all the same.
    pub returned: u64,
    /// Never answered.
    pub in_doubt: u64,
    /// Of those, in the database.
    pub in_doubt_found: u64,
    /// In the database, dated within the ledger's time, and not in the ledger.
    pub unknown: u64,
}

/// The ledger was compared with the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerSummary {
    /// Whether everything acknowledged is there as it was acknowledged, and nothing refused is.
    pub holds: bool,
    /// Each of the transactions that the workload keeps.
    pub entries: BTreeMap<String, LedgerCounts>,
    /// Bytes at the ledger's end that are no whole group of entries.
    pub torn_bytes: u64,
}

/// One rate, or one number of users, that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Virtual users, with think times; null where the rate itself was set.
    pub users: Option<u32>,
    /// Transactions due in a second.
    pub rate_per_s: f64,
    /// Whether all were done, and those of the 99th percentile begun in time.
    pub on_time: bool,
    /// Transactions done while measuring.
    pub done: u64,
    /// Start after the due time, 99th percentile, seconds; null where none was done.
    pub lateness_p99_s: Option<f64>,
    /// From sending to the answer, median, seconds; null where none was done.
    pub service_p50_s: Option<f64>,
    /// CPU time of the driver while measuring, seconds.
    pub driver_cpu_s: f64,
}

/// The driver's highest rate and number of users were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrateSummary {
    /// Connections over which the rate was divided.
    pub connections: u32,
    /// The highest rate tried at which the driver was on time; null where it never was.
    pub rate_per_s_max: Option<f64>,
    /// Mean time between two transactions of a user, seconds; null where no users were to be tried.
    pub think_s: Option<f64>,
    /// The highest number of users tried with whom the driver was on time; null where it never was.
    pub users_max: Option<u32>,
    /// Whether more users were not tried because the search ends there.
    pub users_limit_reached: bool,
    /// Everything tried, in the order of the search.
    pub trials: Vec<Calibration>,
}

/// What the machine did of the baseline check's work; a round is always the same work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineSummary {
    /// Rounds of one thread alone, per second: the median of short slices.
    pub one_rounds_per_s: f64,
    /// The same of as many threads as there are CPUs for this process, summed up.
    pub all_rounds_per_s: f64,
    /// How many those are.
    pub threads: u32,
    /// Times of direct reads of 4 KiB, one after the other; null where they could not be done.
    pub reads: Option<Percentiles>,
    /// Why there are none; null where there are.
    pub reads_missing_because: Option<String>,
}
