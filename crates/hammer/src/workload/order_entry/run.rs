//! The job `run`: one window of order entry, with the proof that orders were counted rightly.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{percentiles, priority, Clock, SystemClock};
use stithy_wire::{DriverCost, OrderNumbers, RunJob, RunSummary, Touched, TransactionTotal};
use tokio_postgres::Client;

use super::crew::{crew, Places};
use super::habit::{Habit, Reach};
use super::input::NAMES;
use super::ledger::format::Head;
use super::ledger::write::Ledger;
use super::loaded::Loaded;
use super::order_book::OrderBook;
use super::order_numbers;
use super::random::NurandConstants;
use super::terminal::{Books, Terminal};
use crate::client::postgresql::Target;
use crate::connections;
use crate::crew::Crew;
use crate::error::HammerError;
use crate::run::{drive, Plan, Window};
use crate::workload::Context;

/// Everything that stands ready before the first user acts.
struct Ready {
    target: Target,
    habit: Habit,
    books: Books,
    crew: Crew<Terminal>,
    touched: Touched,
    order_numbers_before: u64,
}

/// Drives the database for one window.
///
/// Errors: those of [`Reach::of`], [`Loaded::read`], of connecting and of [`connections::require`],
/// and `interrupted`; once users act, whatever happens ends in a summary.
pub async fn run(job: &RunJob, context: Context<'_>) -> Result<RunSummary, HammerError> {
    let mut stop = context.stop.clone();
    let ready = tokio::select! {
        ready = make_ready(job) => ready?,
        () = stop.wait() => return Err(HammerError::interrupted("before the first transaction")),
    };
    let window = drive(ready.crew, plan(job), context).await?;
    let before = ready.order_numbers_before;
    let order_numbers = order_numbers::compare(&ready.target, before, &ready.books.orders).await;
    let ledger = ready.books.ledger.map(|ledger| ledger.finish());
    Ok(RunSummary {
        touched: ready.touched,
        ledger,
        ..summary(job, ready.habit, &window, order_numbers)
    })
}

async fn make_ready(job: &RunJob) -> Result<Ready, HammerError> {
    let reach = Reach::of(job)?;
    let target = Target::parse(&job.url)?;
    let client = target.connect().await?;
    let loaded = Loaded::read(&target, &client, &job.workload).await?;
    let places = Places::of(job);
    connections::require(&target, &client, places.connections()).await?;
    let habit = Habit {
        constants: NurandConstants::for_run(job.seed, loaded.c_last_load),
        profile: job.profile,
        reach,
    };
    let books = open_books(job, &loaded)?;
    let crew = crew(job, &target, places, habit, &books).await?;
    let order_numbers_before = order_numbers::sum(&target, &client).await?;
    let touched = touched(&client, reach, job.workload.warehouses).await;
    Ok(Ready {
        target,
        habit,
        books,
        crew,
        touched,
        order_numbers_before,
    })
}

/// How much is in reach; sizes that cannot be read are None.
async fn touched(client: &Client, reach: Reach, warehouses_total: u32) -> Touched {
    let sql = "SELECT pg_database_size(current_database()), \
                      pg_size_bytes(current_setting('shared_buffers'))";
    let row = client.query_one(sql, &[]).await.ok();
    let size = |at: usize| row.as_ref()?.try_get::<_, i64>(at).ok()?.try_into().ok();
    Touched {
        warehouses: reach.warehouses,
        warehouses_total,
        database_bytes: size(0),
        shared_buffers_bytes: size(1),
    }
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
        reconnect_limit: Duration::from_secs_f64(job.reconnect_limit_s),
        hlog_stem: job.hlog_stem.clone(),
    }
}

fn summary(job: &RunJob, habit: Habit, window: &Window, order_numbers: OrderNumbers) -> RunSummary {
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
            warehouses: habit.reach.warehouses,
            warehouses_total: job.workload.warehouses,
            database_bytes: None,
            shared_buffers_bytes: None,
        },
        missed_starts: window.missed_starts,
        unserved: window.unserved,
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
        connections: window.connections.clone(),
        nurand: habit.constants.as_array(),
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
            pool_wait: record.pool_wait.as_ref().map(percentiles),
        })
        .collect()
}
