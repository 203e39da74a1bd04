//! The instants of one transaction, and what lies between them.

use std::time::Duration;

use crate::{Moment, Outcome};

/// When one transaction was due, began, could have and had its connection, was sent and was answered.
///
/// `due ≤ started ≤ ready ≤ connected ≤ sent ≤ done`; `answered` is `done`, or the moment of queueing
/// where a transaction is deferred. With retries, `sent` is that of the last attempt and the
/// others are those of the first. Source: docs/explanation/method.md, "Four times of a transaction".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When the virtual user meant to act; in a closed loop without waits, the previous answer.
    pub due: Moment,
    /// When the driver began with it.
    pub started: Moment,
    /// When a connection was free for it; where none had to be waited for, when it began.
    pub ready: Moment,
    /// When the driver had taken that connection.
    pub connected: Moment,
    /// When the last attempt was sent.
    pub sent: Moment,
    /// When the last answer was there.
    pub done: Moment,
    /// When the user could go on.
    pub answered: Moment,
}

impl Times {
    /// What the user feels: due to answered, retries and all waiting for it included.
    pub fn response(&self) -> Duration {
        self.answered.since(self.due)
    }

    /// What the database took for the last attempt: sent to done.
    pub fn service(&self) -> Duration {
        self.done.since(self.sent)
    }

    /// The driver's own lateness: due to connected, without the wait for a connection.
    pub fn late(&self) -> Duration {
        self.started.since(self.due) + self.connected.since(self.ready)
    }

    /// Waiting until a connection was free.
    pub fn pool_wait(&self) -> Duration {
        self.ready.since(self.started)
    }
}

/// One transaction that came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Index of the transaction type in the workload's order.
    pub kind: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// Attempts after the first.
    pub retries: u64,
    /// When.
    pub times: Times,
}
