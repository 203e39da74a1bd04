//! Who acts in a window, when, and over which connections.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::agenda::Agenda;
use crate::deferred::{Deferred, DeferredWork, Worker};
use crate::engines::Session;
use crate::open_loop::{arrive, Arrived, Attendant};
use crate::pace::Pace;
use crate::pool::Pool;
use crate::queue::Queue;
use crate::record::Record;
use crate::transaction_script::TransactionScript;
use crate::virtual_user::VirtualUser;

/// When the users act.
pub enum Timing {
    /// Closed loop: each user by its own pace.
    Closed {
        /// One a user.
        paces: Vec<Box<dyn Pace>>,
        /// Mean time from an answer to the user's next transaction, seconds.
        wait_mean_s: f64,
    },
    /// Open loop: one stream of due times for all.
    Open(Box<dyn Pace>),
}

/// The connections of the users.
pub enum Pools<C> {
    /// Each user has its own.
    Own(Vec<Arc<Pool<C>>>),
    /// All share one pool.
    Shared(Arc<Pool<C>>),
}

/// A transaction type that is left to be done behind the users' backs.
pub struct Deferral<C> {
    /// The type.
    pub kind: usize,
    /// Connections for it, of which each does one at a time.
    pub pool: Arc<Pool<C>>,
}

/// What a workload itself makes due, and the connections for it.
pub type OwnAgenda<S, C> = (Arc<Agenda<S>>, Arc<Pool<C>>);

/// Everybody who acts in a window.
pub struct VirtualUsers<S, C> {
    /// What each user does.
    pub scripts: Vec<S>,
    /// When.
    pub timing: Timing,
    /// Over what.
    pub pools: Pools<C>,
    /// What is left to others; only in a closed loop.
    pub deferral: Option<Deferral<C>>,
    /// What the workload itself makes due, and the connections for it.
    pub agenda: Option<OwnAgenda<S, C>>,
}

impl<S: TransactionScript, C: Session> VirtualUsers<S, C> {
    /// Connections of all.
    pub(crate) fn connections(&self) -> u64 {
        let pools = self.all_pools();
        pools.iter().map(|pool| u64::from(pool.size())).sum()
    }

    /// Whether transactions of a type may have to wait for somebody or something.
    pub(crate) fn waits(&self, kind: usize) -> bool {
        let shared = matches!(self.pools, Pools::Shared(_));
        let open = matches!(self.timing, Timing::Open(_));
        shared || open || self.unattended().contains(&kind)
    }

    /// The types for whose answers no user waits.
    pub(crate) fn unattended(&self) -> Vec<usize> {
        let agenda = self.agenda.iter().flat_map(|(agenda, _)| agenda.kinds);
        agenda.copied().chain(self.deferred()).collect()
    }

    /// The type that is left to others.
    pub(crate) fn deferred(&self) -> Option<usize> {
        self.deferral.as_ref().map(|deferral| deferral.kind)
    }

    /// Every pool, each once.
    pub(crate) fn all_pools(&self) -> Vec<Arc<Pool<C>>> {
        let mut all = match &self.pools {
            Pools::Own(pools) => pools.clone(),
            Pools::Shared(pool) => vec![pool.clone()],
        };
        let deferral = self.deferral.iter().map(|deferral| &deferral.pool);
        let apart = deferral.filter(|pool| !all.iter().any(|other| Arc::ptr_eq(other, pool)));
        all.extend(apart.cloned().collect::<Vec<_>>());
        all.extend(self.agenda.iter().map(|(_, pool)| pool.clone()));
        all
    }

    /// Lets everybody begin.
    pub(crate) fn start(self, record: &Arc<Record>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let queue = self.deferral.map(|deferral| {
            let waiting = spawn_workers(&mut tasks, &deferral.pool, record);
            let kind = deferral.kind;
            Arc::new(DeferredWork { kind, waiting })
        });
        if let Some((agenda, pool)) = self.agenda {
            let waiting = spawn_workers(&mut tasks, &pool, record);
            tasks.spawn(agenda.keep(waiting, record.clone()));
        }
        let users = self.scripts.into_iter().zip(pool_of_each(self.pools));
        match self.timing {
            Timing::Closed { paces, .. } => {
                for ((script, pool), pace) in users.zip(paces) {
                    let user = VirtualUser {
                        script,
                        pace,
                        pool,
                        queue: queue.clone(),
                        record: record.clone(),
                    };
                    tasks.spawn(user.live());
                }
            }
            Timing::Open(pace) => {
                let arrived = Arrived::default();
                for (script, pool) in users {
                    let attendant = Attendant {
                        script,
                        arrived: arrived.clone(),
                        pool,
                        record: record.clone(),
                    };
                    tasks.spawn(attendant.live());
                }
                tasks.spawn(arrive(pace, arrived, record.clone()));
            }
        }
        tasks
    }
}

/// Lets one work over each connection of a pool; gives the queue of what they do.
fn spawn_workers<S: TransactionScript, C: Session>(
    tasks: &mut JoinSet<()>,
    pool: &Arc<Pool<C>>,
    record: &Arc<Record>,
) -> Arc<Queue<Deferred<S>>> {
    let waiting = Arc::<Queue<Deferred<S>>>::default();
    for _ in 0..pool.size() {
        let worker = Worker {
            waiting: waiting.clone(),
            pool: pool.clone(),
            record: record.clone(),
        };
        tasks.spawn(worker.live());
    }
    waiting
}

/// The pool of one user after the other.
fn pool_of_each<C: Session>(pools: Pools<C>) -> Box<dyn Iterator<Item = Arc<Pool<C>>>> {
    match pools {
        Pools::Own(pools) => Box::new(pools.into_iter()),
        Pools::Shared(pool) => Box::new(std::iter::repeat(pool)),
    }
}
