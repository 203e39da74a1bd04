//! One window of load: users start, ramp up, are measured, and drain; each second is told on time.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{
    Clock, Counts, CpuUse, Interval, IntervalLogs, Moment, Phases, Recorder, SystemClock,
};
use stithy_wire::ErrorCount;
use tokio::task::JoinSet;

use crate::client::postgresql::Session;
use crate::conductor::Conductor;
use crate::error::HammerError;
use crate::pace::{BackToBack, Pace};
use crate::record::Record;
use crate::script::Script;
use crate::user::User;
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
    /// Connections lost.
    pub lost: u64,
    /// What the driver used while measuring.
    pub cpu: CpuUse,
}

/// Drives users, each with its script and session, back to back for one window.
///
/// Errors: as [`drive_paced`].
pub async fn drive<S: Script>(
    users: Vec<(S, Session)>,
    plan: Plan,
    context: Context<'_>,
) -> Result<Window, HammerError> {
    let paced = |(script, session)| (script, BackToBack, session);
    drive_paced(users.into_iter().map(paced).collect(), plan, context).await
}

/// Drives users, each with its script, pace and session, for one window.
///
/// Errors: `hlog-failed` (precondition) before anything starts.
pub async fn drive_paced<S: Script, P: Pace + Send + 'static>(
    users: Vec<(S, P, Session)>,
    plan: Plan,
    context: Context<'_>,
) -> Result<Window, HammerError> {
    let clock = SystemClock::start();
    let logs = open_logs(&plan, &clock)?;
    let measure_from = Moment::START + plan.ramp_up;
    let phases = Phases {
        measured: measure_from..measure_from + plan.duration,
    };
    let recorder = Recorder::new(plan.names.len(), phases);
    let record = Arc::new(Record::new(clock, recorder, plan.error_limit));
    let mut tasks = JoinSet::new();
    for (script, pace, session) in users {
        let record = record.clone();
        let user = User {
            script,
            pace,
            session,
            record,
        };
        tasks.spawn(user.live());
    }
    Conductor::new(plan, record, logs, context)?
        .conduct(tasks)
        .await
}

fn open_logs(plan: &Plan, clock: &SystemClock) -> Result<Option<IntervalLogs>, HammerError> {
    let Some(stem) = &plan.hlog_stem else {
        return Ok(None);
    };
    let logs = IntervalLogs::create(stem, plan.names, clock.unix_start());
    logs.map(Some).map_err(|e| {
        let remedy = "name a folder that exists and can be written to in hlog_stem";
        HammerError::precondition("hlog-failed", e.to_string(), "hlog_stem", remedy).caused_by(e)
    })
}
