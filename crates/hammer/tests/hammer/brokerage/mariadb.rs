//! The same on a private MariaDB.

use std::sync::OnceLock;

use stithy_hammer::engines::mysql::Target;
use stithy_hammer::engines::Control;
use stithy_hammer::workloads::brokerage::statements::OnMySql;
use stithy_wire::{Isolation, RunJob};

use super::{assert_a_run_keeps_its_books, broken, connect, job, load, verify};
use crate::support::mariadb::{MariaDb, LOADING};
use crate::support::{jobs, Place};

/// A server on a copy of what is loaded once; None where the programs are missing.
pub(super) fn start(settings: &[&str]) -> Option<MariaDb> {
    static LOADED: OnceLock<Option<MariaDb>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let server = MariaDb::start_empty(&LOADING)?;
        load(&server.url());
        server.stop();
        Some(server)
    });
    let kept = loaded.as_ref();
    kept.map(|kept| MariaDb::start_copy(kept, settings))
}

/// What a damage says otherwise: what is changed is read through a table of its own.
const WORDS: &[(&str, &str)] = &[
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
];

/// Everything is there with all its keys, which are enforced from then on: while rows are loaded they are not checked,
/// but `same_rows` has the rows of PostgreSQL. The conditions hold, and each of the sixteen can fail. A
/// run keeps its books, also where a transaction sees one state of the database from its first read on.
#[tokio::test]
async fn conditions_can_fail_and_a_run_keeps_its_books_on_mariadb() {
    let Some(server) = start(&[]) else { return };
    let url = server.url();
    let control = &connect::<Target>(&url).await;
    for (kind, count) in [("PRIMARY KEY", 34), ("FOREIGN KEY", 49), ("CHECK", 22)] {
        let sql = format!(
            "SELECT count(*) FROM information_schema.table_constraints \
             WHERE constraint_schema = database() AND constraint_type = '{kind}'"
        );
        let found = control.query_count("asking", &sql, &[]).await;
        assert_eq!(count, found.unwrap(), "{kind}");
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
    let (isolation, dialect) = (Isolation::RepeatableRead, ("", WORDS));
    assert_a_run_keeps_its_books::<Target, OnMySql>(&url, 4.0, isolation, dialect).await;
}

/// Killed under load, a server that writes once a minute does not have all that it acknowledged: the ledger says so, and
/// the quick conditions hold. (That one which writes each commit has all of it: the same with order entry.)
#[tokio::test]
async fn a_kill_loses_what_was_not_written() {
    let settings = [
        "innodb-flush-log-at-trx-commit=0",
        "innodb-flush-log-at-timeout=60",
    ];
    let Some(mut server) = start(&settings) else {
        return;
    };
    let (url, place) = (server.url(), Place::new("brokerage-kill"));
    let killed = RunJob {
        error_limit: 100,
        ..job(&url, &place, 60.0)
    };
    let (_, summary) = jobs::window(killed, |second| {
        if second.second == 2 {
            server.crash();
        }
    })
    .await;
    assert!(!summary.complete);
    server.start_again();
    let ledger = verify(&url, &place).await;
    let gone: u64 = ledger.entries.values().map(|kind| kind.lost).sum();
    assert!(gone > 0 && !ledger.holds, "{ledger:?}");
    assert!(ledger.entries["result"].acknowledged > 0);
    assert_eq!(Vec::<u32>::new(), broken(&url).await);
}
