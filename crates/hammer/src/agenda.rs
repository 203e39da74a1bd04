//! Transactions that a workload itself makes due, each at a moment of its own: done behind the users' backs, over
//! connections that are there for them alone.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, OnceLock};

use stithy_measure::{locked, Clock, Moment, SystemClock};
use tokio::sync::Notify;

use crate::deferred::Deferred;
use crate::queue::Queue;
use crate::record::Record;
use crate::serve::Begun;
use crate::transaction_script::TransactionScript;

/// What is due, in the order of its moments.
pub struct Agenda<S> {
    entries: Mutex<BinaryHeap<Entry<S>>>,
    changed: Notify,
    clock: OnceLock<SystemClock>,
    /// Connections for it, of which each does one transaction at a time.
    pub connections: u32,
    /// Types of its transactions.
    pub kinds: &'static [usize],
}

struct Entry<S> {
    due: Moment,
    script: S,
}

/// The earliest is the greatest, as a heap gives the greatest first.
impl<S> Ord for Entry<S> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

impl<S> PartialOrd for Entry<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<S> PartialEq for Entry<S> {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl<S> Eq for Entry<S> {}

impl<S> Agenda<S> {
    /// Nothing due yet.
    pub fn new(connections: u32, kinds: &'static [usize]) -> Self {
        Agenda {
            entries: Mutex::default(),
            changed: Notify::new(),
            clock: OnceLock::new(),
            connections,
            kinds,
        }
    }

    /// Now; the start before the run begins.
    pub fn now(&self) -> Moment {
        self.clock.get().map_or(Moment::START, Clock::now)
    }

    /// Makes a drawn transaction due at a moment.
    pub fn put(&self, due: Moment, script: S) {
        let mut entries = locked(&self.entries);
        let is_first = entries.peek().is_none_or(|first| due < first.due);
        entries.push(Entry { due, script });
        drop(entries);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// When the next one is due.
    fn next_due(&self) -> Option<Moment> {
        locked(&self.entries).peek().map(|entry| entry.due)
    }

    /// The next one, if it is due by now.
    fn take_due(&self, now: Moment) -> Option<Entry<S>> {
        let mut entries = locked(&self.entries);
        let due = entries.peek().is_some_and(|entry| entry.due <= now);
        due.then(|| entries.pop())?
    }
}

impl<S: TransactionScript> Agenda<S> {
    /// Queues each transaction when it is due, until the run finishes.
    pub(crate) async fn keep(
        self: Arc<Self>,
        waiting: Arc<Queue<Deferred<S>>>,
        record: Arc<Record>,
    ) {
        let _ = self.clock.set(record.clock);
        while !record.finishing.requested() {
            while let Some(Entry { due, mut script }) = self.take_due(record.now()) {
                let started = record.now();
                let begun = Begun {
                    kind: script.draw(),
                    due,
                    started,
                    attended: started,
                    answered: None,
                };
                record.waits(due, started);
                waiting.put_last(Deferred { script, begun });
            }
            let changed = self.changed.notified();
            let next = async {
                match self.next_due() {
                    Some(due) => tokio::time::sleep_until(record.clock.instant(due).into()).await,
                    None => std::future::pending().await,
                }
            };
            let either = async {
                tokio::select! {
                    () = changed => {}
                    () = next => {}
                }
            };
            record.unless_finishing(either).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The earliest comes first, in whatever order it was put, and nothing before its moment.
    #[test]
    fn what_is_due_comes_in_the_order_of_its_moments() {
        let agenda = Agenda::new(1, &[]);
        let at = |ms| Moment::START + Duration::from_millis(ms);
        for ms in [5, 1, 3] {
            agenda.put(at(ms), ms);
        }
        let due = |now| agenda.take_due(at(now)).map(|entry| entry.script);
        assert_eq!(Some(at(1)), agenda.next_due());
        assert_eq!(
            [Some(1), None, Some(3), None, Some(5)],
            [1, 2, 4, 4, 9].map(due)
        );
        assert_eq!((None, Moment::START), (agenda.next_due(), agenda.now()));
    }
}
