//! An open loop: transactions are due whether or not somebody is free to do them.

use std::sync::Arc;

use stithy_measure::Moment;

use crate::engines::Session;
use crate::gaps::UserGaps;
use crate::pace::Pace;
use crate::pool::Pool;
use crate::queue::Queue;
use crate::record::Record;
use crate::serve::{serve, Begun};
use crate::transaction_script::TransactionScript;

/// So many due transactions in a row are queued before others have a turn.
const QUEUED_IN_A_ROW: u32 = 64;

/// A transaction that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    due: Moment,
    started: Moment,
}

/// The transactions that are due and that nobody has begun.
pub(crate) type Arrived = Arc<Queue<Arrival>>;

/// Queues each transaction when it is due, until the run finishes.
pub(crate) async fn arrive(mut pace: Box<dyn Pace>, arrived: Arrived, record: Arc<Record>) {
    let mut in_a_row = 0;
    let mut due = pace.due(Moment::START, 0);
    while !record.finishing.requested() {
        in_a_row = if due > record.now() { 0 } else { in_a_row + 1 };
        if in_a_row == QUEUED_IN_A_ROW {
            in_a_row = 0;
            tokio::task::yield_now().await;
        }
        let Some(started) = record.wait_until(due).await else {
            return;
        };
        record.waits(due, started);
        arrived.put_last(Arrival { due, started });
        due = pace.due(Moment::START, 0);
    }
    // Whatever the driver did not get to was due all the same.
    let end = record.recorder().phases().measured.end.min(record.now());
    while due < end {
        record.add_unqueued();
        due = pace.due(Moment::START, 0);
    }
}

/// A virtual user who does what has arrived, one after the other.
pub(crate) struct Attendant<S, C> {
    /// What it does.
    pub(crate) script: S,
    /// What there is to do.
    pub(crate) arrived: Arrived,
    /// Its connection, or those it shares.
    pub(crate) pool: Arc<Pool<C>>,
    /// Where it is recorded.
    pub(crate) record: Arc<Record>,
}

impl<S: TransactionScript, C: Session> Attendant<S, C> {
    /// Acts until the run finishes.
    pub(crate) async fn live(mut self) {
        let mut free_since = Moment::START;
        let mut gaps = UserGaps::new(&self.record);
        while !self.record.finishing.requested() {
            let next = self.arrived.take();
            let Some(arrival) = self.record.unless_finishing(next).await else {
                return;
            };
            let begun = Begun {
                kind: self.script.draw(),
                due: arrival.due,
                started: arrival.started,
                attended: free_since,
                answered: None,
            };
            let gaps = Some(&mut gaps);
            match serve(&mut self.script, begun, &self.pool, &self.record, gaps).await {
                Some(done) => free_since = done,
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stithy_measure::{Phases, Recorder, SystemClock};

    use super::*;
    use crate::pace::Steady;

    /// A driver that comes too late to queue what was due still tells how much that was.
    #[tokio::test]
    async fn what_the_driver_did_not_queue_is_counted() {
        let end = Moment::START + Duration::from_millis(2);
        let phases = Phases {
            measured: Moment::START..end,
        };
        let recorder = Recorder::new(vec![true], phases);
        let record = Arc::new(Record::new(SystemClock::start(), recorder, 1, 0, false));
        std::thread::sleep(Duration::from_millis(3));
        record.finish();
        let pace = Box::new(Steady::new(Moment::START, 0.000_5));
        arrive(pace, Arrived::default(), record.clone()).await;
        assert_eq!((4, 0), (record.unqueued(), record.waiting()));
    }
}
