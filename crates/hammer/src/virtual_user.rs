//! A virtual user of a closed loop: a light task that draws, waits until it is due, acts, and records.

use std::sync::Arc;

use stithy_measure::Moment;

use crate::deferred::{Deferred, DeferredWork};
use crate::engines::Session;
use crate::gaps::UserGaps;
use crate::pace::{begin, Pace};
use crate::pool::Pool;
use crate::record::Record;
use crate::serve::{serve, Begun};
use crate::transaction_script::TransactionScript;

/// One simulated person.
pub(crate) struct VirtualUser<S, C> {
    /// What it does.
    pub(crate) script: S,
    /// When.
    pub(crate) pace: Box<dyn Pace>,
    /// Its connection, or those it shares.
    pub(crate) pool: Arc<Pool<C>>,
    /// What it leaves to others to be done.
    pub(crate) queue: Option<Arc<DeferredWork<S>>>,
    /// Where it is recorded.
    pub(crate) record: Arc<Record>,
}

impl<S: TransactionScript, C: Session> VirtualUser<S, C> {
    /// Acts until the run finishes.
    pub(crate) async fn live(mut self) {
        let (mut kind, first) = begin(self.pace.as_mut(), || self.script.draw());
        let mut gaps = UserGaps::new(&self.record);
        let mut due = self.record.seated() + first.since(Moment::START);
        while let Some(started) = self.record.wait_until(due).await {
            self.record.waits(due, started);
            let begun = Begun {
                kind,
                due,
                started,
                attended: started,
                answered: None,
            };
            // Apart: at any moment most users wait, who then keep nothing of a transaction.
            let Some(done) = Box::pin(self.act(begun, &mut gaps)).await else {
                return;
            };
            if self.record.finishing.requested() {
                return;
            }
            kind = self.script.draw();
            due = self.pace.due(done, kind);
        }
    }

    /// When the user has its answer; None when the run finishes before.
    async fn act(&mut self, begun: Begun, gaps: &mut UserGaps) -> Option<Moment> {
        match &self.queue {
            Some(queue) if queue.kind == begun.kind => {
                let script = self.script.clone();
                let answered = self.record.now();
                let begun = Begun {
                    answered: Some(answered),
                    ..begun
                };
                queue.waiting.put_last(Deferred { script, begun });
                Some(answered)
            }
            _ => {
                let gaps = Some(gaps);
                serve(&mut self.script, begun, &self.pool, &self.record, gaps).await
            }
        }
    }
}
