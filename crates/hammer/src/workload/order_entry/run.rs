//! The job `run`: one window of order entry, with the proof that orders were counted rightly.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{percentiles, priority, Clock, SystemClock};
use stithy_wire::{
    ConnectionCounts, DriverCost, OrderNumbers, RunJob, RunSummary, Touched, TransactionTotal,
};

use super::input::{Draws, NAMES};
use super::ledger::format::Head;
use super::ledger::write::Ledger;
use super::loaded::Loaded;
use super::order_book::OrderBook;
use super::order_numbers;
use super::random::NurandConstants;
use super::terminal::{Books, Terminal};
use super::way::Way;
use crate::client::postgresql::{Session, Target};
use crate::connections;
use crate::error::HammerError;
use crate::run::{drive, Plan, Window};
use crate::workload::Context;

/// Everything that stands ready before the first user acts.
struct Ready {
    target: Target,
    constants: NurandConstants,
    books: Books,
    users: Vec<(Terminal, Session)>,
    order_numbers_before: u64,
}

/// Drives the database for one window.
///
/// Errors: those of [`Loaded::read`], of connecting and of [`connections::require`], and
/// `interrupted`; once users act, whatever happens ends in a summary.
pub async fn run(job: &RunJob, context: Context<'_>) -> Result<RunSummary, HammerError> {
    let mut stop = context.stop.clone();
    let ready = tokio::select! {
        ready = make_ready(job) => ready?,
        () = stop.wait() => return Err(HammerError::interrupted("before the first transaction")),
    };
    let window = drive(ready.users, plan(job), context).await?;
    let before = ready.order_numbers_before;
    let order_numbers = order_numbers::compare(&ready.target, before, &ready.books.orders).await;
    let ledger = ready.books.ledger.map(|ledger| ledger.finish());
    Ok(RunSummary {
        ledger,
        ..summary(job, ready.constants, &window, order_numbers)
    })
}

async fn make_ready(job: &RunJob) -> Result<Ready, HammerError> {
    let target = Target::parse(&job.url)?;
    let client = target.connect().await?;
    let loaded = Loaded::read(&target, &client, &job.workload).await?;
    connections::require(&target, &client, job.users).await?;
    let constants = NurandConstants::for_run(job.seed, loaded.c_last_load);
    let sessions = connections::open(&target, job.users, job.isolation).await?;
    let books = open_books(job, &loaded)?;
    let users = seat(job, &target, constants, &books, sessions).await?;
    let order_numbers_before = order_numbers::sum(&target, &client).await?;
    Ok(Ready {
        target,
        constants,
        books,
        users,
        order_numbers_before,
    })
}

fn open_books(job: &RunJob, loaded: &Loaded) -> Result<Books, HammerError> {
    let orders = Arc::new(OrderBook::new(job.users));
    let unix_us = SystemClock::start().unix_start().as_micros() as i64;
    let head = Head {
        workload: job.workload.name.clone(),
        warehouses: loaded.warehouses,
        loaded_seed: loaded.seed,
        run_seed: job.seed,
        started_us: orders.unique_date(unix_us),
    };
    let create = |path: &String| Ledger::create(path.as_ref(), &head);
    let ledger = job.ledger.as_ref().map(create).transpose()?;
    Ok(Books {
        orders,
        ledger: ledger.map(Arc::new),
    })
}

fn plan(job: &RunJob) -> Plan {
    Plan {
        names: NAMES,
        ramp_up: Duration::from_secs_f64(job.ramp_up_s),
        duration: Duration::from_secs_f64(job.duration_s),
        error_limit: job.error_limit,
        hlog_stem: job.hlog_stem.clone(),
    }
}

/// Gives each user its session and its script.
async fn seat(
    job: &RunJob,
    target: &Target,
    constants: NurandConstants,
    books: &Books,
    sessions: Vec<Session>,
) -> Result<Vec<(Terminal, Session)>, HammerError> {
    let clock = SystemClock::start();
    let mut users = Vec::with_capacity(sessions.len());
    for (user, mut session) in (0..).zip(sessions) {
        let way = Way::prepare(&mut session, job.procedures).await;
        let way = way.map_err(|e| connections::failed(target, "preparing statements", e))?;
        let draws = Draws::new(job.seed, user, constants, job.workload.warehouses);
        users.push((
            Terminal::new(user, draws, books.clone(), clock, way),
            session,
        ));
    }
    Ok(users)
}

fn summary(
    job: &RunJob,
    constants: NurandConstants,
    window: &Window,
    order_numbers: OrderNumbers,
) -> RunSummary {
    let (whole, measured) = (&window.whole, &window.phases.measured);
    let unix_s = |moment| window.clock.unix_s(moment);
    RunSummary {
        started_at_s: unix_s(stithy_measure::Moment::START),
        measure_from_s: unix_s(measured.start),
        measure_to_s: unix_s(measured.end),
        ended_at_s: unix_s(window.ended),
        complete: window.complete,
        users: job.users,
        profile: job.profile,
        touched: Touched {
            warehouses: job.workload.warehouses,
            warehouses_total: job.workload.warehouses,
            database_bytes: None,
            shared_buffers_bytes: None,
        },
        missed_starts: None,
        unserved: 0,
        transactions: totals(window),
        commits: whole.committed,
        rollbacks: whole.rolled_back + whole.errors + whole.retries,
        lateness: percentiles(&window.measured.late()),
        order_numbers,
        errors: window.errors.clone(),
        driver: DriverCost {
            cpu_s: window.cpu.cpu.as_secs_f64(),
            run_queue_delay_s: window.cpu.run_queue_delay.map(|delay| delay.as_secs_f64()),
            nice: priority::nice(),
        },
        connections: ConnectionCounts {
            opened: job.users.into(),
            lost: window.lost,
            reopened: 0,
            first_success_s: None,
        },
        nurand: constants.as_array(),
        ledger: None,
    }
}

fn totals(window: &Window) -> Vec<TransactionTotal> {
    let types = NAMES.iter().zip(&window.measured.types);
    types
        .map(|(name, record)| TransactionTotal {
            name: (*name).to_string(),
            committed: record.counts.committed,
            rolled_back: record.counts.rolled_back,
            errors: record.counts.errors,
            retries: record.counts.retries,
            response: percentiles(&record.response),
            service: percentiles(&record.service),
            pool_wait: None,
        })
        .collect()
}
