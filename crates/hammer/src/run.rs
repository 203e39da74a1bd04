//! One window of load: users start, ramp up, are measured, and drain; each second is reported on time.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{
    suppressed_arrivals, Clock, IntervalLogs, Moment, Phases, Recorder, SystemClock,
};

use crate::engines::Session;
use crate::error::HammerError;
use crate::record::Record;
use crate::run_controller::RunController;
use crate::transaction_script::TransactionScript;
use crate::virtual_users::{Timing, VirtualUsers};
use crate::window::{Plan, Window};
use crate::workloads::Context;

/// Drives virtual users for one window.
///
/// Errors: `hlog-failed` (precondition) before anything starts.
pub async fn drive<S: TransactionScript, C: Session>(
    users: VirtualUsers<S, C>,
    plan: Plan,
    context: Context<'_>,
) -> Result<Window, HammerError> {
    let waits: Vec<bool> = (0..plan.names.len())
        .map(|kind| users.waits(kind))
        .collect();
    let clock = plan
        .start_at
        .map_or_else(SystemClock::start, SystemClock::starting_at);
    let logs = open_logs(&plan, waits.contains(&true), &clock)?;
    let measure_from = Moment::START + plan.ramp_up;
    let phases = Phases {
        measured: measure_from..measure_from + plan.duration,
    };
    let recorder = Recorder::new(waits, phases);
    let connections = users.connections();
    let (limit, is_shared) = (plan.error_limit, plan.is_shared);
    let record = Arc::new(Record::new(clock, recorder, connections, limit, is_shared));
    let (pools, closed) = (users.all_pools(), closed_loop(&users));
    let mut stop = context.stop.clone();
    let controller = RunController::new(plan, record.clone(), logs, context)?;
    let tasks = users.start(&record);
    let woke_late = tokio::select! {
        late = wait_for_start(&record) => late?,
        () = stop.wait() => return Err(HammerError::interrupted("before the first transaction")),
    };
    let window = controller.control(tasks).await;
    for pool in pools {
        pool.close().await;
    }
    let mut window = window?;
    window.woke_late = woke_late;
    window.suppressed_arrivals = closed.and_then(|(wait, unattended)| {
        suppressed_arrivals(&window.measured, &window.unanswered, wait, &unattended)
    });
    Ok(window)
}

/// Waits for a start that was named, while users take their seats; gives how long after it this driver was awake.
///
/// Nothing depends on that: users' times count from the named start, and who begins later is late.
///
/// Errors: `start-missed` (precondition) where it is over.
async fn wait_for_start(record: &Record) -> Result<Option<Duration>, HammerError> {
    if !record.clock.is_planned {
        return Ok(None);
    }
    let missed = record.now().since(Moment::START);
    if !missed.is_zero() {
        return Err(HammerError::precondition(
            "start-missed",
            format!(
                "the connections were there {:.3} s after the start",
                missed.as_secs_f64()
            ),
            "start_at_s",
            "give a later start, so that every hammer has opened its connections by then",
        ));
    }
    record.wait_until(Moment::START).await;
    Ok(Some(record.now().since(Moment::START)))
}

/// What counting suppressed arrivals needs to know; None in an open loop, which misses none.
fn closed_loop<S: TransactionScript, C: Session>(
    users: &VirtualUsers<S, C>,
) -> Option<(Duration, Vec<usize>)> {
    match users.timing {
        Timing::Closed { wait_mean_s, .. } => {
            Some((Duration::from_secs_f64(wait_mean_s), users.unattended()))
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
