//! Seats the users of a run: how many connections, who shares them, when who acts.

use std::future::Future;
use std::sync::Arc;

use stithy_measure::{Moment, SystemClock};
use stithy_wire::{Arrivals, Pace, Profile, RunJob};

use super::execution_mode::ExecutionMode;
use super::input::{Draws, DELIVERY};
use super::input_profile::{keyed, thinking, Deck, InputProfile};
use super::random::{Domain, Rng};
use super::sql::Sql;
use super::terminal::{Books, Terminal};
use crate::client::{Session, SessionError, SessionSettings, Target};
use crate::connections::{Opening, Statements};
use crate::error::HammerError;
use crate::pace::{self, BackToBack, Poisson, Steady, Waiting, Waits};
use crate::pool::{Opener, Pool};
use crate::virtual_users::{Deferral, Pools, Timing, VirtualUsers};

/// Users with connections of their own leave their deliveries to others, who have one for so many
/// users. A user who keys and thinks leaves a delivery in eight minutes.
const USERS_PER_DELIVERER: u32 = 100;

/// How many connections a run needs, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// Of the users.
    users: u32,
    /// Whether they share them.
    shared: bool,
    /// Of those who do the deferred deliveries; None: they use those of the users.
    deliverers: Option<u32>,
    deferred: bool,
}

impl Places {
    /// What a job needs.
    pub fn of(job: &RunJob) -> Self {
        let closed = !matches!(job.pace, Pace::Rate { .. });
        let deferred = job.deferred_delivery && closed;
        let own = deferred && job.connections.is_none();
        Places {
            users: job.connections.unwrap_or(job.users),
            shared: job.connections.is_some(),
            deliverers: own.then(|| job.users.div_ceil(USERS_PER_DELIVERER)),
            deferred,
        }
    }

    /// All of them.
    pub fn connections(&self) -> u32 {
        self.users + self.deliverers.unwrap_or(0)
    }
}

/// Opens the connections and seats everybody.
///
/// Errors: `connect-failed` (infrastructure).
pub async fn virtual_users<T: Target>(
    job: &RunJob,
    target: &T,
    sql: &'static Sql,
    places: Places,
    profile: InputProfile,
    books: &Books,
) -> Result<VirtualUsers<Terminal, T::Session>, HammerError> {
    let opening = Opening {
        target: target.clone(),
        settings: SessionSettings::Load(job.isolation),
        prepare: Prepare {
            sql,
            procedures: job.procedures,
        },
    };
    let (mut sessions, mode) = opening.all(places.connections()).await?;
    let opener = opening.opener();
    let deliverers = sessions.split_off(places.users as usize);
    let own = Arc::new(Pool::new(deliverers, opener.clone()));
    let pools = pools(places, sessions, &opener);
    let deferral = places.deferred.then(|| deferral(&pools, own));
    let clock = SystemClock::start();
    // HammerDB draws each type by itself.
    let deck = (job.profile == Profile::Specification).then(|| Arc::new(Deck::new(job.seed)));
    let terminal = |user| {
        let draws = Draws::new(job.seed, user, profile);
        let draws = match &deck {
            Some(deck) => draws.dealt_by(deck.clone()),
            None => draws,
        };
        Terminal::new(user, draws, books.clone(), clock, mode.clone())
    };
    Ok(VirtualUsers {
        scripts: (0..job.users).map(terminal).collect(),
        timing: timing(job),
        pools,
        deferral,
    })
}

fn pools<S: Session>(places: Places, sessions: Vec<S>, opener: &Opener<S>) -> Pools<S> {
    if places.shared {
        return Pools::Shared(Arc::new(Pool::new(sessions, opener.clone())));
    }
    let own = sessions.into_iter();
    let own = own.map(|session| Arc::new(Pool::new([session], opener.clone())));
    Pools::Own(own.collect())
}

/// Deliveries are done over the users' pool where they share one, else over connections of their `own`.
fn deferral<S: Session>(pools: &Pools<S>, own: Arc<Pool<S>>) -> Deferral<S> {
    let pool = match pools {
        Pools::Shared(pool) => pool.clone(),
        Pools::Own(_) => own,
    };
    Deferral {
        kind: DELIVERY,
        pool,
    }
}

fn timing(job: &RunJob) -> Timing {
    let rng = |user: u32| Rng::of(job.seed, Domain::Pace, user.into(), 0);
    let waiting = |waits: Waits| {
        let wait_mean_s = waits.mean_s();
        let waits = Arc::new(waits);
        let pace = |user| Box::new(Waiting::new(waits.clone(), rng(user))) as Box<dyn pace::Pace>;
        let paces = (0..job.users).map(pace).collect();
        Timing::Closed { paces, wait_mean_s }
    };
    match job.pace {
        Pace::None => Timing::Closed {
            paces: (0..job.users)
                .map(|_| Box::new(BackToBack) as Box<dyn pace::Pace>)
                .collect(),
            wait_mean_s: 0.0,
        },
        Pace::Keyed => waiting(keyed()),
        Pace::Think { mean_s } => waiting(thinking(mean_s)),
        Pace::Rate { per_s, arrivals } => Timing::Open(match arrivals {
            Arrivals::Constant => Box::new(Steady::new(Moment::START, 1.0 / per_s)),
            Arrivals::Poisson => Box::new(Poisson::new(1.0 / per_s, rng(0))),
        }),
    }
}

/// Prepares the statements of a user's session.
#[derive(Clone, Copy)]
struct Prepare {
    sql: &'static Sql,
    procedures: bool,
}

impl Statements for Prepare {
    type Prepared = ExecutionMode;

    fn prepare<C: Session>(
        &self,
        session: &mut C,
    ) -> impl Future<Output = Result<ExecutionMode, SessionError>> + Send {
        ExecutionMode::prepare(session, self.sql, self.procedures)
    }
}
