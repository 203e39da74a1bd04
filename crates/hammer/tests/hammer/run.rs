//! Running load on a real PostgreSQL: what was acknowledged is there, and nothing else.

use std::path::Path;

use crate::ledger::verified;
use crate::support::jobs::order_entry_with;
use crate::support::jobs::{assert_all_conditions_hold, split, window as run};
use crate::support::{self, jobs, Place};
use serde_json::json;
use stithy_hammer::error::HammerError;
use stithy_hammer::stop::stop_pair;
use stithy_measure::unpacked;
use stithy_wire::{
    Arrivals, Isolation, Job, Message, Pace, Phase, Proof, RunJob, RunSummary, Second,
};

/// From quiet start to quiet end, the order numbers grow by exactly what is accounted for.
fn assert_orders_agree(numbers: &Proof) {
    let growth = numbers.after.unwrap() - numbers.before.unwrap();
    let accounted = numbers.acknowledged + numbers.in_doubt_found.unwrap();
    assert_eq!(accounted, growth, "{numbers:?}");
}

/// In both execution modes every transaction type commits, every condition holds, and the orders in the database are
/// those acknowledged: what was rolled back left nothing. The ledger has each acknowledgement with the number that the
/// database gave; seconds and logs add up to the summary.
#[tokio::test]
async fn a_run_leaves_exactly_what_it_acknowledged() {
    let instance = support::shared();
    for procedures in [true, false] {
        let url = instance.loaded_database_of(2);
        let place = Place::new(&format!("agrees-{procedures}"));
        let folder = std::env::temp_dir().join(format!("stithy-run-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let job = RunJob {
            workload: order_entry_with(2, json!({"procedures": procedures})),
            ledger: Some(place.text()),
            hlog_stem: Some(folder.join("window").display().to_string()),
            ramp_up_s: 1.0,
            ..jobs::run(&url, 2, 6, 2.0)
        };
        let (seconds, summary) = run(job, |_| ()).await;
        assert!(summary.complete && summary.errors.is_empty(), "{summary:?}");
        // Row locks are taken in one order, so that without snapshots nothing is ever tried again.
        for transaction in &summary.transactions {
            assert!(transaction.committed > 0, "{}", transaction.name);
            assert_eq!(0, transaction.retries, "{}", transaction.name);
        }
        assert_orders_agree(&summary.proof);
        assert_seconds_add_up(&seconds, &summary);
        assert_logs_hold_all(&folder, &seconds);
        std::fs::remove_dir_all(&folder).unwrap();
        let count = |sql| instance.sql_at(&url, sql);
        let (findings, ledger) = verified(&url, 2, &place).await;
        assert!(
            ledger.holds && findings.is_empty(),
            "{ledger:?} {findings:?}"
        );
        let [orders, payments] = ["order", "payment"].map(|kind| ledger.entries[kind].acknowledged);
        assert_eq!(summary.proof.acknowledged, orders);
        assert_eq!(
            [orders.to_string(), payments.to_string()],
            [
                count("SELECT count(*) - 60000 FROM orders"),
                count("SELECT count(*) - 60000 FROM history")
            ]
        );
        let written = summary.ledger.unwrap();
        assert_eq!(orders + payments, written.acknowledged);
        assert!(orders > 0 && written.syncs > 1 && written.problem.is_none());
        assert!(
            ledger.entries["order"].refused > 0,
            "one order in a hundred is rolled back"
        );
        assert_all_conditions_hold(&url, 2).await;
        instance.drop_database(&url);
    }
}

/// The seconds follow each other without gaps, and those of the measurement add up to the summary.
fn assert_seconds_add_up(seconds: &[Second], summary: &RunSummary) {
    let numbers: Vec<u64> = seconds.iter().map(|second| second.second).collect();
    assert_eq!((0..numbers.len() as u64).collect::<Vec<_>>(), numbers);
    for (index, total) in summary.transactions.iter().enumerate() {
        let measured = seconds.iter().filter(|s| s.phase == Phase::Measure);
        let sum: u64 = measured.map(|s| s.transactions[index].committed).sum();
        assert_eq!(total.committed, sum, "{}", total.name);
        let answered = unpacked(&total.response).unwrap().len();
        assert_eq!(answered, total.committed + total.rolled_back);
    }
    let measured_s = summary.measure_to_s - summary.measure_from_s;
    assert!((measured_s - 2.0).abs() < 1e-6, "{measured_s}");
}

/// The logs hold each transaction that completed, ramp-up and drain included.
fn assert_logs_hold_all(folder: &Path, seconds: &[Second]) {
    let kinds = seconds.iter().flat_map(|second| &second.transactions);
    let expected = kinds.filter(|t| t.committed + t.rolled_back > 0).count();
    for measure in ["response", "service", "late"] {
        let log = std::fs::read_to_string(folder.join(format!("window.{measure}.hlog"))).unwrap();
        let lines = log.lines().filter(|line| line.starts_with("Tag="));
        assert_eq!(expected, lines.count(), "{measure}");
    }
}

/// In an isolation as specified, users of one warehouse conflict, in both execution modes:
/// conflicts are retried and counted, no error is left, and the conditions hold.
#[tokio::test]
async fn conflicts_of_isolation_as_specified_are_retried_and_counted() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let levels = [Isolation::RepeatableRead, Isolation::Serializable];
    let ways = levels.map(|level| [(level, true), (level, false)]);
    for (isolation, procedures) in ways.into_iter().flatten() {
        let job = RunJob {
            isolation,
            workload: order_entry_with(1, json!({"procedures": procedures})),
            ramp_up_s: 0.0,
            ..jobs::run(&url, 1, 8, 1.0)
        };
        let (_, summary) = run(job, |_| ()).await;
        let retries: u64 = summary.transactions.iter().map(|t| t.retries).sum();
        assert!(retries > 0 && summary.errors.is_empty(), "{summary:?}");
        assert_orders_agree(&summary.proof);
    }
    assert_all_conditions_hold(&url, 1).await;
    instance.drop_database(&url);
}

/// A transaction that conflicts again and again is given up as an error, which names the conflict.
#[tokio::test]
async fn endless_conflicts_are_given_up_as_errors() {
    let instance = support::shared();
    let url = instance.loaded_database();
    instance.sql_at(
        &url,
        "CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'always' USING ERRCODE = '40001'; END $$; \
         CREATE TRIGGER conflict BEFORE INSERT ON history \
         FOR EACH ROW EXECUTE FUNCTION conflict()",
    );
    let job = RunJob {
        isolation: Isolation::Serializable,
        ..jobs::run(&url, 1, 1, 20.0)
    };
    let (_, summary) = run(job, |_| ()).await;
    let [error] = &summary.errors[..] else {
        panic!("no error: {summary:?}");
    };
    assert_eq!((Some("40001"), 1), (error.code.as_deref(), error.count));
    assert!(
        !summary.complete && summary.rollbacks >= 1_000,
        "{summary:?}"
    );
    instance.drop_database(&url);
}

/// While nothing can complete, seconds are reported all the same, with zeros and without times.
#[tokio::test]
async fn seconds_are_told_while_the_database_stands_still() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let mut locking: Option<std::thread::JoinHandle<_>> = None;
    let (stopper, stop) = stop_pair();
    let job = Job::Run(jobs::run(&url, 1, 4, 60.0));
    let (messages, result) = jobs::outcome(&job, stop, |message| {
        let Message::Second(second) = message else {
            return;
        };
        if second.second == 0 {
            let url = url.clone();
            let sql = "BEGIN; LOCK TABLE district; SELECT pg_sleep(2.5); COMMIT";
            locking = Some(std::thread::spawn(move || instance.sql_at(&url, sql)));
        }
        let unlocked = locking.as_ref().is_some_and(|each| each.is_finished());
        if unlocked && second.transactions[0].committed > 0 {
            stopper.request();
        }
    })
    .await;
    result.unwrap();
    locking.unwrap().join().unwrap();
    let (seconds, summary) = split(messages);
    let still = seconds
        .iter()
        .find(|second| second.transactions[0].committed == 0);
    let still = still.expect("a second passed without a new order");
    assert_eq!(None, still.transactions[0].live_p99_s);
    let kinds = seconds.iter().flat_map(|second| &second.transactions);
    assert!(
        kinds.filter(|kind| kind.committed > 0).all(|kind| {
            kind.live_p50_s > Some(0.0)
                && kind.live_p50_s <= kind.live_p95_s
                && kind.live_p95_s <= kind.live_p99_s
        }),
        "percentiles of a second go up: {seconds:?}"
    );
    // Whichever transactions stood before the lock: one in fifteen times none is a new order.
    let types = summary.transactions.iter();
    let slowest_us = types.map(|each| unpacked(&each.response).unwrap().max());
    assert!(
        slowest_us.max() > Some(1_000_000),
        "the wait is in the response time: {summary:?}"
    );
    assert_orders_agree(&summary.proof);
    instance.drop_database(&url);
}

/// A server that dies ends the run early with a summary: every connection lost, what cannot be known
/// null.
#[tokio::test]
async fn a_server_that_dies_ends_the_run_with_an_incomplete_summary() {
    let instance = support::Instance::start(&[]);
    let url = instance.loaded_database();
    let job = RunJob {
        error_limit: 100,
        ..jobs::run(&url, 1, 4, 60.0)
    };
    let (_, summary) = run(job, |second| {
        if second.second == 1 {
            instance.crash();
        }
    })
    .await;
    assert!(!summary.complete);
    assert_eq!(
        (4, 4),
        (summary.connections.opened, summary.connections.lost)
    );
    let numbers = &summary.proof;
    assert_eq!((None, None), (numbers.after, numbers.in_doubt_found));
    assert!(
        numbers.acknowledged > 0 && numbers.in_doubt <= 4,
        "{numbers:?}"
    );
    assert_eq!(
        4,
        summary.errors.iter().map(|error| error.count).sum::<u64>()
    );
}

/// Connections that are cut while the server lives: the other users go on, and orders without an
/// answer are looked up, so that the numbers still agree exactly.
#[tokio::test]
async fn orders_in_doubt_are_found_or_proven_absent() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let job = RunJob {
        error_limit: 100,
        ..jobs::run(&url, 1, 8, 3.0)
    };
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity \
         WHERE application_name = 'stithy-hammer' AND datname = current_database() \
         AND query LIKE '%new_order%' LIMIT 4) AS chosen";
    let (_, summary) = run(job, |second| {
        if second.second == 1 {
            instance.sql_at(&url, cut);
        }
    })
    .await;
    assert!(
        summary.complete && summary.connections.lost > 0,
        "{summary:?}"
    );
    assert_orders_agree(&summary.proof);
    assert_all_conditions_hold(&url, 1).await;
    instance.drop_database(&url);
}

/// A request to stop ends the measurement, waits for the answers under way, and says so.
#[tokio::test]
async fn a_request_to_stop_ends_in_an_incomplete_summary() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let (stopper, stop) = stop_pair();
    let job = Job::Run(jobs::run(&url, 1, 4, 600.0));
    let (messages, result) = jobs::outcome(&job, stop, |message| {
        if matches!(message, Message::Second(second) if second.second == 1) {
            stopper.request();
        }
    })
    .await;
    result.unwrap();
    let (_, summary) = split(messages);
    assert!(!summary.complete && summary.measure_to_s - summary.measure_from_s < 500.0);
    assert_eq!(0, summary.proof.in_doubt);
    assert_orders_agree(&summary.proof);
    instance.drop_database(&url);
}

/// A request to stop before the first transaction is a failure: there is nothing to sum up.
#[tokio::test]
async fn a_request_to_stop_before_the_first_transaction_is_a_failure() {
    let instance = support::shared();
    let url = instance.new_database();
    let (stopper, stop) = stop_pair();
    stopper.request();
    let (_, result) = jobs::outcome(&Job::Run(jobs::run(&url, 1, 2, 1.0)), stop, |_| ()).await;
    assert_eq!("interrupted", result.unwrap_err().code);
    instance.drop_database(&url);
}

/// Unexpected errors are counted with their text; past the limit the run gives up.
#[tokio::test]
async fn errors_past_the_limit_end_the_run_and_are_shown() {
    let instance = support::shared();
    let url = instance.loaded_database();
    instance.sql_at(
        &url,
        "ALTER TABLE history ADD CONSTRAINT full_up CHECK (h_c_id = 0) NOT VALID",
    );
    let job = RunJob {
        error_limit: 20,
        ..jobs::run(&url, 1, 4, 600.0)
    };
    let (_, summary) = run(job, |_| ()).await;
    assert!(!summary.complete);
    let error = &summary.errors[0];
    assert_eq!(Some("23514"), error.code.as_deref());
    assert!(
        error.count > 20 && error.text.contains("full_up"),
        "{error:?}"
    );
    assert_orders_agree(&summary.proof);
    instance.drop_database(&url);
}

async fn refused(job: RunJob) -> HammerError {
    jobs::failed(&Job::Run(job)).await
}

/// Another size than loaded, no users, negative times and a log that cannot be written are refused;
/// so are too few connections, by the setting's name, before anything starts.
#[tokio::test]
async fn jobs_that_cannot_be_right_are_refused() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let error = refused(jobs::run(&url, 1, 500, 1.0)).await;
    assert_eq!(("too-many-connections", 3), (error.code, error.exit()));
    assert!(error.remedy.contains("max_connections"), "{error}");
    let good = || jobs::run(&url, 1, 2, 1.0);
    assert_eq!(
        "size-differs",
        refused(jobs::run(&url, 3, 2, 1.0)).await.code
    );
    assert_eq!(
        "job-invalid",
        refused(RunJob { users: 0, ..good() }).await.code
    );
    assert_eq!(
        "job-invalid",
        refused(RunJob {
            duration_s: -1.0,
            ..good()
        })
        .await
        .code
    );
    let never = Pace::Rate {
        per_s: 1e-20,
        arrivals: Arrivals::Poisson,
    };
    let error = refused(RunJob {
        pace: never,
        ..good()
    })
    .await;
    assert_eq!(
        ("job-invalid", "pace.per_s"),
        (error.code, error.place.as_str())
    );
    let hlog_stem = Some("/no-such-folder/window".to_string());
    assert_eq!(
        "hlog-failed",
        refused(RunJob {
            hlog_stem,
            ..good()
        })
        .await
        .code
    );
    instance.drop_database(&url);
}

/// The warm-up does what it is asked to, and writes nothing; one that is stopped is a failure, as the
/// caches are then not what the next window relies on.
#[tokio::test]
async fn a_warm_up_reads_and_changes_nothing() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let state = "SELECT string_agg(relname || pg_relation_size(oid), ',' ORDER BY relname), \
         (SELECT sum(d_next_o_id) FROM district) FROM pg_class WHERE relkind = 'r'";
    let before = instance.sql_at(&url, state);
    let last = jobs::done(&jobs::warm_up(&url, 1, 501)).await.pop();
    let Some(Message::WarmUpSummary(summary)) = last else {
        panic!("the last message is no warm-up summary: {last:?}");
    };
    assert_eq!(501, summary.transactions);
    assert_eq!(before, instance.sql_at(&url, state));
    let (stopper, stop) = stop_pair();
    stopper.request();
    let (_, result) = jobs::outcome(&jobs::warm_up(&url, 1, 1_000_000), stop, |_| ()).await;
    assert_eq!("interrupted", result.unwrap_err().code);
    instance.drop_database(&url);
}
