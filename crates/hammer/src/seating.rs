//! Seats the users of a run: how many connections, who shares them, when who acts.

use std::sync::Arc;

use stithy_measure::{priority, Moment, Rng};
use stithy_wire::{Arrivals, Pace, RunJob};

use crate::connections::Opening;
use crate::engines::{Session, SessionSettings, Target};
use crate::error::HammerError;
use crate::pace::{self, BackToBack, Poisson, Steady, Thinned, Waiting, Waits};
use crate::pool::{Opener, Pool};
use crate::share::{count, numbers};
use crate::virtual_users::{Deferral, Pools, Timing, VirtualUsers};
use crate::workloads::Run;

/// What the random numbers of users' pace are drawn for. A workload's own streams have other numbers.
pub const PACE_STREAM: u64 = 14;

/// How many connections a run needs, and for whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// Of the users.
    users: u32,
    /// Whether they share them.
    shared: bool,
    /// Of those who do what is deferred; 0 where they use those of the users.
    workers: u32,
    /// The type that is deferred.
    deferred: Option<usize>,
    /// Of what the workload itself makes due.
    agenda: u32,
}

impl Places {
    /// What a job needs. In an open loop nothing is deferred, as nobody waits.
    pub(crate) fn of(job: &RunJob, run: &impl Run) -> Self {
        let closed = !matches!(job.pace, Pace::Rate { .. });
        let deferrable = run.deferrable().filter(|_| closed);
        let own = deferrable.filter(|_| job.connections.is_none());
        let users = count(job.share, job.users);
        Places {
            users: count(job.share, job.connections.unwrap_or(job.users)),
            shared: job.connections.is_some(),
            workers: own.map_or(0, |own| users.div_ceil(own.users_per_worker)),
            deferred: deferrable.map(|deferrable| deferrable.kind),
            agenda: run.agenda().map_or(0, |agenda| agenda.connections),
        }
    }

    /// All of them.
    pub(crate) fn connections(&self) -> u32 {
        self.users + self.workers + self.agenda
    }
}

/// Opens the connections and seats everybody.
///
/// Errors: `connect-failed` (infrastructure).
pub(crate) async fn seat<T: Target, R: Run>(
    job: &RunJob,
    target: &T,
    places: Places,
    run: &R,
) -> Result<VirtualUsers<R::Script, T::Session>, HammerError> {
    let opening = Opening {
        target: target.clone(),
        settings: SessionSettings::Load(job.isolation),
        prepare: run.statements(),
    };
    let (mut sessions, prepared) = opening.all(places.connections()).await?;
    if matches!(job.pace, Pace::None) && sessions.first().is_some_and(Session::shares_cpus) {
        // All sessions lead to one server, and nothing is due at a moment of its own. To interrupt the server for
        // each answer costs it, and the driver, as much as the work itself: see benches/NOTES.md.
        priority::stand_back();
    }
    let opener = opening.opener();
    let mut workers = sessions.split_off(places.users as usize);
    let agenda_sessions = workers.split_off(places.workers as usize);
    let agenda = run.agenda().map(|agenda| {
        let pool = Pool::new(agenda_sessions, opener.clone());
        (agenda, Arc::new(pool))
    });
    let own = Arc::new(Pool::new(workers, opener.clone()));
    let pools = pools(places, sessions, &opener);
    let deferral = places.deferred.map(|kind| deferral(kind, &pools, own));
    Ok(VirtualUsers {
        scripts: numbers(job.share, job.users)
            .map(|user| run.script(user, &prepared))
            .collect(),
        timing: timing(job, run),
        pools,
        deferral,
        agenda,
    })
}

fn pools<C: Session>(places: Places, sessions: Vec<C>, opener: &Opener<C>) -> Pools<C> {
    if places.shared {
        return Pools::Shared(Arc::new(Pool::new(sessions, opener.clone())));
    }
    let own = sessions.into_iter();
    let own = own.map(|session| Arc::new(Pool::new([session], opener.clone())));
    Pools::Own(own.collect())
}

/// What is deferred is done over the users' pool where they share one, else over connections of their
/// `own`.
fn deferral<C: Session>(kind: usize, pools: &Pools<C>, own: Arc<Pool<C>>) -> Deferral<C> {
    let pool = match pools {
        Pools::Shared(pool) => pool.clone(),
        Pools::Own(_) => own,
    };
    Deferral { kind, pool }
}

fn timing(job: &RunJob, run: &impl Run) -> Timing {
    let rng = |user: u32| Rng::of(job.seed, PACE_STREAM, user.into(), 0);
    let waiting = |waits: Waits| {
        let wait_mean_s = waits.mean_s();
        let waits = Arc::new(waits);
        let pace = |user| Box::new(Waiting::new(waits.clone(), rng(user))) as Box<dyn pace::Pace>;
        let paces = numbers(job.share, job.users).map(pace).collect();
        Timing::Closed { paces, wait_mean_s }
    };
    match job.pace {
        Pace::None => Timing::Closed {
            paces: numbers(job.share, job.users)
                .map(|_| Box::new(BackToBack) as Box<dyn pace::Pace>)
                .collect(),
            wait_mean_s: 0.0,
        },
        Pace::Keyed => waiting(run.waits()),
        Pace::Think { mean_s } => waiting(run.waits().only_thinking(mean_s)),
        Pace::Rate { per_s, arrivals } => {
            let all: Box<dyn pace::Pace> = match arrivals {
                Arrivals::Constant => Box::new(Steady::new(Moment::START, 1.0 / per_s)),
                Arrivals::Poisson => Box::new(Poisson::new(1.0 / per_s, rng(0))),
            };
            Timing::Open(Box::new(Thinned::new(all, job.share)))
        }
    }
}
