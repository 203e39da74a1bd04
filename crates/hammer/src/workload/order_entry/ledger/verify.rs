//! The job `verify-ledger`: what a run's ledger says, against what the database holds.
//!
//! Orders and payments are found by their dates, which no other row has. Both sides are read once, in
//! the order of the dates, and compared like two sorted lists.

use std::path::Path;
use std::pin::pin;

use futures_util::TryStreamExt;
use stithy_wire::{LedgerCounts, LedgerSummary, VerifyLedgerJob};
use tokio_postgres::{Client, Row};

use super::super::loaded::Loaded;
use super::compare::{holds, Comparison};
use super::format::{Deal, Entry, Head, Stage};
use super::read::{outcomes, read};
use crate::client::postgresql::Target;
use crate::client::Target as _;
use crate::error::HammerError;
use crate::stop::Stop;
use crate::workload::Context;

/// One state of the database, which this does not change; memory for sorting the rows of one run.
const SESSION: &str = "SET work_mem = '64MB'; SET jit = off; SET statement_timeout = 0; \
     BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// Compares the ledger with the database.
///
/// Errors: those of [`read`] and [`Loaded::read`], `ledger-of-other-data` (precondition), those of
/// connecting and of the server; `interrupted`.
pub async fn verify(
    job: &VerifyLedgerJob,
    context: Context<'_>,
) -> Result<LedgerSummary, HammerError> {
    let contents = read(Path::new(&job.ledger))?;
    let target = Target::parse(&job.url)?;
    let client = target.connect().await?;
    let loaded = Loaded::read(&target, &client, &job.workload).await?;
    refuse_other_data(&target, &contents.head, &loaded)?;
    let started = client.batch_execute(SESSION).await;
    started.map_err(|e| target.error("starting to verify", e))?;
    let mut database = Database {
        target,
        client,
        from_us: contents.head.started_us,
        context,
    };
    let orders = database.compare(Deal::Order, &contents.entries).await?;
    let payments = database.compare(Deal::Payment, &contents.entries).await?;
    Ok(LedgerSummary {
        holds: holds(&orders) && holds(&payments),
        orders,
        payments,
        torn_bytes: contents.torn_bytes,
    })
}

fn refuse_other_data(target: &Target, head: &Head, loaded: &Loaded) -> Result<(), HammerError> {
    if (head.loaded_seed, head.warehouses) == (loaded.seed, loaded.warehouses) {
        return Ok(());
    }
    Err(HammerError::precondition(
        "ledger-of-other-data",
        format!(
            "the ledger belongs to {} warehouses loaded with seed {}; the database holds {} loaded \
             with seed {}",
            head.warehouses, head.loaded_seed, loaded.warehouses, loaded.seed
        ),
        target.place(),
        "name the database that the ledger's run was made on",
    ))
}

/// The database that a ledger is compared with.
struct Database<'a> {
    target: Target,
    client: Client,
    from_us: i64,
    context: Context<'a>,
}

impl Database<'_> {
    /// Compares every row dated within the ledger's time with the entry of its date, if there is one.
    async fn compare(
        &mut self,
        deal: Deal,
        entries: &[Entry],
    ) -> Result<LedgerCounts, HammerError> {
        let failed = |e| self.target.error("reading what the ledger knows", e);
        let kept = outcomes(entries, deal);
        let until_us = kept.last().map_or(self.from_us, |last| last.date_us);
        let rows = self.client.query_raw(sql(deal), [self.from_us, until_us]);
        let mut rows = pin!(rows.await.map_err(failed)?);
        let mut kept = kept.iter().peekable();
        let mut comparison = Comparison::new(deal, &mut *self.context.sink);
        loop {
            let row = unless_stopped(&self.target, &mut self.context.stop, rows.try_next()).await?;
            let row = row.map_err(failed)?.map(|row| entry(deal, &row));
            let until_us = row.map_or(i64::MAX, |row| row.date_us);
            while let Some(absent) = kept.next_if(|entry| entry.date_us < until_us) {
                comparison.take(Some(absent), None);
            }
            let Some(row) = row else {
                return Ok(comparison.counts);
            };
            let known = kept.next_if(|entry| entry.date_us == row.date_us);
            comparison.take(known, Some(&row));
        }
    }
}

async fn unless_stopped<T>(
    target: &Target,
    stop: &mut Stop,
    reading: impl std::future::Future<Output = T>,
) -> Result<T, HammerError> {
    tokio::select! {
        read = reading => Ok(read),
        () = stop.wait() => Err(HammerError::interrupted(target.place())),
    }
}

/// A row as the ledger would have it, had it been acknowledged.
fn entry(deal: Deal, row: &Row) -> Entry {
    Entry {
        deal,
        stage: Stage::Acknowledged,
        date_us: row.get(0),
        d_id: row.get::<_, i16>(1) as u8,
        w_id: row.get::<_, i32>(2) as u32,
        number: row.get::<_, i32>(3) as u32,
        amount_cents: row.get::<_, i32>(4) as u32,
    }
}

/// Date, district, warehouse, number and amount of rows dated within two bounds, by date.
fn sql(deal: Deal) -> &'static str {
    match deal {
        Deal::Order => include_str!("../sql/postgresql/ledger/orders.sql"),
        Deal::Payment => include_str!("../sql/postgresql/ledger/payments.sql"),
    }
}
