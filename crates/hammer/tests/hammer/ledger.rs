//! The ledger of a run on a real PostgreSQL: what was acknowledged is found, and what is gone is named.

use std::process::Command;

use crate::support::{self, jobs, Instance, Place};
use stithy_hammer::ledger::read::Contents;
use stithy_hammer::ledger::Stage;
use stithy_hammer::workloads::order_entry::kept::{Deal, DealKind};
use stithy_wire::{
    Job, LedgerFinding, LedgerFindingKind, LedgerSummary, Message, RunJob, RunSummary, Second,
};

async fn run(job: RunJob, seen: impl FnMut(&Second)) -> RunSummary {
    jobs::window(job, seen).await.1
}

/// What a ledger finds in a database of so many warehouses.
pub async fn verified(
    url: &str,
    warehouses: u32,
    place: &Place,
) -> (Vec<LedgerFinding>, LedgerSummary) {
    let mut messages = jobs::done(&jobs::verify_ledger(url, warehouses, &place.text())).await;
    let Some(Message::LedgerSummary(summary)) = messages.pop() else {
        panic!("the last message is no ledger summary");
    };
    let findings = messages.into_iter().filter_map(|message| match message {
        Message::LedgerFinding(finding) => Some(finding),
        _ => None,
    });
    (findings.collect(), summary)
}

fn job(url: &str, place: &Place) -> RunJob {
    RunJob {
        ledger: Some(place.text()),
        ..jobs::run(url, 1, 4, 1.5)
    }
}

/// An order and a payment that are deleted are named; one that is changed is reported with both sides.
#[tokio::test]
async fn what_is_gone_or_changed_is_named() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let place = Place::new("gone");
    run(job(&url, &place), |_| ()).await;
    let contents = Contents::<Deal>::read(&place.0).unwrap();
    let outcomes = |kind| contents.outcomes(kind as usize);
    let (orders, payments) = (outcomes(DealKind::Order), outcomes(DealKind::Payment));
    let order = orders
        .iter()
        .find(|e| e.stage == Stage::Acknowledged)
        .unwrap();
    let Deal { d_id, number, .. } = order.kept;
    let delete = format!("DELETE FROM orders WHERE o_d_id = {d_id} AND o_id = {number}");
    instance.sql_at(&url, &delete);
    let newest = "WHERE h_date = (SELECT max(h_date) FROM history)";
    instance.sql_at(
        &url,
        &format!("UPDATE history SET h_amount = 0.01 {newest}"),
    );
    let oldest =
        "WHERE h_date = (SELECT min(h_date) FROM history WHERE h_date > '2026-01-01 00:00Z')";
    instance.sql_at(&url, &format!("DELETE FROM history {oldest}"));
    let (findings, summary) = verified(&url, 1, &place).await;
    assert!(!summary.holds);
    assert_eq!(
        (1, 1, 1),
        (
            summary.entries["order"].lost,
            summary.entries["payment"].lost,
            summary.entries["payment"].differing
        )
    );
    let named = |kind| {
        findings
            .iter()
            .filter(move |f| f.kind == kind)
            .map(|f| f.text.as_str())
    };
    let lost: Vec<&str> = named(LedgerFindingKind::Lost).collect();
    assert!(lost[0].starts_with(&format!("order {number} of district {d_id} of warehouse 1")));
    let cents = payments[0].kept.amount_cents;
    let amount = format!("a payment of {}.{:02}", cents / 100, cents % 100);
    assert!(lost[1].starts_with(&amount), "{} in {lost:?}", amount);
    let differs = named(LedgerFindingKind::Differs).next().unwrap();
    assert!(
        differs.contains("in the database a payment of 0.01"),
        "{differs}"
    );
    instance.drop_database(&url);
}

/// A database with acknowledged commits in memory alone loses them in a crash, and the ledger proves
/// it, order by order; what was never answered is reported as well.
#[tokio::test]
async fn a_crash_that_loses_acknowledged_orders_is_found_out() {
    let settings = [
        "synchronous_commit=off",
        "bgwriter_lru_maxpages=0",
        "wal_buffers=64MB",
    ];
    let instance = Instance::start(&settings);
    let url = instance.loaded_database();
    instance.sql_at(&url, "CHECKPOINT");
    // It would write each page of the log as soon as that is full, and little would be in memory alone.
    let walwriter = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'";
    let pid = instance.sql_at(&url, walwriter);
    let stopped = Command::new("kill").args(["-STOP", &pid]).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    let place = Place::new("crash");
    let run_job = RunJob {
        error_limit: 100,
        duration_s: 60.0,
        ..job(&url, &place)
    };
    let summary = run(run_job, |second| {
        if second.second == 2 {
            instance.crash();
        }
    })
    .await;
    assert!(!summary.complete);
    instance.start_again();
    let (findings, ledger) = verified(&url, 1, &place).await;
    assert!(
        !ledger.holds && ledger.entries["order"].lost + ledger.entries["payment"].lost > 0,
        "{ledger:?}"
    );
    let doubts = ledger.entries["order"].in_doubt + ledger.entries["payment"].in_doubt;
    assert!(
        (1..=4).contains(&doubts),
        "each of 4 users has at most one: {ledger:?}"
    );
    let lost = findings
        .iter()
        .filter(|f| f.kind == LedgerFindingKind::Lost);
    let told = lost.count() as u64;
    let all = ledger.entries["order"].lost.min(100) + ledger.entries["payment"].lost.min(100);
    assert_eq!(all, told, "each is named, up to a hundred a table");
}

/// A ledger belongs to one run and one load; whatever else is refused with a remedy.
#[tokio::test]
async fn a_ledger_that_cannot_be_right_is_refused() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let place = Place::new("refused");
    let missing = jobs::failed(&jobs::verify_ledger(&url, 1, &place.text())).await;
    assert_eq!("ledger-unreadable", missing.code);
    std::fs::write(&place.0, "no ledger").unwrap();
    let damaged = jobs::failed(&jobs::verify_ledger(&url, 1, &place.text())).await;
    assert_eq!(("ledger-damaged", 3), (damaged.code, damaged.exit()));
    let exists = jobs::failed(&Job::Run(job(&url, &place))).await;
    assert_eq!(("ledger-exists", 3), (exists.code, exists.exit()));
    std::fs::remove_file(&place.0).unwrap();
    run(job(&url, &place), |_| ()).await;
    instance.sql_at(&url, "UPDATE stithy_meta SET seed = 1");
    let other = jobs::failed(&jobs::verify_ledger(&url, 1, &place.text())).await;
    assert_eq!("ledger-of-other-data", other.code);
    instance.drop_database(&url);
}
