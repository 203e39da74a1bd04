//! One transaction from its due time to its answer, whoever means to do it and whenever.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{Moment, Outcome, Sample, Times};

use stithy_wire::ErrorKind;

use crate::engines::Session;
use crate::gaps::UserGaps;
use crate::pool::{Held, Pool};
use crate::record::Record;
use crate::transaction_script::TransactionScript;

/// After so many conflicts a transaction is given up, as an error: at a row that a hundred users
/// share chance brings so many once in twenty thousand transactions.
const RETRIES_MAX: u64 = 1_000;

/// From so many conflicts on, each repeat is waited for: until the others have ended, the server may
/// refuse it at once again and again.
const RETRIES_AT_ONCE: u64 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// After an error its user waits, as an application would: a database that fails at once is not asked
/// thousands of times a second.
const ERROR_PAUSE: Duration = Duration::from_millis(20);

/// A drawn transaction that may begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    /// Its type.
    pub(crate) kind: usize,
    /// When it was due.
    pub(crate) due: Moment,
    /// When the driver began with it.
    pub(crate) started: Moment,
    /// Since when there is somebody to do it.
    pub(crate) attended: Moment,
    /// When its user went on, who does not wait for it; None for a user who waits until it is done.
    pub(crate) answered: Option<Moment>,
}

/// A transaction that may be given up: for want of a connection, or because answers are no longer
/// waited for.
struct UnderWay<'a> {
    begun: Begun,
    record: &'a Record,
    ended: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let (Begun { kind, due, .. }, now) = (self.begun, self.record.now());
            self.record.recorder().add_unanswered(kind, due, now);
        }
    }
}

/// How the attempts of one transaction ended.
struct Ended {
    outcome: Outcome,
    retries: u64,
    sent: Moment,
    done: Moment,
    lost: bool,
}

/// Does the drawn transaction over a connection of the pool and records it; tells when it was done.
/// `gaps` are those of the user who waits for it.
///
/// None when the run finishes before there is a connection.
pub(crate) async fn serve<S: TransactionScript, C: Session>(
    script: &mut S,
    begun: Begun,
    pool: &Arc<Pool<C>>,
    record: &Arc<Record>,
    gaps: Option<&mut UserGaps>,
) -> Option<Moment> {
    let mut under_way = UnderWay {
        begun,
        record,
        ended: false,
    };
    let mut held = pool.take(record).await?;
    let connected = record.now();
    record.no_longer_waits();
    let ended = act(script, &mut held.session, record, connected).await;
    under_way.ended = true;
    let begun = under_way.begun;
    if let (Some(gaps), true) = (gaps, ended.outcome != Outcome::Failed) {
        gaps.add_success(ended.done);
    }
    let ready = begun.started.max(begun.attended).max(held.free_since);
    record.add(&Sample {
        kind: begun.kind,
        outcome: ended.outcome,
        retries: ended.retries,
        times: Times {
            due: begun.due,
            started: begun.started,
            ready,
            connected,
            sent: ended.sent,
            done: ended.done,
            answered: begun.answered.unwrap_or(ended.done),
        },
    });
    let refused = ended.outcome == Outcome::Failed && !ended.lost;
    return_connection(held, &ended, pool, record);
    if refused {
        record
            .unless_finishing(tokio::time::sleep(ERROR_PAUSE))
            .await;
    }
    Some(ended.done)
}

fn return_connection<S: Session>(
    mut held: Box<Held<S>>,
    ended: &Ended,
    pool: &Arc<Pool<S>>,
    record: &Arc<Record>,
) {
    if ended.lost {
        record.losses().add_loss(ended.done);
        return pool.open_again(record, held.fresh);
    }
    if held.fresh && ended.outcome != Outcome::Failed {
        record.losses().add_success(ended.done);
        held.fresh = false;
    }
    held.free_since = ended.done;
    pool.give_back(held);
}

/// Tries the drawn transaction until it ends in another way than by a conflict, or in too many of them.
async fn act(
    script: &mut impl TransactionScript,
    session: &mut impl Session,
    record: &Record,
    connected: Moment,
) -> Ended {
    let mut retries = 0;
    let mut sent = connected;
    loop {
        let result = script.attempt(session).await;
        let done = record.now();
        let ended = |outcome, lost| Ended {
            outcome,
            retries,
            sent,
            done,
            lost,
        };
        let error = match result {
            Ok(outcome) => return ended(outcome, false),
            Err(error) => error,
        };
        let retryable = error.kind == ErrorKind::Retryable && retries < RETRIES_MAX;
        if !retryable {
            record.add_error(&error);
        }
        let lost = error.is_lost() || !leave_transaction(session, record).await;
        if lost || !retryable {
            return ended(Outcome::Failed, lost);
        }
        retries += 1;
        if retries > RETRIES_AT_ONCE {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        sent = record.now();
    }
}

/// Rolls back what a failed attempt left open; false when the connection was lost over it.
async fn leave_transaction(session: &mut impl Session, record: &Record) -> bool {
    if !session.in_transaction() {
        return true;
    }
    match session.roll_back().await {
        Ok(()) => true,
        Err(error) => {
            record.add_error(&error);
            false
        }
    }
}
