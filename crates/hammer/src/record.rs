//! What all users of a run share: the clock, the recorder, the errors, and the word to stop.

use std::future::Future;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use stithy_measure::{locked, Clock, Moment, Recorder, Sample, SystemClock};
use stithy_wire::ErrorCount;
use tokio::sync::Semaphore;

use crate::alarm::Alarm;
use crate::engines::SessionError;
use crate::gaps::Gaps;
use crate::losses::Losses;
use crate::stop::{stop_pair, Stop, Stopper};

/// Sessions being opened at once; the server forks for each.
pub(crate) const OPENING_AT_ONCE: usize = 8;

/// What all users of a run share.
pub struct Record {
    /// The run's clock.
    pub clock: SystemClock,
    /// Wakes those who wait until they are due.
    pub(crate) alarm: Alarm,
    recorder: Mutex<Recorder>,
    /// Transactions due and not begun.
    waiting: AtomicI64,
    /// How late the first of them was.
    first_late: OnceLock<Duration>,
    /// Transactions due before the end that the driver came too late to queue.
    unqueued: AtomicU64,
    losses: Mutex<Losses>,
    /// Times without a success.
    pub(crate) gaps: Gaps,
    /// Turns to open connections again; never closed.
    pub(crate) opening: Semaphore,
    errors: Mutex<Errors>,
    error_limit: u64,
    finish: Stopper,
    /// Whether users begin nothing more.
    pub(crate) finishing: Stop,
    give_up: Stopper,
    /// Whether there were more errors than allowed.
    pub(crate) giving_up: Stop,
}

impl Record {
    /// Nothing yet, over a number of open connections; the clock runs from now.
    pub fn new(
        clock: SystemClock,
        recorder: Recorder,
        connections: u64,
        error_limit: u64,
        is_shared: bool,
    ) -> Self {
        let (finish, finishing) = stop_pair();
        let (give_up, giving_up) = stop_pair();
        Record {
            clock,
            alarm: Alarm::default(),
            gaps: Gaps::new(recorder.phases().measured.clone(), is_shared),
            recorder: Mutex::new(recorder),
            waiting: AtomicI64::new(0),
            first_late: OnceLock::new(),
            unqueued: AtomicU64::new(0),
            losses: Mutex::new(Losses::new(connections)),
            opening: Semaphore::new(OPENING_AT_ONCE),
            errors: Mutex::new(Errors::default()),
            error_limit,
            finish,
            finishing,
            give_up,
            giving_up,
        }
    }

    /// Now.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Transactions by second.
    pub fn recorder(&self) -> MutexGuard<'_, Recorder> {
        locked(&self.recorder)
    }

    /// Adds a transaction that came to an end.
    pub fn add(&self, sample: &Sample) {
        self.recorder().record(sample);
    }

    /// The moment at which it is over; None when the run finishes before.
    pub(crate) async fn wait_until(&self, due: Moment) -> Option<Moment> {
        // Not by the run's clock, which stands until the run starts.
        let due = self.clock.instant(due);
        if due > Instant::now() {
            self.unless_finishing(self.alarm.wait(due)).await?;
        }
        Some(self.now())
    }

    /// When the run begins for a user who sits down now: at the start that was named, or else now, as seating many
    /// takes a while.
    pub(crate) fn seated(&self) -> Moment {
        if self.clock.is_planned {
            return Moment::START;
        }
        self.now()
    }

    /// What is waited for; None when the run finishes before.
    pub(crate) async fn unless_finishing<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        let mut finishing = self.finishing.clone();
        tokio::select! {
            got = wait => Some(got),
            () = finishing.wait() => None,
        }
    }

    /// A transaction was due, the driver has come to it, and it is not begun.
    pub(crate) fn waits(&self, due: Moment, started: Moment) {
        self.first_late.get_or_init(|| started.since(due));
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// How late the driver was with the first transaction.
    pub(crate) fn first_late(&self) -> Option<Duration> {
        self.first_late.get().copied()
    }

    /// A transaction that was due has begun.
    pub(crate) fn no_longer_waits(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Transactions due and not begun.
    pub(crate) fn waiting(&self) -> u64 {
        u64::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// A transaction was due before the end, and the driver had not even queued it.
    pub(crate) fn add_unqueued(&self) {
        self.unqueued.fetch_add(1, Ordering::Relaxed);
    }

    /// Transactions that were due before the end and never queued.
    pub(crate) fn unqueued(&self) -> u64 {
        self.unqueued.load(Ordering::Relaxed)
    }

    /// Adds an unexpected error; past the limit, to which lost connections do not count, the run gives
    /// up.
    pub fn add_error(&self, error: &SessionError) {
        let mut errors = locked(&self.errors);
        errors.add(error);
        if errors.refused > self.error_limit {
            self.give_up.request();
        }
    }

    /// Connections lost and opened again.
    pub(crate) fn losses(&self) -> MutexGuard<'_, Losses> {
        locked(&self.losses)
    }

    /// The errors so far.
    pub fn errors(&self) -> Vec<ErrorCount> {
        locked(&self.errors).counts.clone()
    }

    /// Tells every user to begin nothing more.
    pub fn finish(&self) {
        self.finish.request();
    }
}

/// Errors by the engine's code, or by text where they have none.
#[derive(Debug, Default)]
struct Errors {
    counts: Vec<ErrorCount>,
    /// Those that are no lost connections.
    refused: u64,
}

impl Errors {
    fn add(&mut self, error: &SessionError) {
        self.refused += u64::from(!error.is_lost());
        let same = |known: &&mut ErrorCount| {
            known.code == error.code && (error.code.is_some() || known.text == error.text)
        };
        match self.counts.iter_mut().find(same) {
            Some(known) => known.count += 1,
            None => self.counts.push(ErrorCount {
                kind: error.kind,
                code: error.code.clone(),
                text: error.text.clone(),
                count: 1,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stithy_wire::ErrorKind;

    fn server(code: &str, text: &str) -> SessionError {
        SessionError {
            kind: ErrorKind::Other,
            code: Some(code.into()),
            text: text.into(),
        }
    }

    /// Texts of one code differ by keys and names; the first stands for all.
    #[test]
    fn errors_of_one_code_are_counted_together() {
        let mut errors = Errors::default();
        errors.add(&server("23505", "key (1) exists"));
        errors.add(&server("23505", "key (2) exists"));
        errors.add(&SessionError::lost("reset"));
        errors.add(&SessionError::lost("closed"));
        let told: Vec<_> = errors
            .counts
            .iter()
            .map(|e| (e.code.as_deref(), e.count))
            .collect();
        assert_eq!(vec![(Some("23505"), 2), (None, 1), (None, 1)], told);
        assert_eq!("key (1) exists", errors.counts[0].text);
        assert_eq!(2, errors.refused);
    }
}
