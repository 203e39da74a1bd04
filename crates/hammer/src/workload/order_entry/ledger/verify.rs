//! The job `verify-ledger`: what a run's ledger says, against what the database holds.
//!
//! Orders and payments are found by their dates, which no other row has. Both sides are read once, in
//! the order of the dates, and compared like two sorted lists.

use std::collections::BTreeMap;
use std::path::Path;

use stithy_wire::{LedgerCounts, LedgerSummary, VerifyLedgerJob};

use super::super::loaded::Loaded;
use super::super::options::Options;
use super::super::sql::{self, Sql};
use super::compare::{holds, Comparison};
use super::format::{Deal, Entry, Head, Stage};
use super::read::{outcomes, read};
use crate::client::{Control, Target, Value};
use crate::error::HammerError;
use crate::workload::Context;

/// Compares the ledger with the database.
///
/// Errors: those of [`read`] and [`Loaded::read`], `ledger-of-other-data` (precondition), those of
/// connecting and of the server; `interrupted`.
pub async fn verify<T: Target>(
    job: &VerifyLedgerJob,
    context: Context<'_>,
) -> Result<LedgerSummary, HammerError> {
    let contents = read(Path::new(&job.ledger))?;
    let warehouses = Options::read(&job.workload)?.warehouses;
    let sql = sql::of(T::ENGINE)?;
    let target = T::parse(&job.url)?;
    let control = target.connect().await?;
    let loaded = Loaded::read(target.place(), &control, sql, warehouses).await?;
    refuse_other_data(target.place(), &contents.head, &loaded)?;
    control.begin_snapshot().await?;
    let mut database = Database {
        target,
        control,
        sql,
        from_us: contents.head.started_us,
        context,
    };
    let orders = database.compare(Deal::Order, &contents.entries).await?;
    let payments = database.compare(Deal::Payment, &contents.entries).await?;
    Ok(LedgerSummary {
        holds: holds(&orders) && holds(&payments),
        entries: BTreeMap::from([
            (Deal::Order.name().into(), orders),
            (Deal::Payment.name().into(), payments),
        ]),
        torn_bytes: contents.torn_bytes,
    })
}

fn refuse_other_data(place: &str, head: &Head, loaded: &Loaded) -> Result<(), HammerError> {
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
        place,
        "name the database that the ledger's run was made on",
    ))
}

/// The database that a ledger is compared with.
struct Database<'a, T: Target> {
    target: T,
    control: T::Control,
    sql: &'static Sql,
    from_us: i64,
    context: Context<'a>,
}

impl<T: Target> Database<'_, T> {
    /// Compares every row dated within the ledger's time with the entry of its date, if there is one.
    async fn compare(
        &mut self,
        deal: Deal,
        entries: &[Entry],
    ) -> Result<LedgerCounts, HammerError> {
        let kept = outcomes(entries, deal);
        let until_us = kept.last().map_or(self.from_us, |last| last.date_us);
        let bounds = [self.from_us, until_us].map(Value::Integer);
        let sql = match deal {
            Deal::Order => self.sql.orders_by_date,
            Deal::Payment => self.sql.payments_by_date,
        };
        let mut kept = kept.iter().peekable();
        let mut comparison = Comparison::new(deal, &mut *self.context.sink);
        let doing = "reading what the ledger knows";
        let reading = self.control.each_row(doing, sql, &bounds, |row| {
            let row = entry(deal, &row);
            while let Some(absent) = kept.next_if(|entry| entry.date_us < row.date_us) {
                comparison.take(Some(absent), None);
            }
            let known = kept.next_if(|entry| entry.date_us == row.date_us);
            comparison.take(known, Some(&row));
        });
        tokio::select! {
            read = reading => read?,
            () = self.context.stop.wait() => return Err(HammerError::interrupted(self.target.place())),
        }
        kept.for_each(|absent| comparison.take(Some(absent), None));
        Ok(comparison.counts)
    }
}

/// A row as the ledger would have it, had it been acknowledged.
fn entry(deal: Deal, row: &[Value]) -> Entry {
    let cell = |at: usize| row.get(at).map_or(0, Value::integer);
    Entry {
        deal,
        stage: Stage::Acknowledged,
        date_us: cell(0),
        d_id: cell(1) as u8,
        w_id: cell(2) as u32,
        number: cell(3) as u32,
        amount_cents: cell(4) as u32,
    }
}
