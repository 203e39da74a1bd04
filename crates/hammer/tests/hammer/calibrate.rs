//! Finding the driver's highest rate on a real PostgreSQL.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::support::{self, jobs};
use stithy_wire::{CalibrateSummary, Message};

/// The search ends, everything tried is reported, and the answers are the highest that were on time. How
/// high they are depends on the machine and is not tested.
#[tokio::test]
async fn the_highest_rate_and_number_of_users_are_told_with_every_trial() {
    let instance = support::shared();
    let url = instance.new_database();
    let messages = jobs::done(&jobs::calibrate(&url, 8, 0.1)).await;
    let Some(Message::CalibrateSummary(summary)) = messages.last() else {
        panic!("the last message is no summary");
    };
    let CalibrateSummary {
        rate_per_s_max,
        users_max,
        trials,
        ..
    } = summary;
    let on_time = || trials.iter().filter(|trial| trial.on_time);
    let by_rate = on_time().filter(|trial| trial.users.is_none());
    let highest = by_rate.map(|trial| trial.rate_per_s).max_by(f64::total_cmp);
    assert_eq!(highest, *rate_per_s_max);
    assert_eq!(on_time().filter_map(|trial| trial.users).max(), *users_max);
    // One that a busy machine held up may have done nothing; it was not on time then.
    assert!(on_time().all(|trial| trial.done > 0), "{trials:?}");
    assert!(
        !trials.last().unwrap().on_time || trials.len() > 4,
        "{trials:?}"
    );
}

/// A server that ends connections says nothing of the driver: there is an error and no highest rate.
#[tokio::test]
async fn a_server_that_fails_is_no_late_driver() {
    let instance = support::shared();
    let url = instance.new_database();
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE application_name = 'stithy-hammer' AND datname = current_database()";
    let database = url.clone();
    let ended = Arc::new(AtomicBool::new(false));
    let cutting = ended.clone();
    let cutter = std::thread::spawn(move || {
        while !cutting.load(Ordering::Relaxed) {
            instance.sql_at(&database, cut);
        }
    });
    let error = jobs::failed(&jobs::calibrate(&url, 4, 0.5)).await;
    ended.store(true, Ordering::Relaxed);
    cutter.join().unwrap();
    assert_eq!(4, error.exit(), "{error:?}");
}

/// A job that could not be is refused before it connects.
#[tokio::test]
async fn wrong_numbers_are_refused() {
    let none = jobs::failed(&jobs::calibrate("postgresql://u@/d?host=/nowhere", 0, 1.0)).await;
    assert_eq!(("job-invalid", 2), (none.code, none.exit()));
}
