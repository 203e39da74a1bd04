//! The hammer on SQLite: the same jobs on a file. Loaded once, then copied for each test.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use crate::support::{self, jobs};
use serde_json::json;
use stithy_hammer::engines::sqlite;
use stithy_hammer::engines::{Access, Answer, Batch, Control, Params, Row, Session, Target};
use stithy_hammer::workloads::order_entry::statements::OnSqlite;
use stithy_wire::{ErrorKind, Job, Message, Pace, PrepareSummary};

static COUNTER: AtomicU32 = AtomicU32::new(0);
static LOADED: OnceLock<(Kept, Vec<String>, PrepareSummary)> = OnceLock::new();

/// A folder that goes with its test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("stithy-sqlite-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub fn url(&self, options: &str) -> String {
        format!("sqlite://{}/oe.db{options}", self.0.display())
    }

    /// The database.
    pub fn file(&self) -> PathBuf {
        self.0.join("oe.db")
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A database that has lost its name already, so that it goes with the program of tests.
pub struct Kept(File);

impl Kept {
    pub fn of(folder: &Folder) -> Self {
        Kept(File::open(folder.file()).unwrap())
    }

    /// A copy of it.
    pub fn copy(&self) -> Folder {
        let folder = Folder::new();
        let from = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        fs::copy(from, folder.file()).unwrap();
        folder
    }
}

fn loaded() -> &'static (Kept, Vec<String>, PrepareSummary) {
    LOADED.get_or_init(|| {
        let folder = Folder::new();
        let messages = jobs::done_elsewhere(jobs::prepare(&folder.url(""), 1, 2));
        let Some(Message::PrepareSummary(summary)) = messages.last() else {
            panic!("the last message is no prepare summary: {messages:?}");
        };
        (Kept::of(&folder), folder.files(), summary.clone())
    })
}

/// A copy of one loaded warehouse.
fn copy() -> Folder {
    loaded().0.copy()
}

async fn session(url: &str) -> sqlite::Session {
    let target = sqlite::Target::parse(url).unwrap();
    target.open(support::LOAD).await.unwrap()
}

async fn ask(url: &str, sql: &str) -> String {
    let control = sqlite::Target::parse(url).unwrap().connect().await.unwrap();
    let rows = control.query("asking", sql, &[]).await.unwrap();
    let cells = rows.iter().flatten().map(|cell| match cell.text() {
        Some(text) => text.to_string(),
        None => cell.integer().to_string(),
    });
    cells.collect::<Vec<String>>().join("|")
}

/// Loading leaves one file, whole and in the mode that its URL wants, and all conditions hold, that of a
/// database on which nothing has run included.
#[tokio::test]
async fn a_loaded_database_is_one_whole_file() {
    let (_, files, summary) = loaded();
    let rows: u64 = summary.tables.iter().map(|table| table.rows).sum();
    assert!(rows > 590_000, "{rows}");
    assert_eq!(vec!["oe.db"], *files);
    let copy = copy();
    let url = copy.url("");
    assert_eq!("ok", ask(&url, "PRAGMA integrity_check").await);
    assert_eq!("wal", ask(&url, "PRAGMA journal_mode").await);
    assert_eq!(
        Vec::<u32>::new(),
        jobs::broken(&jobs::check(&url, 1, false, true)).await
    );
    let again = jobs::failed(&jobs::prepare(&url, 1, 1)).await;
    assert_eq!("tables-exist", again.code);
}

/// The same rows, from the same seed, by any number of loaders.
#[tokio::test]
async fn loaders_do_not_change_the_rows() {
    let folder = Folder::new();
    let url = folder.url("?journal=delete");
    jobs::done(&jobs::prepare(&url, 1, 1)).await;
    assert_eq!("delete", ask(&url, "PRAGMA journal_mode").await);
    let sums =
        "SELECT sum(ol_amount), sum(ol_i_id), (SELECT sum(s_quantity * s_i_id) FROM stock), \
         (SELECT sum(length(c_data) * c_id) FROM customer) FROM order_line";
    assert_eq!(ask(&copy().url(""), sums).await, ask(&url, sums).await);
}

/// Users of every kind of transaction, in each mode of the journal: what they counted is there, and the
/// conditions hold.
#[tokio::test]
async fn a_run_keeps_what_it_acknowledges() {
    for options in ["?journal=wal", "?journal=truncate&synchronous=normal"] {
        let folder = copy();
        let url = folder.url(options);
        let ledger = folder.0.join("ledger").display().to_string();
        let mut job = jobs::run(&url, 1, 8, 2.0);
        job.connections = Some(4);
        job.ledger = Some(ledger.clone());
        let (_, summary) = jobs::window(job, |_| ()).await;
        assert!(
            summary.complete && summary.errors.is_empty(),
            "{:?}",
            summary.errors
        );
        let proof = &summary.proof;
        let grown = proof.after.unwrap() - proof.before.unwrap();
        assert_eq!(0, proof.in_doubt);
        assert_eq!(proof.acknowledged, grown);
        assert!(summary.transactions.iter().all(|kind| kind.committed > 0));
        jobs::assert_all_conditions_hold(&url, 1).await;
        let verified = jobs::done(&jobs::verify_ledger(&url, 1, &ledger))
            .await
            .pop();
        let Some(Message::LedgerSummary(verified)) = verified else {
            panic!("no ledger summary: {verified:?}")
        };
        assert!(verified.holds, "{verified:?}");
    }
}

/// A pass of reads and a calibration change no file.
#[tokio::test]
async fn reads_change_nothing() {
    let folder = copy();
    let url = folder.url("");
    let before = fs::read(folder.0.join("oe.db")).unwrap();
    jobs::done(&jobs::warm_up(&url, 1, 400)).await;
    assert!(before == fs::read(folder.0.join("oe.db")).unwrap());
    assert_eq!(vec!["oe.db"], folder.files());
}

/// Damages in places of their own. (Which condition each breaks is the same on every engine, and proven on PostgreSQL.)
const DAMAGES: &str = "BEGIN;
    UPDATE warehouse SET w_ytd = w_ytd + 1;
    UPDATE district SET d_next_o_id = 3005 WHERE d_id = 2;
    DELETE FROM new_order WHERE no_d_id = 3 AND no_o_id = 2500;
    DELETE FROM order_line WHERE ol_d_id = 4 AND ol_o_id = 1 AND ol_number = 1;
    UPDATE order_line SET ol_delivery_d = 1 WHERE ol_d_id = 5 AND ol_o_id = 3000 AND ol_number = 1;
    UPDATE history SET h_amount = 1002 WHERE h_c_d_id = 6 AND h_c_id = 1;
    UPDATE customer SET c_ytd_payment = 7 WHERE c_d_id = 7 AND c_id = 1";

/// Every condition finds the rows that break it, and no others.
#[tokio::test]
async fn every_condition_can_fail() {
    let folder = copy();
    let target = sqlite::Target::parse(&folder.url("")).unwrap();
    let control = target.connect().await.unwrap();
    control.execute("damaging", DAMAGES).await.unwrap();
    let broken = crate::mariadb::broken_now::<OnSqlite>(&control).await;
    assert_eq!(vec![1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 2], broken);
}

/// Another process that writes makes a transaction retryable; without a wait at once, and nothing of it stays.
#[tokio::test]
async fn a_busy_database_is_retryable() {
    let folder = copy();
    let url = folder.url("?busy_timeout_ms=0");
    // Targets of two URLs stand in no common line, as those of two processes.
    let (mut one, mut other) = (session(&url).await, session(&url).await);
    let update = ["UPDATE warehouse SET w_ytd = w_ytd + ?1 RETURNING w_ytd"];
    let (first, second) = (
        one.prepare(&update).await.unwrap(),
        other.prepare(&update).await.unwrap(),
    );
    one.start(Batch::First(Access::Write));
    one.queue(first[0], |params| params.int4(1));
    let before = one
        .exchange()
        .await
        .unwrap()
        .first(0)
        .unwrap()
        .integer(0)
        .unwrap();
    assert!(one.in_transaction());
    other.start(Batch::Whole(Access::Write));
    other.queue(second[0], |params| params.int4(10));
    let error = other.exchange().await.unwrap_err();
    assert_eq!(
        (ErrorKind::Retryable, Some("SQLITE_BUSY")),
        (error.kind, error.code.as_deref())
    );
    assert!(!other.in_transaction());
    one.roll_back().await.unwrap();
    other.start(Batch::Whole(Access::Write));
    other.queue(second[0], |params| params.int4(10));
    let after = other.exchange().await.unwrap().first(0).unwrap().integer(0);
    assert_eq!(Some(before - 1 + 10), after);
}

/// A database that may not grow is full, not broken; the transaction is undone.
#[tokio::test]
async fn a_full_database_is_full() {
    let folder = copy();
    let url = folder.url("");
    let mut session = session(&url).await;
    let texts = [
        "PRAGMA max_page_count = 1",
        "CREATE TABLE more AS SELECT * FROM stock",
    ];
    let statements = session.prepare(&texts).await.unwrap();
    for (statement, batch) in [
        (0, Batch::Whole(Access::Read)),
        (1, Batch::First(Access::Write)),
    ] {
        session.start(batch);
        session.queue(statements[statement], |_| ());
        let result = session.exchange().await;
        match statement {
            0 => drop(result.unwrap()),
            _ => assert_eq!(ErrorKind::Full, result.unwrap_err().kind),
        }
    }
    if session.in_transaction() {
        session.roll_back().await.unwrap();
    }
    assert_eq!(
        "0",
        ask(
            &url,
            "SELECT count(*) FROM sqlite_schema WHERE name = 'more'"
        )
        .await
    );
}

/// What cannot be done is refused with its reason, before anything is made.
#[tokio::test]
async fn what_cannot_be_done_is_refused() {
    let folder = Folder::new();
    let url = folder.url("");
    let missing = jobs::failed(&jobs::check(&url, 1, true, false)).await;
    assert_eq!(("no-such-database", 3), (missing.code, missing.exit()));
    assert!(folder.files().is_empty());
    let nowhere = "sqlite:///nowhere/at/all.db";
    assert_eq!(
        "no-such-database",
        jobs::failed(&jobs::prepare(nowhere, 1, 1)).await.code
    );
    fs::write(folder.0.join("oe.db"), vec![7; 8192]).unwrap();
    assert_eq!(
        "not-a-database",
        jobs::failed(&jobs::check(&url, 1, true, false)).await.code
    );
    let mut job = jobs::run(&url, 1, 1, 1.0);
    job.workload = jobs::order_entry_with(1, json!({"procedures": true}));
    let refused = jobs::failed(&Job::Run(job)).await;
    assert_eq!(("job-invalid", 2), (refused.code, refused.exit()));
}

/// A stopped load leaves no table.
#[tokio::test]
async fn a_stopped_load_leaves_nothing() {
    let folder = Folder::new();
    let url = folder.url("");
    let (stopper, stop) = stithy_hammer::stop::stop_pair();
    let (_, result) = jobs::outcome(&jobs::prepare(&url, 1, 2), stop, |_| stopper.request()).await;
    assert_eq!("interrupted", result.unwrap_err().code);
    assert_eq!(
        "0",
        ask(
            &url,
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        )
        .await
    );
}

/// An open loop of more users than connections, paced: arrivals queue for the one writer.
#[tokio::test]
async fn an_open_loop_runs() {
    let folder = copy();
    let mut job = jobs::run(&folder.url("?synchronous=off"), 1, 20, 2.0);
    job.ramp_up_s = 1.0;
    job.connections = Some(3);
    job.pace = Pace::Rate {
        per_s: 50.0,
        arrivals: stithy_wire::Arrivals::Poisson,
    };
    let (_, summary) = jobs::window(job, |_| ()).await;
    assert!(
        summary.complete && summary.errors.is_empty(),
        "{:?}",
        summary.errors
    );
    assert!(summary.commits > 50, "{}", summary.commits);
}
