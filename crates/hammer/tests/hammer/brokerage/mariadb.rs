//! The same on a private MariaDB.

use std::sync::OnceLock;

use stithy_hammer::engines::mysql::Target;
use stithy_hammer::engines::Control;
use stithy_hammer::workloads::brokerage::statements::OnMySql;
use stithy_wire::{Isolation, RunJob};

use super::{
    assert_a_run_keeps_its_books, assert_conditions_can_fail, broken, choice, connect, load, verify,
};
use crate::support::mariadb::MariaDb;
use crate::support::{jobs, Place};

/// A server on a copy of what is loaded once; None where the programs are missing.
pub(super) fn start(settings: &[&str]) -> Option<MariaDb> {
    static LOADED: OnceLock<Option<MariaDb>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let server = MariaDb::start_empty(&[])?;
        load(&server.url());
        server.stop();
        Some(server)
    });
    let kept = loaded.as_ref();
    kept.map(|kept| MariaDb::start_copy(kept, settings))
}

/// What a damage says otherwise: what is changed is read through a table of its own, and two tables are changed as one.
const WORDS: &[(&str, &str)] = &[
    ("interval '1 second'", "INTERVAL 1 SECOND"),
    (
        "(SELECT min(ct_t_id) FROM cash_transaction)",
        "(SELECT * FROM (SELECT min(ct_t_id) FROM cash_transaction) AS one)",
    ),
    (
        "(SELECT hs_ca_id, hs_s_symb FROM holding_summary WHERE hs_qty > 0 LIMIT 1)",
        "(SELECT * FROM (SELECT hs_ca_id, hs_s_symb FROM holding_summary WHERE hs_qty > 0 LIMIT 1) AS one)",
    ),
    (
        "(SELECT min(h_t_id) FROM holding WHERE",
        "(SELECT * FROM (SELECT min(h_t_id) FROM holding WHERE",
    ),
    ("<> hh_h_t_id))", "<> hh_h_t_id)) AS one)"),
    (
        "holding SET h_qty = CASE WHEN h_t_id = least THEN h_qty - 1 ELSE h_qty + 1 END FROM",
        "holding JOIN",
    ),
    (
        "AS pair WHERE h_t_id IN (least, most)",
        "AS pair ON h_t_id IN (least, most) SET h_qty = CASE WHEN h_t_id = least THEN h_qty - 1 ELSE h_qty + 1 END",
    ),
];

/// Selects for each foreign key those of its rows to which there is no parent: they are not checked while rows are loaded.
const ORPHANS: &str = "SELECT concat('SELECT count(*) FROM ', table_name, ' WHERE (', \
     group_concat(column_name ORDER BY ordinal_position), ') NOT IN (SELECT ', \
     group_concat(referenced_column_name ORDER BY ordinal_position), ' FROM ', referenced_table_name, ')') \
     FROM information_schema.key_column_usage \
     WHERE table_schema = database() AND referenced_table_name IS NOT NULL \
     GROUP BY constraint_name, table_name, referenced_table_name";

/// Everything is there with all its keys, which are enforced; the conditions hold, and each of the sixteen can fail.
#[tokio::test]
async fn every_condition_holds_and_can_fail_on_mariadb() {
    let Some(server) = start(&[]) else { return };
    let control = &connect::<Target>(&server.url()).await;
    let ask = |sql: String| async move { control.query_count("asking", &sql, &[]).await.unwrap() };
    for (kind, count) in [("PRIMARY KEY", 34), ("FOREIGN KEY", 49), ("CHECK", 22)] {
        let sql = format!(
            "SELECT count(*) FROM information_schema.table_constraints \
             WHERE constraint_schema = database() AND constraint_type = '{kind}'"
        );
        assert_eq!(count, ask(sql).await, "{kind}");
    }
    let orphans = control.query("asking", ORPHANS, &[]).await.unwrap();
    assert_eq!(49, orphans.len());
    for sql in orphans {
        let sql = sql[0].text().unwrap().to_string();
        assert_eq!(0, ask(sql.clone()).await, "{sql}");
    }
    for (harm, because) in [
        ("INSERT INTO watch_list VALUES (2000, 2000)", "foreign key"),
        (
            "DELETE FROM holding_summary WHERE hs_ca_id = (SELECT max(h_ca_id) FROM holding)",
            "foreign key",
        ),
        ("UPDATE trade SET t_qty = 0 WHERE t_id = 5", "CONSTRAINT"),
    ] {
        let refused = control.execute("damaging", harm).await.unwrap_err();
        assert!(refused.problem.contains(because), "{refused:?}");
    }
    assert_conditions_can_fail::<OnMySql>(control, WORDS).await;
}

/// The conditions also hold where a transaction sees one state of the database from its first read on.
#[tokio::test]
async fn a_run_keeps_its_books_on_mariadb() {
    let Some(server) = start(&[]) else { return };
    let url = server.url();
    let job = RunJob {
        workload: choice(),
        isolation: Isolation::RepeatableRead,
        ..jobs::run(&url, 1, 8, 4.0)
    };
    let (_, summary) = jobs::window(job, |_| ()).await;
    assert!(summary.errors.is_empty(), "{:?}", summary.errors);
    assert_eq!(Vec::<u32>::new(), broken(&url, false).await);
    assert_a_run_keeps_its_books::<Target>(&url, 6.0).await;
}

/// Killed under load, a server that writes each commit has all that it acknowledged, and the conditions hold; one that
/// writes once a minute does not, and the ledger says so.
#[tokio::test]
async fn a_kill_loses_what_was_not_written() {
    for (setting, lost) in [
        ("innodb-flush-log-at-trx-commit=1", false),
        ("innodb-flush-log-at-trx-commit=0", true),
    ] {
        let Some(mut server) = start(&[setting, "innodb-flush-log-at-timeout=60"]) else {
            return;
        };
        let (url, place) = (server.url(), Place::new(setting));
        let job = RunJob {
            workload: choice(),
            error_limit: 100,
            ledger: Some(place.text()),
            ..jobs::run(&url, 1, 4, 60.0)
        };
        let (_, summary) = jobs::window(job, |second| {
            if second.second == 2 {
                server.crash();
            }
        })
        .await;
        assert!(!summary.complete);
        server.start_again();
        let ledger = verify(&url, &place).await;
        let gone: u64 = ledger.entries.values().map(|kind| kind.lost).sum();
        assert_eq!(
            (lost, !lost),
            (gone > 0, ledger.holds),
            "{setting}: {ledger:?}"
        );
        assert!(ledger.entries["result"].acknowledged > 0);
        assert_eq!(Vec::<u32>::new(), broken(&url, false).await);
    }
}
