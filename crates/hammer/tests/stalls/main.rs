//! What a server that stands still looks like: measured, so these tests run one after the other, in a
//! program of their own.

#![allow(
    clippy::unwrap_used,
    reason = "outside #[test] functions too: a test that cannot go on fails"
)]

mod hlog;
#[path = "../hammer/support/mod.rs"]
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stithy_measure::unpacked;
use stithy_wire::{Arrivals, Pace, RunJob, RunSummary, Second};
use support::{jobs, Instance};

/// While it lives no other test of this program runs.
struct Alone {
    _turn: MutexGuard<'static, ()>,
}

fn alone() -> Alone {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock();
    Alone {
        // Also where a test that held it has failed.
        _turn: turn.unwrap_or_else(PoisonError::into_inner),
    }
}

async fn run(job: RunJob, seen: impl FnMut(&Second)) -> RunSummary {
    jobs::window(job, seen).await.1
}

/// Lets a server stand still for two seconds, from the second measured second on; gives how long it did.
fn freeze_once(instance: &Instance, at: u64) -> impl FnMut(&Second) -> Option<JoinHandle<f64>> {
    let directory = instance.directory().to_owned();
    move |second| {
        let directory = directory.clone();
        (second.second == at).then(|| {
            std::thread::spawn(move || {
                let frozen = support::freeze::freeze(&directory);
                let start = Instant::now();
                std::thread::sleep(Duration::from_secs(2));
                drop(frozen);
                start.elapsed().as_secs_f64()
            })
        })
    }
}

/// In an open loop of 500 a second a stall of 2 s is seen in full: of the transactions of T seconds
/// those in the longest hundredth were due in the first T/100 of the stall, so that the 99th percentile
/// is the stall less T/100, at most 2 % less; what the server then takes for those that wait comes on
/// top, at most a tenth of the stall.
#[tokio::test]
async fn a_stall_shows_in_full_in_an_open_loop() {
    let _alone = alone();
    let instance = support::shared();
    let url = instance.loaded_database();
    let folder = std::env::temp_dir().join(format!("stithy-stall-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let job = RunJob {
        pace: Pace::Rate {
            per_s: 500.0,
            arrivals: Arrivals::Constant,
        },
        hlog_stem: Some(folder.join("w").display().to_string()),
        ..jobs::run(&url, 1, 16, 6.0)
    };
    let (mut freeze, mut frozen) = (freeze_once(instance, 2), None);
    let summary = run(job, |second| frozen = freeze(second).or(frozen.take())).await;
    let stall_s = frozen.unwrap().join().unwrap();
    let measured_s = summary.measure_to_s - summary.measure_from_s;
    let expected_s = stall_s - measured_s / 100.0;
    let text = std::fs::read(folder.join("w.response.hlog")).unwrap();
    let from_to = summary.measure_from_s..summary.measure_to_s;
    let p99_s = hlog::merged(&text, from_to).value_at_quantile(0.99) as f64 / 1e6;
    assert!(
        (0.98..1.10).contains(&(p99_s / expected_s)),
        "p99 is {p99_s} s, the stall of {stall_s} s says {expected_s} s; {summary:?}"
    );
    let waited = unpacked(summary.transactions[0].pool_wait.as_ref().unwrap()).unwrap();
    assert!(waited.max() > 1_500_000, "waiting for a user is told apart");
    let late_us = unpacked(&summary.lateness).unwrap().value_at_quantile(0.99);
    assert!(late_us < 500_000, "the driver was not late");
    assert_eq!(
        None, summary.suppressed_arrivals,
        "nothing is missed in an open loop"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

/// In a closed loop the same stall is only a few slow answers: what users did not begin is reported.
#[tokio::test]
async fn a_stall_of_a_closed_loop_tells_the_suppressed_arrivals() {
    let _alone = alone();
    let instance = support::shared();
    let url = instance.loaded_database();
    let job = RunJob {
        pace: Pace::Think { mean_s: 0.05 },
        ..jobs::run(&url, 1, 8, 6.0)
    };
    let (mut freeze, mut frozen) = (freeze_once(instance, 2), None);
    let summary = run(job, |second| frozen = freeze(second).or(frozen.take())).await;
    let stall_s = frozen.unwrap().join().unwrap();
    // Each of 8 users would have gone on with one transaction in 50 ms and some milliseconds.
    let most = 8.0 * stall_s / 0.05;
    let missed = summary.suppressed_arrivals.unwrap() as f64;
    assert!(
        (0.7 * most..1.2 * most).contains(&missed),
        "{missed} starts missed, at most {most} expected; {summary:?}"
    );
}

/// A stall that outlasts the measurement is in no answer of it, and misses starts all the same.
#[tokio::test]
async fn a_stall_over_the_end_of_a_closed_loop_misses_starts() {
    let _alone = alone();
    let instance = support::shared();
    let url = instance.loaded_database();
    let job = RunJob {
        pace: Pace::Think { mean_s: 0.05 },
        ..jobs::run(&url, 1, 8, 3.5)
    };
    // From about 3 s to 5 s; the measurement ends at 4.5 s.
    let (mut freeze, mut frozen) = (freeze_once(instance, 2), None);
    let summary = run(job, |second| frozen = freeze(second).or(frozen.take())).await;
    frozen.unwrap().join().unwrap();
    let most = 8.0 * 1.5 / 0.05;
    let missed = summary.suppressed_arrivals.unwrap() as f64;
    assert!(
        (0.3 * most..1.2 * most).contains(&missed),
        "{missed} starts missed, at most {most} expected; {summary:?}"
    );
}
