//! What a window of load is asked, and what it gives.

use std::time::Duration;

use hdrhistogram::Histogram;
use stithy_measure::{packed, Counts, CpuUse, Interval, Moment, Phases, SystemClock, Unanswered};
use stithy_wire::{CommitGaps, ConnectionCounts, ErrorCount, PackedHistogram};

use crate::error::HammerError;

/// How long, and what is kept.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Names of the transaction types, in the workload's order.
    pub names: &'static [&'static str],
    /// Unix time at which users begin; None: as soon as they can.
    pub start_at: Option<Duration>,
    /// Before the measurement.
    pub ramp_up: Duration,
    /// The measurement.
    pub duration: Duration,
    /// Unexpected errors after which the run gives up.
    pub error_limit: u64,
    /// While no connection can be opened, the server is waited for so long.
    pub reconnect_limit: Duration,
    /// Where the interval logs go.
    pub hlog_stem: Option<String>,
    /// Whether other hammers have users of the same window, so that gaps of all are made of each one's.
    pub is_shared: bool,
}

/// What a window gave.
#[derive(Debug)]
pub struct Window {
    /// The clock of the users.
    pub clock: SystemClock,
    /// When the measurement began and ended.
    pub phases: Phases,
    /// How long after a start that was named the driver was awake; None where none was.
    pub woke_late: Option<Duration>,
    /// How late the driver was with the first transaction of all; None without any.
    pub first_late: Option<Duration>,
    /// After the last answer.
    pub ended: Moment,
    /// Whether it went on to its planned end and every answer came.
    pub complete: bool,
    /// The transactions of the measurement.
    pub measured: Interval,
    /// The transactions of the whole window.
    pub whole: Counts,
    /// Unexpected errors.
    pub errors: Vec<ErrorCount>,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Times without a success.
    pub gaps: CommitGaps,
    /// Transactions due in the measurement and not begun by its end.
    pub backlog: u64,
    /// Transactions due in the measurement and not answered by its end.
    pub unanswered: Unanswered,
    /// Transactions that nobody began because an answer held users up; None in an open loop, and
    /// where nothing was answered.
    pub suppressed_arrivals: Option<u64>,
    /// What the driver used while measuring.
    pub cpu: CpuUse,
}

/// A histogram as a message has it. Errors: one that cannot be packed (bug).
pub(crate) fn text_of(histogram: &Histogram<u64>) -> Result<PackedHistogram, HammerError> {
    packed(histogram)
        .map_err(|e| HammerError::bug(e.to_string(), "packing a histogram").caused_by(e))
}
