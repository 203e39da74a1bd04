//! A workload and an engine that are nothing but a file each, here: what the hammer asks of both, and
//! that nothing else of it knows one by name. No server is needed.

#![allow(
    clippy::unwrap_used,
    reason = "outside #[test] functions too: a test that cannot go on fails"
)]

mod counter;
mod memory;

use counter::{Counter, Options};
use memory::MemoryTarget;
use stithy_hammer::engines::{Control, Target};
use stithy_hammer::error::HammerError;
use stithy_hammer::job::execute_as;
use stithy_hammer::stop::stop_pair;
use stithy_hammer::workloads::{Context, Workload};
use stithy_measure::{Clock, SystemClock};
use stithy_wire::{
    Arrivals, CheckJob, DataShape, Isolation, Job, LedgerFindingKind, Message, Pace, PrepareJob,
    RunJob, RunSummary, Share, VerifyLedgerJob, WarmUpJob, WorkloadChoice, WIRE_VERSION,
};

/// What Python says to the same workload; `tests/unmeasured/test_own_workload.py` compares them.
const CHOICE: &str = include_str!("../../../../tests/fakes/plugins/workloads/counter.json");
const COUNTERS: u32 = 5;
const TOUCHED: u32 = 4;
const STEP: u32 = 2;

fn counter() -> WorkloadChoice {
    serde_json::from_str(CHOICE).unwrap()
}

fn run(url: &str, pace: Pace) -> RunJob {
    RunJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: counter(),
        seed: 1,
        users: 4,
        connections: None,
        pace,
        ramp_up_s: 0.1,
        duration_s: 0.5,
        share: Share::ALL,
        start_at_s: None,
        isolation: Isolation::Serializable,
        error_limit: 0,
        reconnect_limit_s: 5.0,
        hlog_stem: None,
        ledger: None,
    }
}

fn prepare(url: &str) -> Job {
    prepare_by(url, 1)
}

fn prepare_by(url: &str, loaders: u32) -> Job {
    Job::Prepare(PrepareJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: counter(),
        seed: 1,
        loaders,
        data: DataShape::default(),
    })
}

async fn messages(job: Job) -> Result<Vec<Message>, HammerError> {
    let (_stopper, stop) = stop_pair();
    let mut messages = Vec::new();
    let mut sink = |message| messages.push(message);
    let context = Context {
        sink: &mut sink,
        stop,
    };
    execute_as::<MemoryTarget, Counter>(&job, context).await?;
    Ok(messages)
}

async fn last(job: Job) -> Result<Message, HammerError> {
    let mut messages = messages(job).await?;
    Ok(messages.pop().expect("a job ends in a summary"))
}

async fn window(job: RunJob) -> RunSummary {
    match last(Job::Run(job)).await.unwrap() {
        Message::RunSummary(summary) => *summary,
        other => panic!("no run summary: {other:?}"),
    }
}

/// Both languages' workload has the same keys: one that is missing or unknown here is refused.
#[test]
fn the_workload_reads_every_key_that_python_says_to_it() {
    let expected = Options {
        counters: COUNTERS,
        touched: TOUCHED,
        step: STEP,
    };
    assert_eq!(expected, Counter::options(&counter()).unwrap());
    let mut other = counter();
    other.options.insert("pace".into(), 1.into());
    assert_eq!("job-invalid", Counter::options(&other).unwrap_err().code);
}

/// Every job of a workload goes through the same code, whatever workload and engine: loading, warming
/// up, a window, checking.
#[tokio::test]
async fn every_job_works_for_another_workload_on_another_engine() {
    let url = "memory://jobs";
    last(prepare(url)).await.unwrap();
    let warm_up = Job::WarmUp(WarmUpJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: counter(),
        seed: 1,
        transactions: 10,
    });
    let Message::WarmUpSummary(warmed) = last(warm_up).await.unwrap() else {
        panic!("no warm-up summary");
    };
    assert_eq!(10, warmed.transactions);
    let summary = window(run(url, Pace::None)).await;
    assert!(summary.complete && summary.errors.is_empty(), "{summary:?}");
    let [increment] = &summary.transactions[..] else {
        panic!("one type: {summary:?}");
    };
    assert_eq!("increment", increment.name);
    assert_eq!(Some(&TOUCHED.into()), summary.workload.get("units_touched"));
    let counters = MemoryTarget::parse(url).unwrap().counters();
    let (touched, others) = counters.split_at(TOUCHED as usize);
    assert!(touched.iter().all(|each| each % u64::from(STEP) == 0));
    assert_eq!([0], others);
    let proof = &summary.proof;
    assert!(increment.committed > 0 && proof.acknowledged >= increment.committed);
    assert_eq!(
        proof.after,
        proof.before.map(|before| before + proof.acknowledged)
    );
    let check = Job::Check(CheckJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: counter(),
        quick: true,
        after_load: false,
    });
    let Message::CheckSummary(checked) = last(check).await.unwrap() else {
        panic!("no check summary");
    };
    assert_eq!((1, Vec::new()), (checked.checked, checked.broken));
}

/// However many load, each row is copied once; keys and what the workload adds come last, and a loaded
/// database is not loaded again.
#[tokio::test]
async fn a_workload_is_loaded_from_its_slices() {
    for loaders in [1, 2, 7] {
        let url = format!("memory://loaded-{loaders}");
        let mut messages = messages(prepare_by(&url, loaders)).await.unwrap();
        let Some(Message::PrepareSummary(summary)) = messages.pop() else {
            panic!("no prepare summary");
        };
        let [table] = &summary.tables[..] else {
            panic!("one table: {summary:?}");
        };
        assert_eq!(
            ("counters", u64::from(COUNTERS)),
            (table.table.as_str(), table.rows)
        );
        let copied =
            |message: &Message| matches!(message, Message::Progress(p) if p.done == p.total);
        assert!(messages.iter().any(copied), "{messages:?}");
        let (tables, rows, done) = MemoryTarget::parse(&url).unwrap().loaded();
        assert_eq!((2, u64::from(COUNTERS)), (tables.len(), rows));
        let ending = ["begin", "key counters", "end counters", "loaded", "commit"];
        assert!(done.ends_with(&ending.map(String::from)), "{done:?}");
        let again = last(prepare_by(&url, loaders)).await.unwrap_err();
        assert_eq!(("tables-exist", 3), (again.code, again.exit()));
    }
}

/// A load that fails leaves nothing behind, so that it can be tried again.
#[tokio::test]
async fn a_load_that_fails_leaves_nothing() {
    let failed = last(prepare_by("memory://full?full", 2)).await.unwrap_err();
    assert_eq!(("disk-full", 4), (failed.code, failed.exit()));
    let (tables, rows, _) = MemoryTarget::parse("memory://full").unwrap().loaded();
    assert!(tables.is_empty() && rows == 0, "{tables:?}");
    last(prepare("memory://full")).await.unwrap();
}

/// Conflicts are tried again and lost connections opened again by what an engine calls its errors; what
/// was in doubt is looked for.
#[tokio::test]
async fn the_class_of_an_error_decides_what_follows() {
    let url = "memory://failing?conflict_every=7&lose_every=50";
    last(prepare(url)).await.unwrap();
    let summary = window(run(url, Pace::None)).await;
    assert!(summary.transactions[0].retries > 0, "{summary:?}");
    assert!(summary.connections.lost > 0 && summary.connections.reopened > 0);
    assert!(summary
        .errors
        .iter()
        .all(|error| error.text.contains("lost")));
    let proof = &summary.proof;
    assert!(proof.in_doubt > 0, "{proof:?}");
    let counted = proof.acknowledged + proof.in_doubt_found.unwrap();
    assert_eq!(proof.after, proof.before.map(|before| before + counted));
}

/// Open loops and the workload's own waits need nothing of a workload but its types.
#[tokio::test]
async fn users_are_paced_whatever_they_do() {
    last(prepare("memory://paced")).await.unwrap();
    let arrivals = stithy_wire::Arrivals::Constant;
    let per_s = 200.0;
    for pace in [Pace::Rate { per_s, arrivals }, Pace::Think { mean_s: 0.02 }] {
        let summary = window(run("memory://paced", pace)).await;
        assert!(summary.complete && summary.transactions[0].committed > 0);
        // Where nobody waits for an answer, none holds a user up.
        let open = matches!(pace, Pace::Rate { .. });
        assert_eq!(open, summary.suppressed_arrivals.is_none());
    }
}

/// Several hammers begin at one moment, which is the zero of their users' times whenever they wake, or not at all.
#[tokio::test]
async fn users_begin_at_the_moment_that_the_job_names() {
    let url = "memory://started";
    last(prepare(url)).await.unwrap();
    let now_s = SystemClock::start().unix_start().as_secs_f64();
    let at = |start_at_s| RunJob {
        start_at_s: Some(start_at_s),
        ..run(url, Pace::None)
    };
    let summary = window(at(now_s + 2.0)).await;
    assert!((summary.started_at_s - now_s - 2.0).abs() < 1e-6);
    // Whoever acts before the start finds the clock at zero, and nobody late.
    assert!(summary.first_late_s.is_some_and(|late_s| late_s > 0.0));
    assert!(summary.woke_late_s.is_some_and(|late_s| late_s < 1.0));
    let late = last(Job::Run(at(now_s - 1.0))).await.unwrap_err();
    assert_eq!(("start-missed", 3), (late.code, late.exit()));
}

/// Three hammers with a share each have every user and every arrival of one hammer, and none twice.
#[tokio::test]
async fn several_hammers_do_together_what_one_does_alone() {
    let url = "memory://shared";
    last(prepare(url)).await.unwrap();
    let pace = Pace::Rate {
        per_s: 200.0,
        arrivals: Arrivals::Constant,
    };
    let alone = window(run(url, pace)).await;
    let of = |number| RunJob {
        share: Share { number, of: 3 },
        ..run(url, pace)
    };
    let (first, second, third) = tokio::join!(window(of(0)), window(of(1)), window(of(2)));
    assert_eq!([2, 1, 1], [first.users, second.users, third.users]);
    let done = |summary: &RunSummary| summary.transactions[0].committed;
    let parts = [first, second, third];
    // Those about the end are counted in or out, many where the machine is busy; three times as many are too many.
    let together = parts.iter().map(done).sum::<u64>();
    assert!(together.abs_diff(done(&alone)) < 50, "{together}");
    // Only of several are the gaps of each one's users needed.
    assert!(alone.gaps.own.is_none() && parts.iter().all(|part| part.gaps.own.is_some()));
    let none = last(Job::Run(of(3))).await.unwrap_err();
    assert_eq!(("job-invalid", "share"), (none.code, none.place.as_str()));
}

/// What was acknowledged is in the ledger of any workload, and what the database forgets is named in the
/// workload's words; what was in doubt is found.
#[tokio::test]
async fn a_ledger_proves_what_was_acknowledged() {
    let url = "memory://kept?conflict_every=7&lose_every=50";
    last(prepare(url)).await.unwrap();
    let name = format!("stithy-test-{}-counter.ledger", std::process::id());
    let ledger = std::env::temp_dir().join(name).display().to_string();
    let job = RunJob {
        ledger: Some(ledger.clone()),
        ..run(url, Pace::None)
    };
    let summary = window(job).await;
    let verify = || {
        Job::VerifyLedger(VerifyLedgerJob {
            wire: WIRE_VERSION,
            url: url.into(),
            workload: counter(),
            ledger: ledger.clone(),
        })
    };
    let Message::LedgerSummary(verified) = last(verify()).await.unwrap() else {
        panic!("no ledger summary");
    };
    let counts = verified.entries["increment"];
    assert!(verified.holds && counts.in_doubt > 0, "{verified:?}");
    assert_eq!(summary.proof.acknowledged, counts.acknowledged);
    assert_eq!(summary.ledger.unwrap().acknowledged, counts.acknowledged);
    assert_eq!(
        (summary.proof.in_doubt, summary.proof.in_doubt),
        (counts.in_doubt, counts.in_doubt_found)
    );
    let control = MemoryTarget::parse(url).unwrap().connect().await.unwrap();
    // The last increments may be in doubt.
    for _ in 0..5 {
        control.execute("forgetting", "forget").await.unwrap();
    }
    let found = messages(verify()).await.unwrap();
    std::fs::remove_file(&ledger).unwrap();
    let lost = |message: &Message| matches!(message, Message::LedgerFinding(finding) if finding.kind == LedgerFindingKind::Lost && finding.text.starts_with("increment "));
    assert!(found.iter().any(lost), "{found:?}");
    assert!(matches!(found.last(), Some(Message::LedgerSummary(summary)) if !summary.holds));
}
