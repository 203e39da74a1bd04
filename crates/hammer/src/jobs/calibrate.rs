//! The job `calibrate`: the highest rate and number of users with which this driver, on this host,
//! against this server, stays on time with a transaction that does nothing. What a study asks of
//! the driver should be far below it, or the driver is measured instead of the storage.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{percentiles, Moment, Outcome, Rng};
use stithy_wire::{CalibrateJob, CalibrateSummary, Calibration, Isolation, Message, Progress};

use super::saturation_search::{SaturationSearch, HALVINGS};
use crate::connections::{Opening, Statements};
use crate::engines::{
    Access, Batch, Control, Session, SessionError, SessionSettings, Statement, Target,
};
use crate::error::HammerError;
use crate::pace::{Pace, Steady, Waiting, Waits};
use crate::pool::Pool;
use crate::run::drive;
use crate::transaction_script::TransactionScript;
use crate::virtual_users::{Pools, Timing, VirtualUsers};
use crate::window::{Plan, Window};
use crate::workloads::Context;

/// The same users every time.
const SEED: u64 = 1;
/// What the random numbers of this job are for.
const PACE: u64 = 1;
/// The rate of the first trial.
const START_PER_S: f64 = 500.0;
/// No server answers faster over this many connections.
const MOST_PER_S: f64 = 1_000_000.0;
/// More users than this are not tried: each takes some memory, and few studies ask for more.
const USERS_MOST: f64 = 500_000.0;
/// The first number of users is so much smaller than what the highest rate would carry.
const USERS_START_SHARE: f64 = 1.0 / 8.0;
/// Before each trial is measured.
const SETTLE: Duration = Duration::from_millis(300);

/// Lateness may be a millisecond, or this share of the median service time if that is more.
/// The limits of a driver-limited window: docs/explanation/method.md, "Four times of a transaction".
const LATE_MOST_S: f64 = 0.001;
const LATE_MOST_SHARE: f64 = 0.05;
/// A trial in which fewer of the planned transactions came to an end was not kept up with.
const KEPT_UP_SHARE: f64 = 0.99;

/// What a trial asks of the driver.
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// An open loop of so many transactions a second.
    Rate(f64),
    /// A closed loop of so many users, who think for `think_s` in the mean.
    Users { count: u32, think_s: f64 },
}

impl Asked {
    fn rate_per_s(self) -> f64 {
        match self {
            Asked::Rate(per_s) => per_s,
            Asked::Users { count, think_s } => f64::from(count) / think_s,
        }
    }

    fn users(self) -> Option<u32> {
        match self {
            Asked::Rate(_) => None,
            Asked::Users { count, .. } => Some(count),
        }
    }

    fn words(self) -> String {
        match self {
            Asked::Rate(per_s) => format!("tried {per_s:.0} transactions a second"),
            Asked::Users { count, .. } => format!("tried {count} users"),
        }
    }
}

/// Searches the rate, then the number of users, each by doubling and then by halving.
///
/// Errors: those of connecting and of [`Control::require_connections`]; `interrupted`; `calibration-failed`
/// (infrastructure) where the server ends a connection, refuses, or does not answer.
pub async fn calibrate<'a, T: Target>(
    job: &'a CalibrateJob,
    context: Context<'a>,
) -> Result<CalibrateSummary, HammerError> {
    let target = T::parse(&job.url)?;
    let control = target.connect().await?;
    control.require_connections(job.connections).await?;
    drop(control);
    let mut bench = Bench {
        job,
        target,
        context,
        trials: Vec::new(),
    };
    let rate_per_s_max = bench.search(START_PER_S, MOST_PER_S, Asked::Rate).await?;
    let users_max = bench.search_users(rate_per_s_max).await?;
    Ok(CalibrateSummary {
        connections: job.connections,
        rate_per_s_max,
        think_s: job.think_s,
        users_max: users_max.map(|count| count.round() as u32),
        users_limit_reached: users_max.is_some_and(|count| count >= USERS_MOST),
        trials: bench.trials,
    })
}

struct Bench<'a, T> {
    job: &'a CalibrateJob,
    target: T,
    context: Context<'a>,
    trials: Vec<Calibration>,
}

impl<T: Target> Bench<'_, T> {
    /// Where the driver was never on time by rate, it is not asked for users.
    async fn search_users(&mut self, rate_per_s: Option<f64>) -> Result<Option<f64>, HammerError> {
        let (Some(rate_per_s), Some(think_s)) = (rate_per_s, self.job.think_s) else {
            return Ok(None);
        };
        let start = (rate_per_s * think_s * USERS_START_SHARE).clamp(1.0, USERS_MOST);
        let asked = |count: f64| Asked::Users {
            count: count.round() as u32,
            think_s,
        };
        self.search(start, USERS_MOST, asked).await
    }

    /// The highest amount found on time; None where not even the first was.
    async fn search(
        &mut self,
        start: f64,
        most: f64,
        asked: impl Fn(f64) -> Asked,
    ) -> Result<Option<f64>, HammerError> {
        let mut search = SaturationSearch::new(start, most);
        while let Some(amount) = search.next() {
            search.tried(self.tried(asked(amount)).await?);
        }
        Ok(search.found())
    }

    async fn tried(&mut self, asked: Asked) -> Result<bool, HammerError> {
        let window = self.trial(asked).await?;
        if self.context.stop.requested() {
            return Err(HammerError::interrupted("calibrating"));
        }
        self.refuse_failed(&window)?;
        let trial = judged(asked, self.job.trial_s, &window);
        let on_time = trial.on_time;
        self.trials.push(trial);
        (self.context.sink)(Message::Progress(Progress {
            stage: asked.words(),
            done: self.trials.len() as u64,
            total: self.trials.len() as u64 + u64::from(HALVINGS),
        }));
        Ok(on_time)
    }

    /// What the server did not do says nothing of the driver.
    fn refuse_failed(&self, window: &Window) -> Result<(), HammerError> {
        let problem = match window.errors.first() {
            Some(error) => error.text.clone(),
            None if window.complete => return Ok(()),
            None => "answers were missing for too long".into(),
        };
        Err(HammerError::infrastructure(
            "calibration-failed",
            problem,
            format!("{}, while calibrating", self.target.place()),
            "see the server's log, then start the job again",
        ))
    }

    async fn trial(&mut self, asked: Asked) -> Result<Window, HammerError> {
        let users = self.virtual_users(asked).await?;
        let plan = Plan {
            names: &["nothing"],
            start_at: None,
            ramp_up: SETTLE,
            duration: Duration::from_secs_f64(self.job.trial_s),
            error_limit: 0,
            reconnect_limit: Duration::ZERO,
            hlog_stem: None,
            is_shared: false,
        };
        // The seconds of a trial are no result.
        let mut silent = |_| ();
        let inner = Context {
            sink: &mut silent,
            stop: self.context.stop.clone(),
        };
        drive(users, plan, inner).await
    }

    async fn virtual_users(
        &self,
        asked: Asked,
    ) -> Result<VirtualUsers<Nothing, T::Session>, HammerError> {
        let opening = Opening {
            target: self.target.clone(),
            settings: SessionSettings::Load(Isolation::ReadCommitted),
            prepare: PrepareNothing,
        };
        let connections = self.job.connections;
        let (sessions, nothing) = opening.all(connections).await?;
        let users = asked.users().unwrap_or(connections);
        Ok(VirtualUsers {
            scripts: vec![nothing; users as usize],
            timing: timing(asked),
            pools: Pools::Shared(Arc::new(Pool::new(sessions, opening.opener()))),
            deferral: None,
            agenda: None,
        })
    }
}

fn timing(asked: Asked) -> Timing {
    match asked {
        Asked::Rate(per_s) => Timing::Open(Box::new(Steady::new(Moment::START, 1.0 / per_s))),
        Asked::Users { count, think_s } => {
            let waits = Arc::new(Waits {
                weights: vec![1],
                keying_s: vec![0.0],
                think_mean_s: vec![think_s],
            });
            let pace = |user| {
                let rng = Rng::of(SEED, PACE, user, 0);
                Box::new(Waiting::new(waits.clone(), rng)) as Box<dyn Pace>
            };
            Timing::Closed {
                paces: (0..u64::from(count)).map(pace).collect(),
                wait_mean_s: think_s,
            }
        }
    }
}

/// Whether a trial kept up and was on time.
fn judged(asked: Asked, trial_s: f64, window: &Window) -> Calibration {
    let (late, service) = (
        percentiles(&window.measured.late()),
        percentiles(&window.measured.types[0].service),
    );
    let allowed_s = service
        .p50_s
        .map_or(0.0, |p50_s| (LATE_MOST_SHARE * p50_s).max(LATE_MOST_S));
    let kept_up = service.count as f64 >= kept_up_count(asked, trial_s);
    Calibration {
        users: asked.users(),
        rate_per_s: asked.rate_per_s(),
        on_time: kept_up && late.p99_s.is_some_and(|late_s| late_s <= allowed_s),
        done: service.count,
        lateness_p99_s: late.p99_s,
        service_p50_s: service.p50_s,
        driver_cpu_s: window.cpu.cpu.as_secs_f64(),
    }
}

/// So many transactions must have been done. Of users, who act at random, a few may be missing by
/// chance: four standard deviations of a Poisson count.
fn kept_up_count(asked: Asked, trial_s: f64) -> f64 {
    let expected = asked.rate_per_s() * trial_s;
    let by_chance = asked.users().map_or(0.0, |_| 4.0 * expected.sqrt());
    KEPT_UP_SHARE * expected - by_chance
}

/// The transaction that does nothing: one round trip.
#[derive(Clone, Copy)]
struct Nothing(Statement);

/// Prepares it.
#[derive(Clone, Copy)]
struct PrepareNothing;

impl Statements for PrepareNothing {
    type Prepared = Nothing;

    async fn prepare<C: Session>(&self, session: &mut C) -> Result<Nothing, SessionError> {
        Ok(Nothing(session.prepare(&["SELECT 1"]).await?[0]))
    }
}

impl TransactionScript for Nothing {
    fn draw(&mut self) -> usize {
        0
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        session.start(Batch::Whole(Access::Read));
        session.queue(self.0, |_| {});
        session.exchange().await?;
        Ok(Outcome::Committed)
    }
}
