//! When a virtual user's next transaction is due.

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
