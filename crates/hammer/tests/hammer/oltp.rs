//! The workload oltp: the same seeded transactions leave the same rows on every engine, its conditions can
//! fail, and its ledger finds what is gone.

use serde_json::{json, Value as Json};
use stithy_hammer::connections::Statements;
use stithy_hammer::engines::{mysql, postgresql, sqlite, sqlserver};
use stithy_hammer::engines::{Control, Session, Target, Value};
use stithy_hammer::error::HammerError;
use stithy_hammer::transaction_script::TransactionScript;
use stithy_hammer::workloads::oltp::{Oltp, OnMySql, OnPostgresql, OnSqlServer, OnSqlite};
use stithy_hammer::workloads::{Base, Run, Workload};
use stithy_measure::Outcome;
use stithy_wire::{
    CheckJob, DataShape, Job, LedgerSummary, Message, PrepareJob, RunJob, VerifyLedgerJob,
    WorkloadChoice, WIRE_VERSION,
};

use crate::support::sqlserver::SqlServer;
use crate::support::{self, jobs, Place};

const TABLES: u32 = 3;
const ROWS: u32 = 1_234;

/// Every mix, the one with an identity of the database's own last.
const MIXES: [&str; 7] = [
    "read_write",
    "read_only",
    "write_only",
    "point_select",
    "update_index",
    "update_non_index",
    "insert",
];

pub fn choice(more: Json) -> WorkloadChoice {
    let mut choice = json!({"name": "oltp", "tables": TABLES, "rows": ROWS});
    let keys = choice.as_object_mut().unwrap();
    keys.extend(more.as_object().unwrap().clone());
    serde_json::from_value(choice).unwrap()
}

pub fn run(url: &str, more: Json) -> RunJob {
    RunJob {
        workload: choice(more),
        ..jobs::run(url, 1, 4, 1.0)
    }
}

pub fn prepare(url: &str, data: DataShape) -> Job {
    Job::Prepare(PrepareJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: choice(json!({"distribution": {"law": "zipfian", "exponent": 0.8}})),
        seed: 42,
        loaders: 2,
        data,
    })
}

pub async fn broken(url: &str, after_load: bool) -> Vec<u32> {
    let job = Job::Check(CheckJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: choice(json!({})),
        quick: false,
        after_load,
    });
    match jobs::done(&job).await.pop() {
        Some(Message::CheckSummary(summary)) => summary.broken,
        other => panic!("the last message is no check summary: {other:?}"),
    }
}

pub async fn verified(url: &str, place: &Place) -> LedgerSummary {
    let job = Job::VerifyLedger(VerifyLedgerJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: choice(json!({})),
        ledger: place.text(),
    });
    match jobs::done(&job).await.pop() {
        Some(Message::LedgerSummary(summary)) => summary,
        other => panic!("the last message is no ledger summary: {other:?}"),
    }
}

/// Does transactions of every mix one after the other, as one user.
async fn act<T: Target, W: Workload>(url: &str) {
    let target = T::parse(url).unwrap();
    let control = target.connect().await.unwrap();
    for mix in MIXES {
        let job = run(url, json!({"mix": mix, "statements": {"range_rows": 7}}));
        let options = W::options(&job.workload).unwrap();
        let facts = W::facts(target.place(), &control, &options).await.unwrap();
        let run = W::run(&job, &Base { options, facts }, None).unwrap();
        let mut session = target.open(support::LOAD).await.unwrap();
        let prepared = run.statements().prepare(&mut session).await.unwrap();
        let mut script = run.script(0, &prepared);
        for _ in 0..40 {
            script.draw();
            let outcome = script.attempt(&mut session).await.unwrap();
            assert_eq!(Outcome::Committed, outcome);
            assert!(!session.in_transaction());
        }
        session.close().await;
    }
}

/// All rows of all tables. What is padded with blanks is the same without.
async fn rows<T: Target>(url: &str) -> Vec<Vec<Value>> {
    let control = T::parse(url).unwrap().connect().await.unwrap();
    let mut rows = Vec::new();
    for table in 1..=TABLES {
        let sql = format!("SELECT id, k, rtrim(c), rtrim(pad) FROM sbtest{table} ORDER BY id");
        rows.extend(control.query("reading rows", &sql, &[]).await.unwrap());
    }
    rows
}

/// Loads a database and works on it; gives its rows before and after.
async fn worked<T: Target, W: Workload>(url: &str) -> [Vec<Vec<Value>>; 2] {
    jobs::done(&prepare(url, DataShape::default())).await;
    assert!(broken(url, true).await.is_empty());
    let loaded = rows::<T>(url).await;
    act::<T, W>(url).await;
    assert!(broken(url, false).await.is_empty());
    [loaded, rows::<T>(url).await]
}

/// The same seed loads the same rows, and the same transactions of every mix change them alike.
#[tokio::test]
async fn every_engine_has_the_same_rows() {
    let (instance, file) = (support::shared(), Place::new("rows.db"));
    let url = instance.new_database();
    let [loaded, worked_on] = worked::<postgresql::Target, Oltp<OnPostgresql>>(&url).await;
    assert_eq!((TABLES * ROWS) as usize, loaded.len());
    assert_eq!(loaded.len() + 40, worked_on.len());
    let changed = worked_on.iter().filter(|row| !loaded.contains(row));
    assert!(changed.count() > 150);
    let url = format!("sqlite://{}", file.text());
    let other = worked::<sqlite::Target, Oltp<OnSqlite>>(&url).await;
    assert!(
        [&loaded, &worked_on] == other.each_ref(),
        "SQLite has other rows"
    );
    if let Some(database) = SqlServer::new_database("rows").await {
        let url = database.url();
        let other = worked::<sqlserver::Target, Oltp<OnSqlServer>>(&url).await;
        assert!(
            [&loaded, &worked_on] == other.each_ref(),
            "SQL Server has other rows"
        );
        assert_ledger_holds(&url).await;
        database.drop().await;
    }
    let Some(server) = crate::mysql::shared() else {
        return;
    };
    let url = server.url();
    let control = mysql::Target::parse(&url).unwrap().connect().await.unwrap();
    let empty = "CREATE DATABASE oltp";
    control.execute("making a database", empty).await.unwrap();
    let url = url.replace("/stithy?", "/oltp?");
    let other = worked::<mysql::Target, Oltp<OnMySql>>(&url).await;
    assert!(
        [&loaded, &worked_on] == other.each_ref(),
        "MariaDB has other rows"
    );
    assert_ledger_holds(&url).await;
}

/// Every acknowledged transaction of several users is there, and the proof counts them.
async fn assert_ledger_holds(url: &str) {
    let place = Place::new("rows");
    let job = RunJob {
        ledger: Some(place.text()),
        ..run(url, json!({"mix": "write_only"}))
    };
    let summary = jobs::window(job, |_| {}).await.1;
    let proof = &summary.proof;
    let counted = proof.acknowledged + proof.in_doubt_found.unwrap();
    assert!(
        summary.commits > 0 && proof.after == Some(counted),
        "{proof:?}"
    );
    assert!(verified(url, &place).await.holds);
}

/// Many users at once lose no row; each damage breaks its condition and no other.
#[tokio::test]
async fn every_condition_can_fail() {
    let instance = support::shared();
    let url = instance.new_database();
    jobs::done(&prepare(&url, DataShape::default())).await;
    // A few hot rows, so that users meet.
    let hot = json!({"mix": "write_only", "rows_touched": 5});
    let summary = jobs::window(run(&url, hot), |_| {}).await.1;
    assert!(summary.complete && summary.errors.is_empty(), "{summary:?}");
    assert!(summary.commits > 0, "{summary:?}");
    assert!(broken(&url, false).await.is_empty());
    let damages = [
        ("DELETE FROM sbtest2 WHERE id = 77", vec![1]),
        (
            "ALTER TABLE sbtest1 DROP CONSTRAINT sbtest1_pkey; \
             INSERT INTO sbtest1 SELECT 2000, k, c, pad FROM sbtest1 WHERE id <= 2",
            vec![1, 2],
        ),
        (
            "UPDATE sbtest3 SET pad = left(pad, 58) WHERE id = 1234",
            vec![1, 2, 3],
        ),
        ("UPDATE sbtest3 SET k = 0 WHERE id = 9", vec![1, 2, 3, 4]),
    ];
    // Not by a program: while one is waited for, the check before it could not close its connection.
    let control = postgresql::Target::parse(&url)
        .unwrap()
        .connect()
        .await
        .unwrap();
    for (damage, expected) in damages {
        control.execute("damaging", damage).await.unwrap();
        assert_eq!(expected, broken(&url, false).await, "{damage}");
    }
    assert_eq!(vec![1, 2, 3, 4, 5], broken(&url, true).await);
}

/// Every acknowledged transaction has its mark, the proof counts them, and one that is gone is named.
#[tokio::test]
async fn a_ledger_finds_every_transaction() {
    let (instance, place) = (support::shared(), Place::new("ledger"));
    let url = instance.new_database();
    jobs::done(&prepare(&url, DataShape::default())).await;
    let job = RunJob {
        ledger: Some(place.text()),
        ..run(&url, json!({"mix": "update_index"}))
    };
    let summary = jobs::window(job, |_| {}).await.1;
    let proof = &summary.proof;
    let counted = proof.acknowledged + proof.in_doubt_found.unwrap();
    assert!(
        summary.commits > 0 && proof.after == Some(counted),
        "{proof:?}"
    );
    let whole = verified(&url, &place).await;
    assert!(whole.holds && whole.entries["transaction"].acknowledged == proof.acknowledged);
    instance.sql_at(
        &url,
        "DELETE FROM stithy_transaction_mark WHERE marked_at = (SELECT min(marked_at) FROM stithy_transaction_mark)",
    );
    let less = verified(&url, &place).await;
    assert!(!less.holds && less.entries["transaction"].lost == 1);
}

/// What cannot be is refused with its place, before anything is changed.
#[tokio::test]
async fn what_cannot_be_is_refused() {
    let instance = support::shared();
    let url = instance.new_database();
    let shaped = DataShape {
        compressible_percent: Some(50),
        ..DataShape::default()
    };
    let place = |error: HammerError| (error.code, error.place);
    let refused = jobs::failed(&prepare(&url, shaped)).await;
    assert_eq!(("job-invalid", "data".into()), place(refused));
    jobs::done(&prepare(&url, DataShape::default())).await;
    let places = ["reads", "alone"].map(Place::new);
    let ledger = |place: &Place, more| RunJob {
        ledger: Some(place.text()),
        ..run(&url, more)
    };
    let wrong = [
        (
            ledger(&places[0], json!({"mix": "read_only"})),
            "job-invalid",
        ),
        (ledger(&places[1], json!({"skip_trx": true})), "job-invalid"),
        (run(&url, json!({"rows": 99})), "size-differs"),
        (
            run(
                &url,
                json!({"mix": "write_only", "statements": {
                "index_updates": 0, "non_index_updates": 0, "delete_inserts": 0}}),
            ),
            "job-invalid",
        ),
    ];
    for (job, code) in wrong {
        let refused = jobs::failed(&Job::Run(job)).await;
        assert_eq!(code, refused.code, "{refused:?}");
    }
    let other = RunJob {
        url: instance.loaded_database(),
        ..run(&url, json!({}))
    };
    let refused = jobs::failed(&Job::Run(other)).await;
    assert_eq!("tables-missing", refused.code, "{refused:?}");
}
