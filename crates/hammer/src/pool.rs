//! Connections that users share, each for one transaction at a time; a lost one is opened again.
//!
//! A user with a connection of its own has a pool of one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stithy_measure::Moment;

use crate::engines::Session;
use crate::error::HammerError;
use crate::queue::Queue;
use crate::record::Record;

/// Between two attempts to open a connection again: from this, doubling, to that.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MOST: Duration = Duration::from_millis(100);

/// Before a connection is opened in the place of one that was lost before it did anything.
const RETRY_USELESS: Duration = Duration::from_millis(500);

/// A server that stood still while a connection was opened is asked anew.
const OPENING_LIMIT: Duration = Duration::from_secs(60);

/// A connection being opened again.
pub type Reopening<S> = Pin<Box<dyn Future<Output = Result<S, HammerError>> + Send>>;

/// Opens connections like those at the start, with the same statements prepared.
pub type Opener<S> = Arc<dyn Fn() -> Reopening<S> + Send + Sync>;

/// Connections that users share.
pub struct Pool<S> {
    /// In boxes: a connection's buffers and state are hundreds of bytes and move twice a transaction.
    free: Queue<Box<Held<S>>>,
    size: u32,
    opener: Opener<S>,
}

/// A connection taken from a pool.
pub(crate) struct Held<S> {
    /// The connection.
    pub(crate) session: S,
    /// Since when it was free.
    pub(crate) free_since: Moment,
    /// Whether it was opened after a loss and has done nothing yet.
    pub(crate) fresh: bool,
}

impl<S: Session> Pool<S> {
    /// A pool of open connections.
    pub fn new(sessions: impl IntoIterator<Item = S>, opener: Opener<S>) -> Self {
        let (free, mut size) = (Queue::default(), 0);
        for session in sessions {
            size += 1;
            free.put_last(Box::new(Held {
                session,
                free_since: Moment::START,
                fresh: false,
            }));
        }
        Pool { free, size, opener }
    }

    /// Connections at the start, and wanted ever after.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Takes the connection that was used last, waiting in line for one; None when the run finishes.
    pub(crate) async fn take(&self, record: &Record) -> Option<Box<Held<S>>> {
        match self.free.try_take() {
            Some(held) => Some(held),
            None => record.unless_finishing(self.free.take()).await,
        }
    }

    /// Gives a connection back.
    pub(crate) fn give_back(&self, held: Box<Held<S>>) {
        self.free.put_first(held);
    }

    /// Opens one connection in the place of one that was lost, as soon as the server allows it.
    ///
    /// One that was lost before it did anything (`useless`) tells that the server is not well yet.
    pub(crate) fn open_again(self: &Arc<Self>, record: &Arc<Record>, useless: bool) {
        let (pool, record) = (self.clone(), record.clone());
        tokio::spawn(async move {
            let opened = pool.opened(&record, useless);
            if let Some(session) = record.unless_finishing(opened).await {
                pool.add_reopened(session, &record);
            }
        });
    }

    /// Tries until it succeeds. Few try at once: a server that recovers has other things to do than
    /// to refuse thousands.
    async fn opened(&self, record: &Record, useless: bool) -> S {
        if useless {
            tokio::time::sleep(RETRY_USELESS).await;
        }
        let _turn = record.opening.acquire().await;
        let mut wait = RETRY_FIRST;
        loop {
            let opening = tokio::time::timeout(OPENING_LIMIT, (self.opener)());
            match opening.await {
                Ok(Ok(session)) => return session,
                _ => tokio::time::sleep(wait).await,
            }
            wait = (wait * 2).min(RETRY_MOST);
        }
    }

    fn add_reopened(&self, session: S, record: &Record) {
        record.losses().reopened += 1;
        self.give_back(Box::new(Held {
            session,
            free_since: record.now(),
            fresh: true,
        }));
    }

    /// Closes the connections that are free.
    pub(crate) async fn close(&self) {
        while let Some(held) = self.free.try_take() {
            held.session.close().await;
        }
    }
}
