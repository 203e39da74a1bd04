//! Wakes virtual users when they are due, to within some hundredths of a millisecond.
//!
//! Why not the runtime's own timer: it counts whole milliseconds and rounds up, so that every user would
//! be up to a millisecond late, which is as much lateness as a window may have. One thread sleeps until
//! the next due time; the kernel's clock is exact.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stithy_measure::locked;
use tokio::sync::oneshot;

/// The alarm of a run; its thread starts with the first who waits and ends with the alarm.
#[derive(Default)]
pub struct Alarm {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: BinaryHeap<Waiting>,
    started: bool,
    ended: bool,
}

/// Someone to be woken; the earliest is the greatest, as the heap gives the greatest first.
struct Waiting {
    due: Instant,
    wake: oneshot::Sender<()>,
}

impl Alarm {
    /// Returns at `due`.
    pub async fn wait(&self, due: Instant) {
        let (wake, woken) = oneshot::channel();
        self.add(Waiting { due, wake });
        // The alarm outlives whoever waits on it: it always answers.
        let _ = woken.await;
    }

    fn add(&self, waiting: Waiting) {
        let mut state = locked(&self.shared.state);
        let first = state
            .waiting
            .peek()
            .is_none_or(|next| waiting.due < next.due);
        state.waiting.push(waiting);
        if !std::mem::replace(&mut state.started, true) {
            let shared = self.shared.clone();
            std::thread::spawn(move || shared.ring_until_ended());
        }
        drop(state);
        if first {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        locked(&self.shared.state).ended = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn ring_until_ended(&self) {
        let mut state = locked(&self.state);
        while !state.ended {
            let sleep = state.ring_due(Instant::now());
            let waited = self.changed.wait_timeout(state, sleep);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// Wakes everyone who is due; gives the time until the next one is.
    fn ring_due(&mut self, now: Instant) -> Duration {
        while let Some(next) = self.waiting.peek() {
            if next.due > now {
                return next.due - now;
            }
            if let Some(due) = self.waiting.pop() {
                // Whoever stopped waiting need not be woken.
                let _ = due.wake.send(());
            }
        }
        Duration::from_secs(3_600)
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiting {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody is woken before the due time, and all are, in whatever order they came.
    #[tokio::test]
    async fn everyone_is_woken_and_nobody_early() {
        let alarm = Arc::new(Alarm::default());
        let start = Instant::now();
        let mut waiting = tokio::task::JoinSet::new();
        for i in 0..200_u64 {
            let alarm = alarm.clone();
            let due = start + Duration::from_micros((i * 7_919) % 20_000);
            waiting.spawn(async move {
                alarm.wait(due).await;
                assert!(Instant::now() >= due);
            });
        }
        waiting.join_all().await;
    }

    /// Those who are due are woken in one go; the time to the next one is reported.
    #[test]
    fn only_those_who_are_due_are_woken() {
        let now = Instant::now();
        let mut state = State::default();
        let mut wait = |after_ms| {
            let (wake, woken) = oneshot::channel();
            let due = now + Duration::from_millis(after_ms);
            state.waiting.push(Waiting { due, wake });
            woken
        };
        let (mut late, mut soon, mut first) = (wait(30), wait(2), wait(1));
        let left = state.ring_due(now + Duration::from_millis(5));
        assert_eq!(Duration::from_millis(25), left);
        assert!(first.try_recv().is_ok() && soon.try_recv().is_ok() && late.try_recv().is_err());
    }
}
