//! What the control socket reads and answers.

use serde::{Deserialize, Serialize};

use super::{CutCounts, DriveCounters, DriveFault, DriveReady, DriveSpec};
use crate::Failure;

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
    /// Change how a drive waits. What is null stays.
    Set {
        /// The drive's name.
        drive: String,
        /// As in [`DriveSpec`]; null: as it is.
        transport_s: Option<f64>,
        /// As in [`DriveSpec`]; null: as it is.
        spin_s: Option<f64>,
        /// Whether requests take the profile's time. Unpaced they take none, and the drive does not age; null: as
        /// it is.
        paced: Option<bool>,
    },
    /// Keep what of a drive outlasts its requests: its cache's fill, how far sustained writing went. There is
    /// room for one.
    Snapshot {
        /// The drive's name.
        drive: String,
    },
    /// Put back what the last `snapshot` kept, so that putting its content back does not age the drive.
    Restore {
        /// The drive's name.
        drive: String,
    },
    /// Write down each request of a drive, or end that.
    Trace {
        /// The drive's name.
        drive: String,
        /// Where to; null: no more.
        path: Option<String>,
    },
    /// Break a drive, or repair it.
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
    /// A trace begins, with nothing written yet, or has ended.
    Trace(TraceCounts),
    /// It cannot be done.
    Failure(Failure),
}

/// What a trace holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCounts {
    /// The drive's name.
    pub drive: String,
    /// The trace.
    pub path: String,
    /// Requests in it.
    pub written: u64,
    /// Requests that were answered faster than the trace could be written, and are not in it.
    pub lost: u64,
}
