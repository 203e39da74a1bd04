//! When a virtual user's next transaction is due.

use std::time::Duration;

use stithy_measure::Moment;

/// The seam of arrivals: from what a user has done to what it means to do next.
pub trait Pace {
    /// When the next transaction, of type `kind`, is due, after the last one was `done`.
    fn due(&mut self, done: Moment, kind: usize) -> Moment;
}

/// Each transaction is due as soon as the one before is answered.
#[derive(Debug, Clone, Copy)]
pub struct BackToBack;

impl Pace for BackToBack {
    fn due(&mut self, done: Moment, _kind: usize) -> Moment {
        done
    }
}

/// A transaction is due at equal intervals, whenever the one before is answered.
#[derive(Debug, Clone, Copy)]
pub struct Steady {
    next: Moment,
    interval: Duration,
}

impl Steady {
    /// The first transaction is due at `first`.
    pub fn new(first: Moment, interval: Duration) -> Self {
        Steady {
            next: first,
            interval,
        }
    }
}

impl Pace for Steady {
    fn due(&mut self, _done: Moment, _kind: usize) -> Moment {
        let due = self.next;
        self.next = due + self.interval;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A late answer moves no due time: what was missed is due all the same.
    #[test]
    fn steady_due_times_do_not_wait_for_answers() {
        let mut pace = Steady::new(Moment(5), Duration::from_nanos(10));
        let dues: Vec<u64> = [0, 1_000, 0]
            .map(|done| pace.due(Moment(done), 0).0)
            .to_vec();
        assert_eq!(vec![5, 15, 25], dues);
    }
}
