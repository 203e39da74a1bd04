//! What the program writes: lines about its drives.

use serde::{Deserialize, Serialize};

use super::{
    CatalogueSummary, CheckProfileSummary, DriveBacking, ProfileFiguresSummary, ShippedProfile,
    ShippedSchedule,
};
use crate::{Failure, Percentiles, Started, Warning};

/// One line of output; `message` in the JSON names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum DriveMessage {
    /// The job was read and begins.
    Started(Started),
    /// A drive is up.
    DriveReady(DriveReady),
    /// Every drive of the job is up and the control socket answers.
    Serving,
    /// One second of a drive.
    DriveSecond(Box<DriveCounters>),
    /// Something a reader should know; the job goes on.
    Warning(Warning),
    /// The job cannot go on; the program ends with an exit code other than 0.
    Failure(Failure),
    /// A drive is down; its counters since it came up.
    DriveSummary(Box<DriveCounters>),
    /// A drive profile that is shipped.
    ShippedProfile(Box<ShippedProfile>),
    /// A schedule of faults that is shipped.
    ShippedSchedule(ShippedSchedule),
    /// All that is shipped was reported.
    CatalogueSummary(CatalogueSummary),
    /// A drive profile was judged.
    CheckProfileSummary(Box<CheckProfileSummary>),
    /// A drive of a profile was simulated.
    ProfileFiguresSummary(ProfileFiguresSummary),
}

/// A drive that is up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriveReady {
    /// Its name.
    pub drive: String,
    /// Its block device.
    pub device: String,
    /// How large it is.
    pub size_bytes: u64,
    /// The smallest unit of a request.
    pub sector_bytes: u32,
    /// Where its bytes lie.
    pub backing: DriveBacking,
    /// Its profile's name; null where it has none.
    pub profile: Option<String>,
    /// By which the profile was divided.
    pub scale: f64,
    /// What a power cut may take away of answered writes at most; null: nothing.
    pub volatile_bytes: Option<u64>,
    /// How requests reach it: `fuse`.
    pub transport: String,
    /// The transport's latency, by which answers are made earlier: of a read of 4 KiB.
    pub transport_s: f64,
    /// How long before an answer is due waiting becomes spinning.
    pub spin_s: f64,
    /// Whether requests take the profile's time.
    pub paced: bool,
}

/// What a drive did in a second, or since it came up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriveCounters {
    /// The drive's name.
    pub drive: String,
    /// Unix time at which the time counted begins, seconds.
    pub at_s: f64,
    /// How long it is.
    pub duration_s: f64,
    /// One entry an operation, always all.
    pub operations: Vec<OperationCounters>,
    /// Requests under way at the end.
    pub depth: u64,
    /// Most requests under way at once.
    pub depth_max: u64,
    /// Bytes in the drive's cache that have not reached its medium; null where it has none.
    pub cache_fill_bytes: Option<u64>,
    /// Bytes that a power cut could take away.
    pub volatile_bytes: u64,
    /// How much later than due answers were given: the emulation's own fault.
    pub late: Percentiles,
    /// Answers that were late by more than 5 % of the time they were due to take, and by more than 50 µs.
    pub late_answers: u64,
    /// CPU time of the drive's thread and of those that read and write its image in a file; null where the kernel does not tell.
    pub cpu_s: Option<f64>,
    /// How long its thread had something to do and no CPU to do it on; null as above. Requests that
    /// arrived in that time are older than their latency says.
    pub cpu_wait_s: Option<f64>,
    /// What it drew by the watts of its profile, joules; null where the profile states none.
    pub energy_j: Option<f64>,
    /// Whether requests take the profile's time, at the end.
    pub paced: bool,
}

/// One operation of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationCounters {
    /// `read`, `write`, `flush` or `discard`.
    pub name: String,
    /// Answered, errors included.
    pub answered: u64,
    /// Bytes moved.
    pub moved_bytes: u64,
    /// Answered with an error.
    pub errors: u64,
    /// What profile and faults gave, and the lateness.
    pub latency: Percentiles,
    /// The mean of what profile and faults gave; null where none was answered.
    pub given_mean_s: Option<f64>,
    /// The mean of how much earlier than that answers were due, for the way through the kernel; null as above.
    pub earlier_mean_s: Option<f64>,
}
