//! Users who wait, share connections, or arrive whoever is answered.

use crate::support::jobs::order_entry_with;
use crate::support::jobs::{assert_all_conditions_hold, window as run};
use crate::support::{self, jobs, Instance};
use hdrhistogram::Histogram;
use serde_json::json;
use stithy_hammer::stop::stop_pair;
use stithy_measure::unpacked;
use stithy_wire::{Arrivals, Job, Message, Pace, Phase, RunJob, RunSummary};

fn rate(per_s: f64) -> Pace {
    let arrivals = Arrivals::Constant;
    Pace::Rate { per_s, arrivals }
}

fn times(packed: &str) -> Histogram<u64> {
    unpacked(packed).unwrap()
}

fn done(summary: &RunSummary) -> u64 {
    let counts = summary
        .transactions
        .iter()
        .map(|t| times(&t.response).len());
    counts.sum()
}

/// Who stops a run whose server stands still need not wait for its answers, and is told once that they
/// are missing, however many users there are.
#[tokio::test]
async fn a_run_over_a_server_that_stands_still_can_be_stopped() {
    let instance = Instance::start(&[]);
    let url = instance.loaded_database();
    let job = RunJob {
        connections: Some(8),
        ramp_up_s: 1.0,
        ..jobs::run(&url, 1, 200, 1.0)
    };
    let (stopper, stop) = stop_pair();
    let (mut frozen, mut warnings) = (None, Vec::new());
    let (messages, result) = jobs::outcome(&Job::Run(job), stop, |message| match message {
        Message::Second(second) if second.second == 0 => {
            frozen = Some(support::freeze::freeze(instance.directory()));
        }
        Message::Second(second) if second.phase == Phase::Drain => stopper.request(),
        Message::Warning(warning) => {
            warnings.push(warning.code.clone());
            frozen.take_if(|_| warning.code == "drain-limit");
        }
        _ => {}
    })
    .await;
    result.expect("a run ends in a summary");
    assert_eq!(vec!["interrupted", "drain-limit"], warnings);
    let Some(Message::RunSummary(summary)) = messages.last() else {
        panic!("the last message is no summary");
    };
    assert!(!summary.complete, "{summary:?}");
    assert!(
        summary.ended_at_s - summary.measure_to_s < 50.0,
        "the usual minute was not waited for"
    );
    assert_eq!(
        192, summary.backlog,
        "all but those who had a connection wait"
    );
}

/// Two hundred users over four connections: all of them act, each at its pace, none has a connection
/// of its own, and every condition holds.
#[tokio::test]
async fn many_users_share_few_connections() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let job = RunJob {
        connections: Some(4),
        pace: Pace::Think { mean_s: 1.0 },
        workload: order_entry_with(1, json!({"deferred_delivery": true})),
        ramp_up_s: 1.0,
        ..jobs::run(&url, 1, 200, 4.0)
    };
    let (_, summary) = run(job, |_| ()).await;
    assert!(summary.complete && summary.errors.is_empty(), "{summary:?}");
    assert_eq!(4, summary.connections.opened);
    // 200 users with a mean of a second: 800 in 4 s, and a standard deviation of at most 28. Where the
    // machine is busy with something else answers take longer, and users act less often.
    let count = done(&summary);
    assert!((200..=920).contains(&count), "{count} transactions");
    for transaction in &summary.transactions {
        let waits = times(transaction.pool_wait.as_ref().unwrap());
        let answered = times(&transaction.response).len();
        assert_eq!(answered, waits.len(), "{}", transaction.name);
    }
    assert_all_conditions_hold(&url, 1).await;
    instance.drop_database(&url);
}

/// Deliveries that are left to others are done over connections of their own, and no user waits.
#[tokio::test]
async fn deferred_deliveries_are_done_behind_the_users() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let job = RunJob {
        pace: Pace::Think { mean_s: 0.05 },
        workload: order_entry_with(1, json!({"deferred_delivery": true})),
        ..jobs::run(&url, 1, 8, 3.0)
    };
    let (_, summary) = run(job, |_| ()).await;
    assert!(summary.complete && summary.errors.is_empty(), "{summary:?}");
    assert_eq!(9, summary.connections.opened);
    for transaction in &summary.transactions {
        let deferred = transaction.name == "delivery";
        assert_eq!(
            deferred,
            transaction.pool_wait.is_some(),
            "{}",
            transaction.name
        );
        assert!(transaction.committed > 0, "{}", transaction.name);
        // Who leaves a delivery is answered at once, whatever its execution takes. The quickest of both
        // tells, also on a machine that is busy with something else.
        let (response, service) = (times(&transaction.response), times(&transaction.service));
        assert_eq!(response.len(), service.len(), "{}", transaction.name);
        assert_eq!(
            deferred,
            response.min() < service.min(),
            "{}: {} us, {} us",
            transaction.name,
            response.min(),
            service.min()
        );
    }
    assert_all_conditions_hold(&url, 1).await;
    instance.drop_database(&url);
}

/// More than the users can do is due all the same: it waits, the seconds tell how much, and what was
/// not begun at the end is counted.
#[tokio::test]
async fn what_is_due_and_not_begun_is_counted() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let job = RunJob {
        pace: rate(50_000.0),
        ..jobs::run(&url, 1, 1, 2.0)
    };
    let (seconds, summary) = run(job, |_| ()).await;
    let waiting: Vec<u64> = seconds
        .iter()
        .take(3)
        .map(|second| second.waiting)
        .collect();
    assert!(waiting.is_sorted() && waiting[0] > 0, "{waiting:?}");
    assert!(summary.backlog >= waiting[1], "{summary:?}");
    instance.drop_database(&url);
}

/// Only the warehouses in reach change, and the summary says how many they are.
#[tokio::test]
async fn users_touch_only_the_warehouses_in_reach() {
    let instance = support::shared();
    let url = instance.loaded_database_of(2);
    let job = RunJob {
        workload: order_entry_with(2, json!({"warehouses_touched": 1})),
        ..jobs::run(&url, 2, 4, 1.0)
    };
    let (_, summary) = run(job, |_| ()).await;
    let told = &summary.workload;
    assert_eq!(
        (&json!(1), &json!(2)),
        (&told["units_touched"], &told["units_total"])
    );
    let sizes = summary.sizes;
    assert!(sizes.database_bytes > Some(150 << 20) && sizes.cache_bytes.is_some());
    let orders = "SELECT string_agg((n > 30000)::text, ' ' ORDER BY w) FROM \
         (SELECT o_w_id AS w, count(*) AS n FROM orders GROUP BY 1) AS counted";
    assert_eq!("true false", instance.sql_at(&url, orders));
    let bound = RunJob {
        workload: order_entry_with(2, json!({"users_per_warehouse": 4, "profile": "hammerdb"})),
        seed: 9,
        ..jobs::run(&url, 2, 4, 1.0)
    };
    let (_, summary) = run(bound, |_| ()).await;
    let told = &summary.workload;
    assert_eq!(
        (&json!(1), &json!("hammerdb")),
        (&told["units_touched"], &told["profile"])
    );
    assert_eq!("true false", instance.sql_at(&url, orders));
    assert_all_conditions_hold(&url, 2).await;
    instance.drop_database(&url);
}

/// More bound users than the warehouses take are refused before anything starts, with a number that
/// would do.
#[tokio::test]
async fn bound_users_need_warehouses_enough() {
    let job = RunJob {
        workload: order_entry_with(3, json!({"users_per_warehouse": 10})),
        ..jobs::run("postgresql://u@/d?host=/nowhere", 3, 31, 1.0)
    };
    let error = jobs::failed(&Job::Run(job)).await;
    assert_eq!(("too-few-warehouses", 2), (error.code, error.exit()));
    assert!(error.remedy.contains("11 users"), "{}", error.remedy);
}

/// Every connection is cut at once: all come back, which is counted with the time to the first
/// success, and the orders still agree.
#[tokio::test]
async fn lost_connections_come_back() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE application_name = 'stithy-hammer' AND datname = current_database()";
    let job = RunJob {
        reconnect_limit_s: 20.0,
        ramp_up_s: 1.0,
        ..jobs::run(&url, 1, 6, 4.0)
    };
    let (seconds, summary) = run(job, |second| {
        if second.second == 1 {
            instance.sql_at(&url, cut);
        }
    })
    .await;
    let connections = &summary.connections;
    assert!(summary.complete, "{summary:?}");
    assert_eq!(
        (6, 6, 6),
        (connections.opened, connections.lost, connections.reopened)
    );
    assert!(connections.first_success_s < Some(5.0), "{connections:?}");
    let last = seconds
        .iter()
        .filter(|s| s.second == 4)
        .flat_map(|s| &s.transactions);
    assert!(last.map(|t| t.committed).sum::<u64>() > 0, "users went on");
    let numbers = &summary.proof;
    let growth = numbers.after.unwrap() - numbers.before.unwrap();
    assert_eq!(
        numbers.acknowledged + numbers.in_doubt_found.unwrap(),
        growth
    );
    instance.drop_database(&url);
}

/// A server that ends nearly every connection over its first transaction is not asked for new ones
/// thousands of times.
#[tokio::test]
async fn connections_that_are_of_no_use_are_not_opened_in_a_rush() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let ending = "CREATE FUNCTION ending() RETURNS trigger LANGUAGE plpgsql AS          $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$";
    instance.sql_at(&url, ending);
    let trigger = "CREATE TRIGGER ending BEFORE UPDATE ON district          FOR EACH ROW EXECUTE FUNCTION ending()";
    instance.sql_at(&url, trigger);
    let job = RunJob {
        reconnect_limit_s: 20.0,
        ..jobs::run(&url, 1, 16, 4.0)
    };
    let (_, summary) = run(job, |_| ()).await;
    // Sixteen each half a second: 160 in 5 s, and as many again that were of some use.
    let lost = summary.connections.lost;
    assert!((16..320).contains(&lost), "{lost} connections lost");
    instance.drop_database(&url);
}

/// A server that crashes and comes back in time: the run waits for it and goes on to its end.
#[tokio::test]
async fn a_server_that_comes_back_is_waited_for() {
    let instance = std::sync::Arc::new(Instance::start(&[]));
    let url = instance.loaded_database();
    let job = RunJob {
        reconnect_limit_s: 60.0,
        ramp_up_s: 1.0,
        ..jobs::run(&url, 1, 4, 8.0)
    };
    let mut restarting = None;
    let (_, summary) = run(job, |second| {
        if second.second == 1 {
            let instance = instance.clone();
            restarting = Some(std::thread::spawn(move || {
                instance.crash();
                instance.start_again();
            }));
        }
    })
    .await;
    restarting.unwrap().join().unwrap();
    let connections = &summary.connections;
    assert!(summary.complete && connections.reopened > 0, "{summary:?}");
    assert!(connections.first_success_s.is_some(), "{connections:?}");
    assert_all_conditions_hold(&url, 1).await;
}
