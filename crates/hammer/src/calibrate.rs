//! The job `calibrate`: the highest rate at which this driver, on this host, against this server,
//! stays on time with a transaction that does nothing. What a study asks of the driver should be far
//! below it, or the driver is measured instead of the storage.

use std::time::Duration;

use stithy_measure::{percentiles, Moment, Outcome};
use stithy_wire::{CalibrateJob, CalibrateSummary, Calibration, Isolation, Message, Progress};

use crate::client::postgresql::{Session, SessionError, Statement, Target};
use crate::connections;
use crate::error::HammerError;
use crate::pace::Steady;
use crate::run::{drive_paced, Plan, Window};
use crate::script::Script;
use crate::workload::Context;

/// The rate of the first trial.
const START_PER_S: f64 = 500.0;
/// No server answers faster over this many connections.
const MOST_PER_S: f64 = 1_000_000.0;
/// After the doubling, so many halvings: the answer is exact to 1 in 16.
const HALVINGS: u32 = 4;
/// Before each trial is measured.
const SETTLE: Duration = Duration::from_millis(300);

/// Lateness may be a millisecond, or this share of the median service time if that is more.
/// Source: docs/explanation/method.md, "Three times".
const LATE_MOST_S: f64 = 0.001;
const LATE_MOST_SHARE: f64 = 0.05;
/// A trial in which fewer of the planned transactions came to an end was not kept up with.
const KEPT_UP_SHARE: f64 = 0.99;

/// Searches the rate by doubling, then by halving.
///
/// Errors: those of connecting and of [`connections::require`]; `interrupted`.
pub async fn calibrate<'a>(
    job: &'a CalibrateJob,
    context: Context<'a>,
) -> Result<CalibrateSummary, HammerError> {
    let target = Target::parse(&job.url)?;
    let client = target.connect().await?;
    connections::require(&target, &client, job.connections).await?;
    drop(client);
    let mut bench = Bench {
        job,
        target,
        context,
        trials: Vec::new(),
    };
    let rate_per_s_max = bench.search().await?;
    Ok(CalibrateSummary {
        connections: job.connections,
        rate_per_s_max,
        think_s: job.think_s,
        users_max: None,
        users_limit_reached: false,
        trials: bench.trials,
    })
}

struct Bench<'a> {
    job: &'a CalibrateJob,
    target: Target,
    context: Context<'a>,
    trials: Vec<Calibration>,
}

impl Bench<'_> {
    /// The highest rate found on time; None where not even the first was.
    async fn search(&mut self) -> Result<Option<f64>, HammerError> {
        let (mut good, mut bad) = (None, START_PER_S);
        while bad < MOST_PER_S && self.on_time(bad).await? {
            good = Some(bad);
            bad *= 2.0;
        }
        for _ in 0..HALVINGS {
            let Some(low) = good else { break };
            let middle = (low + bad) / 2.0;
            match self.on_time(middle).await? {
                true => good = Some(middle),
                false => bad = middle,
            }
        }
        Ok(good)
    }

    /// A rate at which the driver was late is tried once more: a host has moments of its own.
    async fn on_time(&mut self, rate_per_s: f64) -> Result<bool, HammerError> {
        Ok(self.tried(rate_per_s).await? || self.tried(rate_per_s).await?)
    }

    async fn tried(&mut self, rate_per_s: f64) -> Result<bool, HammerError> {
        let window = self.trial(rate_per_s).await?;
        if self.context.stop.requested() {
            return Err(HammerError::interrupted("calibrating"));
        }
        let trial = judged(rate_per_s, self.job.trial_s, &window);
        let on_time = trial.on_time;
        self.trials.push(trial);
        (self.context.sink)(Message::Progress(Progress {
            stage: format!("tried {rate_per_s:.0} transactions a second"),
            done: self.trials.len() as u64,
            total: self.trials.len() as u64 + u64::from(HALVINGS),
        }));
        Ok(on_time)
    }

    async fn trial(&mut self, rate_per_s: f64) -> Result<Window, HammerError> {
        let count = self.job.connections;
        let sessions = connections::open(&self.target, count, Isolation::ReadCommitted).await?;
        let mut users = Vec::with_capacity(sessions.len());
        for (user, mut session) in (0..count).zip(sessions) {
            let nothing = Nothing::prepare(&mut session).await;
            let nothing = nothing
                .map_err(|e| connections::failed(&self.target, "preparing statements", e))?;
            let interval = Duration::from_secs_f64(f64::from(count) / rate_per_s);
            let first = Moment::START + interval.mul_f64(f64::from(user) / f64::from(count));
            users.push((nothing, Steady::new(first, interval), session));
        }
        let plan = Plan {
            names: &["nothing"],
            ramp_up: SETTLE,
            duration: Duration::from_secs_f64(self.job.trial_s),
            error_limit: 0,
            hlog_stem: None,
        };
        // The seconds of a trial are no result.
        let mut silent = |_| ();
        let inner = Context {
            sink: &mut silent,
            stop: self.context.stop.clone(),
        };
        drive_paced(users, plan, inner).await
    }
}

/// Whether a trial kept up and was on time.
fn judged(rate_per_s: f64, trial_s: f64, window: &Window) -> Calibration {
    let (late, service) = (
        percentiles(&window.measured.late()),
        percentiles(&window.measured.types[0].service),
    );
    let allowed_s = service
        .p50_s
        .map_or(0.0, |p50_s| (LATE_MOST_SHARE * p50_s).max(LATE_MOST_S));
    let kept_up = service.count as f64 >= KEPT_UP_SHARE * rate_per_s * trial_s;
    Calibration {
        users: None,
        rate_per_s,
        on_time: kept_up && late.p99_s.is_some_and(|late_s| late_s <= allowed_s),
        done: service.count,
        lateness_p99_s: late.p99_s,
        service_p50_s: service.p50_s,
        driver_cpu_s: window.cpu.cpu.as_secs_f64(),
    }
}

/// The transaction that does nothing: one round trip.
struct Nothing(Statement);

impl Nothing {
    async fn prepare(session: &mut Session) -> Result<Self, SessionError> {
        Ok(Nothing(session.prepare(&["SELECT 1"]).await?[0]))
    }
}

impl Script for Nothing {
    fn draw(&mut self) -> usize {
        0
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<Outcome, SessionError> {
        session.queue(self.0, |_| {});
        session.exchange().await?;
        Ok(Outcome::Committed)
    }
}
