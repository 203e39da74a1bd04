//! A virtual user: a light task that draws, waits until it is due, acts, and records.

use std::sync::Arc;

use stithy_measure::{Moment, Outcome, Sample, Times};

use crate::client::postgresql::{Session, SessionError};
use crate::pace::Pace;
use crate::record::Record;
use crate::script::Script;

/// One simulated person.
pub struct User<S, P> {
    /// What it does.
    pub script: S,
    /// When.
    pub pace: P,
    /// Its connection.
    pub session: Session,
    /// Where it is recorded.
    pub record: Arc<Record>,
}

/// How the attempts of one transaction ended.
struct Ended {
    outcome: Outcome,
    retries: u64,
    sent: Moment,
    done: Moment,
    lost: bool,
}

impl<S: Script, P: Pace> User<S, P> {
    /// Acts until the run finishes or the connection is lost.
    pub async fn live(mut self) {
        let mut done = self.record.now();
        while !self.record.finishing().requested() {
            let kind = self.script.draw();
            let due = self.pace.due(done, kind);
            let Some(started) = self.wait_until(due).await else {
                break;
            };
            let ended = self.act(started).await;
            done = ended.done;
            self.record.add(&Sample {
                kind,
                outcome: ended.outcome,
                retries: ended.retries,
                times: Times {
                    due,
                    started,
                    connected: started,
                    sent: ended.sent,
                    done,
                },
            });
            if ended.lost {
                self.record.add_lost();
                return;
            }
        }
        self.session.close().await;
    }

    /// The moment at which it is over; None when the run finishes before.
    async fn wait_until(&mut self, due: Moment) -> Option<Moment> {
        let now = self.record.now();
        if due <= now {
            return Some(now);
        }
        let instant = self.record.clock.instant(due);
        let mut finishing = self.record.finishing().clone();
        tokio::select! {
            () = self.record.alarm.wait(instant) => Some(self.record.now()),
            () = finishing.wait() => None,
        }
    }

    /// Tries the drawn transaction until it ends in another way than by a conflict.
    async fn act(&mut self, started: Moment) -> Ended {
        let mut retries = 0;
        let mut sent = started;
        loop {
            let result = self.script.attempt(&mut self.session).await;
            let done = self.record.now();
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
            let retryable = is_retryable(&error);
            if !retryable {
                self.record.add_error(&error);
            }
            let lost = matches!(error, SessionError::Lost(_)) || !self.leave_transaction().await;
            if lost || !retryable {
                return ended(Outcome::Failed, lost);
            }
            retries += 1;
            sent = self.record.now();
        }
    }

    /// Rolls back what a failed attempt left open; false when the connection was lost over it.
    async fn leave_transaction(&mut self) -> bool {
        if !self.session.in_transaction() {
            return true;
        }
        match self.session.roll_back().await {
            Ok(()) => true,
            Err(error) => {
                self.record.add_error(&error);
                false
            }
        }
    }
}

fn is_retryable(error: &SessionError) -> bool {
    matches!(error, SessionError::Server(server) if server.is_retryable())
}
