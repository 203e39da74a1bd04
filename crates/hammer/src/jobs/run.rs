//! The job `run`: one window of a workload, with the proof that its transactions were counted rightly.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use stithy_measure::{priority, Clock, Moment, TypeRecord};
use stithy_wire::{
    DriverCost, LedgerWritten, Proof, RunJob, RunSummary, Share, Sizes, TransactionTotal,
};

use super::Found;
use crate::engines::{Control, Target};
use crate::error::HammerError;
use crate::ledger::write::Ledger;
use crate::ledger::Head;
use crate::run::drive;
use crate::seating::{seat, Places};
use crate::share::count;
use crate::virtual_users::VirtualUsers;
use crate::window::{text_of, Plan, Window};
use crate::workloads::{Context, Run, Workload};

/// After the run, a server that does not answer within this time is taken for gone.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Everything that stands ready before the first user acts.
struct Ready<T: Target, R: Run> {
    target: T,
    run: R,
    ledger: Option<Arc<Ledger>>,
    users: VirtualUsers<R::Script, T::Session>,
    sizes: Sizes,
    count_before: u64,
}

/// Drives the database for one window.
///
/// Errors: those of the workload's options and of [`Found::at`], of connecting and
/// [`Control::require_connections`], and `interrupted`; once users act, whatever happens ends in a
/// summary.
pub(super) async fn run<T: Target, W: Workload>(
    job: &RunJob,
    context: Context<'_>,
) -> Result<RunSummary, HammerError> {
    let mut stop = context.stop.clone();
    let ready = tokio::select! {
        ready = make_ready::<T, W>(job) => ready?,
        () = stop.wait() => return Err(HammerError::interrupted("before the first transaction")),
    };
    let window = drive(ready.users, plan::<W>(job), context).await?;
    let proof = compared(&ready.target, &ready.run, ready.count_before).await;
    let written = ready.ledger.map(|ledger| ledger.finish());
    let told = ready.run.told();
    summary::<W>(job, told, ready.sizes, &window, proof, written)
}

async fn make_ready<T: Target, W: Workload>(job: &RunJob) -> Result<Ready<T, W::Run>, HammerError> {
    let options = W::options(&job.workload)?;
    W::refuse_misfit(&options, job.users)?;
    refuse_indivisible::<W>(job.share)?;
    let found = Found::<T, W>::at(&job.url, options).await?;
    let ledger = open_ledger(job, &found)?;
    let run = W::run(job, &found.base, ledger.clone())?;
    let places = Places::of(job, &run);
    let (target, control) = (found.target, found.control);
    control.require_connections(places.connections()).await?;
    let users = seat(job, &target, places, &run).await?;
    if job.share.number == 0 {
        run.clean_up(&control).await?;
    }
    let count_before = run.count(&control).await?;
    let sizes = control.sizes().await;
    Ok(Ready {
        target,
        run,
        ledger,
        users,
        sizes,
        count_before,
    })
}

/// Errors: `job-invalid` (usage) where users of several hammers would not know of each other what they must.
fn refuse_indivisible<W: Workload>(share: Share) -> Result<(), HammerError> {
    if W::IS_DIVISIBLE || share.of == 1 {
        return Ok(());
    }
    let problem = format!("the users of {} on several hammers", W::NAME);
    let remedy = "let one hammer drive them all";
    Err(HammerError::usage("job-invalid", problem, "share", remedy))
}

/// Makes the ledger's file, where the job wants one. Errors: those of [`Ledger::create`].
fn open_ledger<T: Target, W: Workload>(
    job: &RunJob,
    found: &Found<T, W>,
) -> Result<Option<Arc<Ledger>>, HammerError> {
    let Some(path) = &job.ledger else {
        return Ok(None);
    };
    let head = Head {
        workload: W::NAME.into(),
        loaded: W::loaded(&found.base.facts),
        run_seed: job.seed,
    };
    Ledger::create(path.as_ref(), &head).map(|ledger| Some(Arc::new(ledger)))
}

fn plan<W: Workload>(job: &RunJob) -> Plan {
    Plan {
        names: W::TYPES,
        // What is no time lies long before now.
        start_at: job
            .start_at_s
            .map(|at_s| Duration::try_from_secs_f64(at_s).unwrap_or_default()),
        ramp_up: Duration::from_secs_f64(job.ramp_up_s),
        duration: Duration::from_secs_f64(job.duration_s),
        error_limit: job.error_limit,
        reconnect_limit: Duration::from_secs_f64(job.reconnect_limit_s),
        hlog_stem: job.hlog_stem.clone(),
        is_shared: job.share.of > 1,
    }
}

/// Counts again and looks for what is in doubt. What cannot be read is None.
async fn compared(target: &impl Target, run: &impl Run, before: u64) -> Proof {
    let read = async {
        let control = target.connect().await.ok()?;
        let found = run.found(&control).await.ok();
        let after = run.count(&control).await.ok();
        Some((after, found))
    };
    let read = tokio::time::timeout(ANSWER_LIMIT, read).await;
    let (after, in_doubt_found) = read.ok().flatten().unwrap_or((None, None));
    let account = run.account();
    Proof {
        before: Some(before),
        after,
        acknowledged: account.acknowledged,
        in_doubt: account.in_doubt,
        in_doubt_found,
    }
}

fn summary<W: Workload>(
    job: &RunJob,
    workload: Map<String, Value>,
    sizes: Sizes,
    window: &Window,
    proof: Proof,
    ledger: Option<LedgerWritten>,
) -> Result<RunSummary, HammerError> {
    let (whole, measured) = (&window.whole, &window.phases.measured);
    let unix_s = |moment| window.clock.unix_s(moment);
    Ok(RunSummary {
        started_at_s: unix_s(Moment::START),
        woke_late_s: window.woke_late.map(|late| late.as_secs_f64()),
        first_late_s: window.first_late.map(|late| late.as_secs_f64()),
        measure_from_s: unix_s(measured.start),
        measure_to_s: unix_s(measured.end),
        ended_at_s: unix_s(window.ended),
        complete: window.complete,
        users: count(job.share, job.users),
        workload,
        sizes,
        suppressed_arrivals: window.suppressed_arrivals,
        backlog: window.backlog,
        transactions: totals(W::TYPES, window)?,
        commits: whole.committed,
        rollbacks: whole.rolled_back + whole.errors + whole.retries,
        lateness: text_of(&window.measured.late())?,
        proof,
        errors: window.errors.clone(),
        driver: DriverCost {
            cpu_s: window.cpu.cpu.as_secs_f64(),
            run_queue_delay_s: window.cpu.run_queue_delay.map(|delay| delay.as_secs_f64()),
            nice: priority::nice(),
        },
        connections: window.connections.clone(),
        gaps: window.gaps.clone(),
        ledger,
    })
}

fn totals(names: &[&str], window: &Window) -> Result<Vec<TransactionTotal>, HammerError> {
    let types = names.iter().zip(&window.measured.types);
    let total = |(name, record): (&&str, &TypeRecord)| {
        Ok(TransactionTotal {
            name: (*name).to_string(),
            committed: record.counts.committed,
            rolled_back: record.counts.rolled_back,
            errors: record.counts.errors,
            retries: record.counts.retries,
            response: text_of(&record.response)?,
            service: text_of(&record.service)?,
            pool_wait: record.pool_wait.as_ref().map(text_of).transpose()?,
        })
    };
    types.map(total).collect()
}
