//! Order entry on a private MariaDB, loaded once and then copied for each test, and on SQL Server where a URL names
//! a server.

use crate::support::mariadb::{MariaDb, WAREHOUSES};
use crate::support::sqlserver::SqlServer;
use crate::support::{self, jobs, Place};
use serde_json::json;
use stithy_hammer::engines::{mysql, sqlserver, Control, Target};
use stithy_hammer::workloads::order_entry::statements::Pair;
use stithy_hammer::workloads::order_entry::{OnMySql, OnSqlServer, OrderEntry};
use stithy_hammer::workloads::Workload;
use stithy_wire::{Isolation, LedgerSummary, Message, RunJob};

/// Damages in places of their own.
const DAMAGES: &str = "
    UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1;
    DELETE FROM district WHERE d_w_id = 2 AND d_id = 3;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 4;
    DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 3000;
    DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 2500;
    DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 5 AND ol_o_id = 7 AND ol_number = 1;
    DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 5 AND ol_o_id = 8;
    INSERT INTO new_order VALUES (1, 2100, 8);
    UPDATE order_line SET ol_delivery_d = NULL
     WHERE ol_w_id = 1 AND ol_d_id = 9 AND ol_o_id = 11 AND ol_number = 1;
    UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE WHEN o_id = 1 THEN 1 ELSE -1 END
     WHERE o_w_id = 1 AND o_d_id = 7 AND o_id < 3;
    UPDATE history SET h_amount = 10.01 WHERE h_w_id = 2 AND h_d_id = 9 AND h_c_id = 5;
    UPDATE customer SET c_ytd_payment = 10.01 WHERE c_w_id = 1 AND c_d_id = 10 AND c_id = 1;
    UPDATE customer SET c_balance = 0 WHERE c_w_id = 1 AND c_d_id = 10 AND c_id = 2";

/// How many rows then break each condition.
const BROKEN: [i64; 12] = [2, 2, 1, 2, 3, 5, 1, 2, 2, 2, 3, 2];

/// How many rows break each condition.
pub async fn broken_now<P: Pair>(control: &impl Control) -> Vec<i64> {
    let mut broken = Vec::new();
    for condition in OrderEntry::<P>::conditions(&support::LOADED) {
        let query = condition.counting_sql();
        let rows = control.query("counting", &query, &[]).await;
        let row = &rows.expect("the query is valid")[0];
        assert_eq!(row[0].integer() > 0, row[1].text().is_some(), "{query}");
        broken.push(row[0].integer());
    }
    broken
}

/// Every condition finds the rows that break it, and no others: before them there were none.
async fn assert_conditions_can_fail<T: Target, P: Pair>(url: &str) {
    let control = T::parse(url).unwrap().connect().await.unwrap();
    control.execute("damaging", DAMAGES).await.unwrap();
    assert_eq!(BROKEN.to_vec(), broken_now::<P>(&control).await);
    let again = jobs::failed(&jobs::prepare(url, 1, 1)).await;
    assert_eq!("tables-exist", again.code);
}

/// On MariaDB.
#[tokio::test]
async fn every_condition_can_fail() {
    if let Some(server) = MariaDb::start(&[]) {
        assert_conditions_can_fail::<mysql::Target, OnMySql>(&server.url()).await;
    }
}

/// On SQL Server, as are the runs.
#[tokio::test]
async fn the_same_holds_on_sql_server() {
    if let Some(database) = SqlServer::loaded("runs", WAREHOUSES).await {
        let url = database.url();
        // Other levels may meet conflicts, which depend on the database's options. Not every server that speaks
        // its protocol keeps what OUTPUT says of a row right where three sessions meet: so, no plain SQL.
        let cases = [(true, Isolation::ReadCommitted)];
        assert_runs_keep_what_they_acknowledge(&url, &cases).await;
        database.drop().await;
    }
    if let Some(database) = SqlServer::loaded("conditions", WAREHOUSES).await {
        assert_conditions_can_fail::<sqlserver::Target, OnSqlServer>(&database.url()).await;
        database.drop().await;
    }
}

async fn verified(url: &str, place: &Place) -> LedgerSummary {
    let mut messages = jobs::done(&jobs::verify_ledger(url, WAREHOUSES, &place.text())).await;
    match messages.pop() {
        Some(Message::LedgerSummary(summary)) => summary,
        other => panic!("the last message is no ledger summary: {other:?}"),
    }
}

/// In both ways and with each isolation: what users counted is there, one order in a hundred is rolled back,
/// and the conditions hold.
#[tokio::test]
async fn a_run_keeps_what_it_acknowledges() {
    if let Some(server) = MariaDb::start(&[]) {
        let cases = [
            (true, Isolation::ReadCommitted),
            (true, Isolation::Serializable),
            (false, Isolation::RepeatableRead),
        ];
        assert_runs_keep_what_they_acknowledge(&server.url(), &cases).await;
    }
}

async fn assert_runs_keep_what_they_acknowledge(url: &str, cases: &[(bool, Isolation)]) {
    let (mut orders, mut rolled_back) = (0, 0);
    for (procedures, isolation) in cases.iter().copied() {
        let case = format!("{procedures}-{isolation:?}");
        let place = Place::new(&case);
        let job = RunJob {
            workload: jobs::order_entry_with(WAREHOUSES, json!({"procedures": procedures})),
            isolation,
            ledger: Some(place.text()),
            ..jobs::run(url, WAREHOUSES, 8, 1.2)
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
        assert!(proof.acknowledged > 0, "{case}: {kinds:?}");
        orders += kinds[0].committed;
        rolled_back += kinds[0].rolled_back;
        let ledger = verified(url, &place).await;
        assert!(ledger.holds, "{case}: {ledger:?}");
        assert_eq!(proof.acknowledged, ledger.entries["order"].acknowledged);
    }
    jobs::assert_all_conditions_hold(url, WAREHOUSES).await;
    // One in a hundred; the users of all cases draw the same, so only a third of them are different.
    assert!(rolled_back > 0 || orders < 1_500, "{orders}");
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
            ledger: Some(place.text()),
            ..jobs::run(&url, WAREHOUSES, 4, 60.0)
        };
        let (_, summary) = jobs::window(job, |second| {
            if second.second == 1 {
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
