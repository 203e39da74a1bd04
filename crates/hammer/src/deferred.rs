//! Transactions that users leave to be done behind their backs: queued, and answered to nobody.

use std::sync::Arc;

use crate::engines::Session;
use crate::pool::Pool;
use crate::queue::Queue;
use crate::record::Record;
use crate::serve::{serve, Begun};
use crate::transaction_script::TransactionScript;

/// A transaction that a user has left.
pub(crate) struct Deferred<S> {
    /// With the transaction drawn.
    pub(crate) script: S,
    /// When it was due and queued.
    pub(crate) begun: Begun,
}

/// The transactions that were left and not begun.
pub(crate) struct DeferredWork<S> {
    /// The type that is queued.
    pub(crate) kind: usize,
    /// In the order they came.
    pub(crate) waiting: Arc<Queue<Deferred<S>>>,
}

/// One who does them, one after the other.
pub(crate) struct Worker<S, C> {
    /// What to do.
    pub(crate) waiting: Arc<Queue<Deferred<S>>>,
    /// Over which connections.
    pub(crate) pool: Arc<Pool<C>>,
    /// Where it is recorded.
    pub(crate) record: Arc<Record>,
}

impl<S: TransactionScript, C: Session> Worker<S, C> {
    /// Works until the run finishes.
    pub(crate) async fn live(self) {
        while !self.record.finishing.requested() {
            let free_since = self.record.now();
            let next = self.waiting.take();
            let Some(Deferred { mut script, begun }) = self.record.unless_finishing(next).await
            else {
                return;
            };
            let begun = Begun {
                attended: free_since,
                ..begun
            };
            serve(&mut script, begun, &self.pool, &self.record, None).await;
        }
    }
}
