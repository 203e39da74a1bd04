//! What the emulated drive is asked to do, and what it answers.
//!
//! `stithy-drive` reads one [`DriveJob`] on standard input and writes one [`DriveMessage`] a line on standard
//! output. While it serves it reads one [`ControlRequest`] a line from its socket and answers each with
//! one [`ControlAnswer`] a line.

use serde::{Deserialize, Serialize};

use crate::{Failure, Percentiles, Started, Warning};

/// One task for the drive program; `job` in the JSON names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum DriveJob {
    /// Serve drives until told to stop.
    DriveUp(DriveUpJob),
}

/// Serve drives until told to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveUpJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Path of the control socket; it is made with mode 0600. A file that is there already is refused,
    /// unless it is a socket that a killed program left.
    pub control: String,
    /// The drives that are up from the start; `up` on the control socket adds others.
    pub drives: Vec<DriveSpec>,
    /// Keep CPUs out of deep idle states while drives are up, which wakes them faster.
    pub hold_off_idle: bool,
}

/// One drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Its name, unique in the program.
    pub name: String,
    /// How large it is; a multiple of `sector_bytes`.
    pub size_bytes: u64,
    /// The smallest unit of a request: 512 or 4096.
    pub sector_bytes: u32,
    /// Where its bytes lie.
    pub backing: DriveBacking,
    /// Bytes of answered writes that a power cut may take away at most; older ones have reached the medium.
    /// Null: the cache is protected, nothing answered is ever lost.
    pub volatile_bytes: Option<u64>,
    /// The drive profile, as TOML; null: it takes no time.
    pub profile: Option<String>,
    /// Seed of every draw.
    pub seed: u64,
    /// The transport's own time, by which answers are made earlier.
    pub transport_s: f64,
    /// How long before an answer is due waiting becomes spinning.
    pub spin_s: f64,
}

/// Where the bytes of a drive lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DriveBacking {
    /// In memory; gone with the program.
    Memory,
    /// In a sparse file, with direct I/O.
    File {
        /// Made where there is none.
        path: String,
    },
}

/// What can go wrong with a drive. Kinds add up; the same kind replaces the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DriveFault {
    /// Ends stall, slow, errors, gone and lying flush.
    None,
    /// Nothing is answered for a while.
    Stall {
        /// How long.
        duration_s: f64,
    },
    /// Some requests take longer.
    Slow {
        /// By which their time is multiplied, at least 1.
        factor: f64,
        /// What is added then.
        added_s: f64,
        /// Share of the requests, 0 to 1.
        share: f64,
    },
    /// Some requests fail with an I/O error.
    Errors {
        /// Reads fail.
        reads: bool,
        /// Writes, flushes and discards fail.
        writes: bool,
        /// Only requests that touch the range from here; flushes have none.
        offset_bytes: u64,
        /// How long the range is; null: to the end.
        length_bytes: Option<u64>,
        /// Share of these requests, 0 to 1.
        share: f64,
    },
    /// Every request fails, those under way too.
    Gone,
    /// Bits of the image flip, unknown to the drive.
    Corrupt {
        /// Where the range begins.
        offset_bytes: u64,
        /// How long it is.
        length_bytes: u64,
        /// How many bits flip.
        bits: u64,
        /// Seed of the choice.
        seed: u64,
    },
    /// Flushes are answered at once and promise nothing; a protected cache protects nothing meanwhile.
    LyingFlush,
    /// What was not flushed is decided about, and every request fails until `power-on`.
    PowerCut {
        /// Seed of the choice.
        seed: u64,
        /// Share of the volatile writes that are lost whole.
        lost_share: f64,
        /// Share of which each unit is kept or lost by itself.
        torn_share: f64,
        /// What is never torn itself: 512 or 4096.
        unit_bytes: u32,
    },
    /// The drive comes back after a power cut.
    PowerOn,
}

/// One line to the control socket; `command` in the JSON names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlRequest {
    /// Make one more drive.
    Up {
        /// The drive.
        spec: Box<DriveSpec>,
    },
    /// Which drives are up.
    List,
    /// The counters of a drive since it came up.
    Stats {
        /// The drive's name.
        drive: String,
    },
    /// Change how a drive waits.
    Set {
        /// The drive's name.
        drive: String,
        /// As in [`DriveSpec`].
        transport_s: f64,
        /// As in [`DriveSpec`].
        spin_s: f64,
    },
    /// Break a drive, or mend it.
    Fault {
        /// The drive's name.
        drive: String,
        /// What happens.
        fault: DriveFault,
    },
    /// Take a drive down, or all and the program with them.
    Down {
        /// The drive's name; null: all.
        drive: Option<String>,
    },
}

/// One line from the control socket; `answer` in the JSON names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum ControlAnswer {
    /// It is done.
    Done,
    /// A drive is up.
    Up(DriveReady),
    /// The drives that are up.
    List {
        /// In the order of their names.
        drives: Vec<DriveReady>,
    },
    /// The counters of a drive.
    Stats(Box<DriveCounters>),
    /// The power is cut.
    PowerCut(CutCounts),
    /// It cannot be done.
    Failure(Failure),
}

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
}

/// A drive that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveReady {
    /// Its name.
    pub drive: String,
    /// Its block device.
    pub device: String,
    /// How large it is.
    pub size_bytes: u64,
}

/// What became of the writes that were volatile when the power was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutCounts {
    /// Kept whole.
    pub kept: u64,
    /// Kept in part.
    pub torn: u64,
    /// Lost whole.
    pub lost: u64,
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
    /// From arrival to answer.
    pub latency: Percentiles,
}
