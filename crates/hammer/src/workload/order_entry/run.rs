//! The job `run`: one window of order entry, with the proof that orders were counted rightly.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{percentiles, priority, Clock, SystemClock};
use stithy_wire::{DriverCost, OrderNumbers, RunJob, RunSummary, Touched, TransactionTotal};

use super::input::NAMES;
use super::input_profile::{InputProfile, TouchedWarehouses};
use super::ledger::format::Head;
use super::ledger::write::Ledger;
use super::loaded::Loaded;
use super::order_book::{OrderBook, OrderKey};
use super::random::NurandConstants;
use super::sql::{self, Sql};
use super::terminal::{Books, Terminal};
use super::virtual_users::{virtual_users, Places};
use crate::client::{Control, Target, Value};
use crate::error::HammerError;
use crate::run::drive;
use crate::virtual_users::VirtualUsers;
use crate::window::{Plan, Window};
use crate::workload::Context;

/// After the run, a server that does not answer within this time is taken for gone.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Everything that stands ready before the first user acts.
struct Ready<T: Target> {
    target: T,
    sql: &'static Sql,
    profile: InputProfile,
    books: Books,
    users: VirtualUsers<Terminal, T::Session>,
    touched: Touched,
    order_numbers_before: u64,
}

/// Drives the database for one window.
///
/// Errors: those of [`TouchedWarehouses::of`], [`sql::of`], [`Loaded::read`], of connecting and
/// [`Control::require_connections`], and `interrupted`; once users act, whatever happens ends in a summary.
pub async fn run<T: Target>(job: &RunJob, context: Context<'_>) -> Result<RunSummary, HammerError> {
    let mut stop = context.stop.clone();
    let ready = tokio::select! {
        ready = make_ready::<T>(job) => ready?,
        () = stop.wait() => return Err(HammerError::interrupted("before the first transaction")),
    };
    let window = drive(ready.users, plan(job), context).await?;
    let before = ready.order_numbers_before;
    let order_numbers = compared(&ready.target, ready.sql, before, &ready.books.orders).await;
    let ledger = ready.books.ledger.map(|ledger| ledger.finish());
    Ok(RunSummary {
        touched: ready.touched,
        ledger,
        ..summary(job, ready.profile, &window, order_numbers)
    })
}

async fn make_ready<T: Target>(job: &RunJob) -> Result<Ready<T>, HammerError> {
    let touched = TouchedWarehouses::of(job)?;
    let sql = sql::of(T::ENGINE)?;
    let target = T::parse(&job.url)?;
    let control = target.connect().await?;
    let loaded = Loaded::read(target.place(), &control, sql, &job.workload).await?;
    let places = Places::of(job);
    control.require_connections(places.connections()).await?;
    let profile = InputProfile {
        constants: NurandConstants::for_run(job.seed, loaded.c_last_load),
        kind: job.profile,
        touched,
    };
    let books = open_books(job, &loaded)?;
    let users = virtual_users(job, &target, sql, places, profile, &books).await?;
    let order_numbers_before = order_numbers(&control, sql).await?;
    let touched = how_much_is_touched(&control, touched, job.workload.warehouses).await;
    Ok(Ready {
        target,
        sql,
        profile,
        books,
        users,
        touched,
        order_numbers_before,
    })
}

/// How much is in reach.
async fn how_much_is_touched(
    control: &impl Control,
    touched: TouchedWarehouses,
    warehouses_total: u32,
) -> Touched {
    let sizes = control.sizes().await;
    Touched {
        warehouses: touched.warehouses,
        warehouses_total,
        database_bytes: sizes.database_bytes,
        shared_buffers_bytes: sizes.cache_bytes,
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

fn summary(
    job: &RunJob,
    profile: InputProfile,
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
            warehouses: profile.touched.warehouses,
            warehouses_total: job.workload.warehouses,
            database_bytes: None,
            shared_buffers_bytes: None,
        },
        suppressed_arrivals: window.suppressed_arrivals,
        backlog: window.backlog,
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
        nurand: profile.constants.as_array(),
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

/// Sum of D_NEXT_O_ID; nothing else may run on the database.
async fn order_numbers(control: &impl Control, sql: &Sql) -> Result<u64, HammerError> {
    first_integer(control, "reading order numbers", sql.order_numbers, &[]).await
}

/// Reads the sum again and looks for the orders in doubt. What cannot be read is None.
async fn compared(target: &impl Target, sql: &Sql, before: u64, book: &OrderBook) -> OrderNumbers {
    let in_doubt = book.in_doubt();
    let read = async {
        let control = target.connect().await.ok()?;
        let found = found_orders(&control, sql, &in_doubt).await.ok();
        let after = order_numbers(&control, sql).await.ok();
        Some((after, found))
    };
    let read = tokio::time::timeout(ANSWER_LIMIT, read).await;
    let (after, in_doubt_found) = read.ok().flatten().unwrap_or((None, None));
    OrderNumbers {
        before: Some(before),
        after,
        acknowledged: book.acknowledged(),
        in_doubt: in_doubt.len() as u64,
        in_doubt_found,
    }
}

/// How many of these orders the database holds.
async fn found_orders(
    control: &impl Control,
    sql: &Sql,
    keys: &[OrderKey],
) -> Result<u64, HammerError> {
    let list = |value: fn(&OrderKey) -> i64| Value::Integers(keys.iter().map(value).collect());
    let lists = [
        list(|key| key.district.w_id.into()),
        list(|key| key.district.d_id.into()),
        list(|key| key.entry_us),
    ];
    first_integer(control, "looking for orders", sql.orders_found, &lists).await
}

async fn first_integer(
    control: &impl Control,
    doing: &str,
    sql: &str,
    values: &[Value],
) -> Result<u64, HammerError> {
    let rows = control.query(doing, sql, values).await?;
    let first = rows.first().and_then(|row| row.first());
    Ok(first.map_or(0, |value| value.integer().unsigned_abs()))
}
