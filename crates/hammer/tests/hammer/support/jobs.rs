//! Jobs as tests give them, and every message they answer with.

use serde_json::{Map, Value};
use stithy_hammer::error::HammerError;
use stithy_hammer::stop::{stop_pair, Stop};
use stithy_hammer::{job, workloads::Context};
use stithy_wire::{
    CalibrateJob, CheckJob, DataShape, Isolation, Job, Message, Pace, PrepareJob, RunJob,
    RunSummary, Second, Share, VerifyLedgerJob, WarmUpJob, WorkloadChoice, WIRE_VERSION,
};

/// The order-entry workload.
pub fn order_entry(warehouses: u32) -> WorkloadChoice {
    WorkloadChoice {
        name: "order-entry".into(),
        options: Map::from_iter([("warehouses".into(), warehouses.into())]),
    }
}

/// The same with further keys of its own.
pub fn order_entry_with(warehouses: u32, more: Value) -> WorkloadChoice {
    let mut choice = order_entry(warehouses);
    let more = more.as_object().expect("keys and values").clone();
    choice.options.extend(more);
    choice
}

/// Loads a database from the seed 42.
pub fn prepare(url: &str, warehouses: u32, loaders: u32) -> Job {
    let workload = order_entry(warehouses);
    Job::Prepare(PrepareJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload,
        seed: 42,
        loaders,
        data: DataShape::default(),
    })
}

/// Verifies consistency conditions.
pub fn check(url: &str, warehouses: u32, quick: bool, after_load: bool) -> Job {
    let workload = order_entry(warehouses);
    Job::Check(CheckJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload,
        quick,
        after_load,
    })
}

/// Drives a database for a short window, with procedures, back to back.
pub fn run(url: &str, warehouses: u32, users: u32, duration_s: f64) -> RunJob {
    RunJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: order_entry(warehouses),
        seed: 5,
        users,
        connections: None,
        pace: Pace::None,
        ramp_up_s: 0.2,
        duration_s,
        share: Share::ALL,
        start_at_s: None,
        isolation: Isolation::ReadCommitted,
        error_limit: 0,
        reconnect_limit_s: 0.0,
        hlog_stem: None,
        ledger: None,
    }
}

/// Reads the rows of a number of transactions.
pub fn warm_up(url: &str, warehouses: u32, transactions: u64) -> Job {
    Job::WarmUp(WarmUpJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload: order_entry(warehouses),
        seed: 5,
        transactions,
    })
}

/// Compares a ledger with the database.
pub fn verify_ledger(url: &str, warehouses: u32, ledger: &str) -> Job {
    let workload = order_entry(warehouses);
    Job::VerifyLedger(VerifyLedgerJob {
        wire: WIRE_VERSION,
        url: url.into(),
        workload,
        ledger: ledger.into(),
    })
}

/// Finds the highest rate, with short trials.
pub fn calibrate(url: &str, connections: u32, trial_s: f64) -> Job {
    Job::Calibrate(CalibrateJob {
        wire: WIRE_VERSION,
        url: url.into(),
        connections,
        trial_s,
        think_s: Some(5.0),
    })
}

/// Does a job that nobody stops; gives its messages.
pub async fn done(job: &Job) -> Vec<Message> {
    let (_stopper, stop) = stop_pair();
    let (messages, result) = outcome(job, stop, |_| ()).await;
    result.expect("the job succeeds");
    messages
}

/// Does a job on a thread of its own, for callers that are inside a runtime but cannot wait in it.
pub fn done_elsewhere(job: Job) -> Vec<Message> {
    let doing = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime starts").block_on(done(&job))
    });
    doing.join().expect("the job succeeds")
}

/// Does a job that must fail; gives its error.
pub async fn failed(job: &Job) -> HammerError {
    let (_stopper, stop) = stop_pair();
    outcome(job, stop, |_| ())
        .await
        .1
        .expect_err("the job fails")
}

/// Does a job, showing each message as it comes; gives all of them and how it ended.
pub async fn outcome(
    job: &Job,
    stop: Stop,
    mut seen: impl FnMut(&Message),
) -> (Vec<Message>, Result<(), HammerError>) {
    let mut messages = Vec::new();
    let mut sink = |message: Message| {
        seen(&message);
        messages.push(message);
    };
    let result = job::execute(
        job,
        Context {
            sink: &mut sink,
            stop,
        },
    )
    .await;
    (messages, result)
}

/// Runs to the summary; `seen` is shown every second as it comes. Gives all seconds.
pub async fn window(job: RunJob, mut seen: impl FnMut(&Second)) -> (Vec<Second>, RunSummary) {
    let (_stopper, stop) = stop_pair();
    let (messages, result) = outcome(&Job::Run(job), stop, |message| {
        if let Message::Second(second) = message {
            seen(second);
        }
    })
    .await;
    result.expect("a run ends in a summary");
    split(messages)
}

/// Seconds and summary of a run's messages.
pub fn split(mut messages: Vec<Message>) -> (Vec<Second>, RunSummary) {
    let Some(Message::RunSummary(summary)) = messages.pop() else {
        panic!("the last message is no run summary");
    };
    let seconds = messages.into_iter().filter_map(|message| match message {
        Message::Second(second) => Some(second),
        _ => None,
    });
    (seconds.collect(), *summary)
}

/// Every condition that must hold at any time does.
pub async fn assert_all_conditions_hold(url: &str, warehouses: u32) {
    let broken = broken(&check(url, warehouses, false, false)).await;
    assert_eq!(Vec::<u32>::new(), broken);
}

/// Numbers of the conditions that a check found broken.
pub async fn broken(job: &Job) -> Vec<u32> {
    match done(job).await.pop() {
        Some(Message::CheckSummary(summary)) => summary.broken,
        other => panic!("the last message is no check summary: {other:?}"),
    }
}
