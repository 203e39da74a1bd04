//! The job `verify-ledger`: what a run's ledger says, against what the database holds.
//!
//! Transactions are found by their keys, which no other row has. Both sides are read once, in the order
//! of the keys, and compared like two sorted lists.

use std::path::Path;

use stithy_wire::{LedgerCounts, LedgerSummary, VerifyLedgerJob};

use super::Found;
use crate::engines::{Control, Target, Value};
use crate::error::HammerError;
use crate::ledger::compare::{holds, Comparison};
use crate::ledger::read::Contents;
use crate::ledger::{Head, Kept};
use crate::workloads::{Context, Workload};

/// Compares the ledger with the database.
///
/// Errors: those of [`Contents::read`] and [`Found::at`], `ledger-of-other-data` (precondition), those
/// of the server; `interrupted`.
pub(super) async fn verify_ledger<T: Target, W: Workload>(
    job: &VerifyLedgerJob,
    mut context: Context<'_>,
) -> Result<LedgerSummary, HammerError> {
    let contents = Contents::<W::Kept>::read(Path::new(&job.ledger))?;
    let found = Found::<T, W>::at(&job.url, W::options(&job.workload)?).await?;
    refuse_other_data(&found, &contents.head)?;
    found.control.begin_snapshot().await?;
    let mut summary = LedgerSummary {
        holds: true,
        entries: Default::default(),
        torn_bytes: contents.torn_bytes,
    };
    for (kind, name) in W::Kept::KINDS.iter().enumerate() {
        let counts = compare(&found, &contents, kind, &mut context).await?;
        summary.holds &= holds(&counts);
        summary.entries.insert((*name).into(), counts);
    }
    Ok(summary)
}

fn refuse_other_data<T: Target, W: Workload>(
    found: &Found<T, W>,
    head: &Head,
) -> Result<(), HammerError> {
    let loaded = W::loaded(&found.base.facts);
    if head.workload == W::NAME && head.loaded == loaded {
        return Ok(());
    }
    let said = |data| serde_json::Value::Object(data).to_string();
    Err(HammerError::precondition(
        "ledger-of-other-data",
        format!(
            "the ledger belongs to {} of {}; the database holds {} of {}",
            said(head.loaded.clone()),
            head.workload,
            said(loaded),
            W::NAME
        ),
        found.target.place(),
        "name the database that the ledger's run was made on",
    ))
}

/// Compares every row whose key lies within the ledger's with the entry of its key, if there is one.
async fn compare<T: Target, W: Workload>(
    found: &Found<T, W>,
    contents: &Contents<W::Kept>,
    kind: usize,
    context: &mut Context<'_>,
) -> Result<LedgerCounts, HammerError> {
    let outcomes = contents.outcomes(kind);
    let mut comparison = Comparison::new(W::Kept::KINDS[kind], &mut *context.sink);
    let (Some(first), Some(last)) = (outcomes.first(), outcomes.last()) else {
        return Ok(comparison.counts);
    };
    let bounds = [first, last].map(|entry| Value::Integer(entry.kept.key()));
    let mut kept = outcomes.iter().peekable();
    let (doing, sql) = ("reading what the ledger knows", W::kept_rows(kind));
    let reading = found.control.each_row(doing, sql, &bounds, |row| {
        let Some((key, columns)) = row.split_first() else {
            return;
        };
        let row = W::Kept::of_row(kind, key.integer(), columns);
        while let Some(absent) = kept.next_if(|entry| entry.kept.key() < row.key()) {
            comparison.take(Some(absent), None);
        }
        let known = kept.next_if(|entry| entry.kept.key() == row.key());
        comparison.take(known, Some(&row));
    });
    tokio::select! {
        read = reading => read?,
        () = context.stop.wait() => {
            return Err(HammerError::interrupted(found.target.place()));
        }
    }
    kept.for_each(|absent| comparison.take(Some(absent), None));
    Ok(comparison.counts)
}
