//! One window of load: users start, ramp up, are measured, and drain; each second is told on time.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{
    missed_starts, Clock, Counts, CpuUse, Interval, IntervalLogs, Moment, Phases, Recorder,
    SystemClock, Unanswered,
};
use stithy_wire::{ConnectionCounts, ErrorCount};

use crate::conductor::Conductor;
use crate::crew::{Crew, Timing};
use crate::error::HammerError;
use crate::record::Record;
use crate::script::Script;
use crate::workload::Context;

/// How long, and what is kept.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Names of the transaction types, in the workload's order.
    pub names: &'static [&'static str],
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
}

/// What a window gave.
#[derive(Debug)]
pub struct Window {
    /// The clock of the users.
    pub clock: SystemClock,
    /// When the measurement began and ended.
    pub phases: Phases,
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
    /// Transactions due in the measurement and not begun by its end.
    pub unserved: u64,
    /// Transactions due in the measurement and not answered by its end.
    pub unanswered: Unanswered,
    /// Transactions that nobody began because an answer held users up; None in an open loop, and
    /// where nothing was answered.
    pub missed_starts: Option<u64>,
    /// What the driver used while measuring.
    pub cpu: CpuUse,
}

/// Drives a crew for one window.
///
/// Errors: `hlog-failed` (precondition) before anything starts.
pub async fn drive<S: Script>(
    crew: Crew<S>,
    plan: Plan,
    context: Context<'_>,
) -> Result<Window, HammerError> {
    let waits: Vec<bool> = (0..plan.names.len()).map(|kind| crew.waits(kind)).collect();
    let clock = SystemClock::start();
    let logs = open_logs(&plan, waits.contains(&true), &clock)?;
    let measure_from = Moment::START + plan.ramp_up;
    let phases = Phases {
        measured: measure_from..measure_from + plan.duration,
    };
    let recorder = Recorder::new(waits, phases);
    let connections = crew.connections();
    let record = Arc::new(Record::new(clock, recorder, connections, plan.error_limit));
    let (pools, closed) = (crew.all_pools(), closed_loop(&crew));
    let tasks = crew.start(&record);
    let window = Conductor::new(plan, record, logs, context)?
        .conduct(tasks)
        .await;
    for pool in pools {
        pool.close().await;
    }
    let mut window = window?;
    window.missed_starts = closed.and_then(|(wait, deferred)| {
        missed_starts(&window.measured, &window.unanswered, wait, deferred)
    });
    Ok(window)
}

/// What counting missed starts needs to know; None in an open loop, which misses none.
fn closed_loop<S: Script>(crew: &Crew<S>) -> Option<(Duration, Option<usize>)> {
    match crew.timing {
        Timing::Closed { wait_mean_s, .. } => {
            Some((Duration::from_secs_f64(wait_mean_s), crew.deferred()))
        }
        Timing::Open(_) => None,
    }
}

fn open_logs(
    plan: &Plan,
    waits: bool,
    clock: &SystemClock,
) -> Result<Option<IntervalLogs>, HammerError> {
    let Some(stem) = &plan.hlog_stem else {
        return Ok(None);
    };
    let logs = IntervalLogs::create(stem, plan.names, waits, clock.unix_start());
    logs.map(Some).map_err(|e| {
        let remedy = "name a folder that exists and can be written to in hlog_stem";
        HammerError::precondition("hlog-failed", e.to_string(), "hlog_stem", remedy).caused_by(e)
    })
}
