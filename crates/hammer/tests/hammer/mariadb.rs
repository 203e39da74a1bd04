//! Order entry on a private MariaDB: loaded once, then copied for each test.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::support::jobs;
use crate::support::mariadb::{MariaDb, WAREHOUSES};
use serde_json::json;
use stithy_hammer::engines::mysql;
use stithy_hammer::engines::{Control, Target};
use stithy_hammer::workloads::order_entry::{OnMySql, OrderEntry};
use stithy_hammer::workloads::Workload;
use stithy_wire::{Isolation, LedgerSummary, Message, RunJob};

/// A damage, and exactly those conditions that it breaks.
const DAMAGES: &[(&str, &[u32])] = &[
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", &[1, 8]),
    ("DELETE FROM district WHERE d_id = 3", &[1, 9]),
    (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4",
        &[2],
    ),
    (
        "DELETE FROM orders WHERE o_d_id = 1 AND o_id = 3000",
        &[2, 4, 5, 6, 11],
    ),
    (
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 2500",
        &[3, 5, 11],
    ),
    (
        "DELETE FROM order_line WHERE ol_d_id = 5 AND ol_o_id = 7",
        &[4, 6],
    ),
    ("INSERT INTO new_order VALUES (1, 2100, 1)", &[5, 11]),
    (
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 6 AND o_id = 9",
        &[5, 7],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE WHEN o_id = 1 THEN 1 ELSE -1 END \
         WHERE o_d_id = 7 AND o_id < 3",
        &[6],
    ),
    (
        "UPDATE history SET h_amount = 10.01 WHERE h_d_id = 9 AND h_c_id = 5",
        &[8, 9, 10],
    ),
    (
        "UPDATE customer SET c_ytd_payment = 10.01 WHERE c_d_id = 10 AND c_id = 1",
        &[12],
    ),
];

async fn connect(url: &str) -> mysql::Control {
    let target = mysql::Target::parse(url).unwrap();
    target.connect().await.unwrap()
}

async fn broken_now(control: &impl Control) -> BTreeSet<u32> {
    let mut broken = BTreeSet::new();
    for condition in OrderEntry::<OnMySql>::conditions() {
        let query = condition.counting_sql();
        let rows = control.query("counting", &query, &[]).await;
        let row = &rows.expect("the query is valid")[0];
        assert_eq!(row[0].integer() > 0, row[1].text().is_some(), "{query}");
        if row[0].integer() > 0 {
            broken.insert(condition.number);
        }
    }
    broken
}

/// A loaded database is whole, and each damage breaks exactly the conditions that it should; together they
/// break all twelve.
#[tokio::test]
async fn every_condition_can_fail() {
    let Some(server) = MariaDb::start(&[]) else {
        return;
    };
    let control = connect(&server.url()).await;
    assert_eq!(BTreeSet::new(), broken_now(&control).await);
    for (damage, expected) in DAMAGES {
        control
            .execute("damaging", &format!("BEGIN; {damage}"))
            .await
            .unwrap();
        let expected = expected.iter().copied().collect::<BTreeSet<u32>>();
        assert_eq!(expected, broken_now(&control).await, "{damage}");
        control.execute("mending", "ROLLBACK").await.unwrap();
    }
    let covered: BTreeSet<u32> = DAMAGES
        .iter()
        .flat_map(|(_, broken)| *broken)
        .copied()
        .collect();
    assert_eq!((1..=12).collect::<BTreeSet<_>>(), covered);
    let again = jobs::failed(&jobs::prepare(&server.url(), 1, 1)).await;
    assert_eq!("tables-exist", again.code);
}

/// Where a ledger is; it goes with its test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("stithy-mariadb-{}-{name}.ledger", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    fn text(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn verified(url: &str, place: &Place) -> LedgerSummary {
    let mut messages = jobs::done(&jobs::verify_ledger(url, WAREHOUSES, &place.text())).await;
    match messages.pop() {
        Some(Message::LedgerSummary(summary)) => summary,
        other => panic!("the last message is no ledger summary: {other:?}"),
    }
}

/// Users of every kind of transaction, in both ways and with each isolation: what they counted is there, one
/// order in a hundred is rolled back, and the conditions hold.
#[tokio::test]
async fn a_run_keeps_what_it_acknowledges() {
    let Some(server) = MariaDb::start(&[]) else {
        return;
    };
    let url = server.url();
    for (procedures, isolation) in [
        (true, Isolation::ReadCommitted),
        (true, Isolation::RepeatableRead),
        (true, Isolation::Serializable),
        (false, Isolation::ReadCommitted),
        (false, Isolation::Serializable),
    ] {
        let case = format!("{procedures}-{isolation:?}");
        let place = Place::new(&case);
        let job = RunJob {
            workload: jobs::order_entry_with(WAREHOUSES, json!({"procedures": procedures})),
            isolation,
            ledger: Some(place.text()),
            ..jobs::run(&url, WAREHOUSES, 8, 1.5)
        };
        let (_, summary) = jobs::window(job, |_| ()).await;
        assert!(
            summary.complete && summary.errors.is_empty(),
            "{case}: {:?}",
            summary.errors
        );
        let proof = &summary.proof;
        assert_eq!(0, proof.in_doubt);
        assert_eq!(
            proof.acknowledged,
            proof.after.unwrap() - proof.before.unwrap(),
            "{case}"
        );
        let kinds = &summary.transactions;
        assert!(
            kinds.iter().all(|kind| kind.committed > 0),
            "{case}: {kinds:?}"
        );
        assert!(kinds[0].rolled_back > 0, "{case}: {kinds:?}");
        let ledger = verified(&url, &place).await;
        assert!(ledger.holds, "{case}: {ledger:?}");
        assert_eq!(proof.acknowledged, ledger.entries["order"].acknowledged);
    }
    jobs::assert_all_conditions_hold(&url, WAREHOUSES).await;
}

/// Killed under load, a server that writes each commit loses nothing that it acknowledged; one that writes once a
/// second does, and the ledger says so.
#[tokio::test]
async fn a_kill_loses_what_was_not_written() {
    for (setting, lost) in [
        ("innodb-flush-log-at-trx-commit=1", false),
        ("innodb-flush-log-at-trx-commit=0", true),
    ] {
        let Some(mut server) = MariaDb::start(&[setting, "innodb-flush-log-at-timeout=60"]) else {
            return;
        };
        let (url, place) = (server.url(), Place::new(setting));
        let job = RunJob {
            error_limit: 100,
            duration_s: 60.0,
            ledger: Some(place.text()),
            ..jobs::run(&url, WAREHOUSES, 4, 60.0)
        };
        let (_, summary) = jobs::window(job, |second| {
            if second.second == 2 {
                server.crash();
            }
        })
        .await;
        assert!(!summary.complete);
        server.start_again();
        let ledger = verified(&url, &place).await;
        let gone = ledger.entries["order"].lost + ledger.entries["payment"].lost;
        assert_eq!(
            (lost, !lost),
            (gone > 0, ledger.holds),
            "{setting}: {ledger:?}"
        );
        assert!(ledger.entries["order"].acknowledged > 0);
        jobs::assert_all_conditions_hold(&url, WAREHOUSES).await;
    }
}
