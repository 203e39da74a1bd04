//! Whether a drive takes its time, and what of it outlasts its requests.

use stithy_measure::Moment;

use super::Drive;
use crate::error::DriveError;
use crate::model::Snapshot;

/// Whether requests take the model's time.
#[derive(Debug)]
pub(super) enum Pace {
    /// They do.
    Paced,
    /// New ones do not, others are still under way in the model.
    Ending,
    /// None does; the model is to be put back to this.
    Unpaced(Snapshot),
}

impl Drive {
    /// Whether requests take the model's time from now on. While they take none the drive does not age: what
    /// it was like when the last request that took its time was finished is put back at the end.
    pub fn set_paced(&mut self, now: Moment, paced: bool) {
        let pace = std::mem::replace(&mut self.pace, Pace::Paced);
        self.pace = match (paced, pace) {
            (true, Pace::Unpaced(snapshot)) => {
                self.model.restore(now, &snapshot);
                Pace::Paced
            }
            (true, _) => Pace::Paced,
            (false, Pace::Paced) if self.in_model == 0 => Pace::Unpaced(self.model.snapshot(now)),
            (false, Pace::Paced) => Pace::Ending,
            (false, unpaced) => unpaced,
        };
    }

    /// Whether requests take the model's time.
    pub(super) fn is_paced(&self) -> bool {
        matches!(self.pace, Pace::Paced)
    }

    /// Keeps what outlasts the requests; false while requests are under way.
    pub fn snapshot(&mut self, now: Moment) -> bool {
        if !self.under_way.is_empty() {
            return false;
        }
        self.kept = Some(match &self.pace {
            Pace::Unpaced(snapshot) => snapshot.clone(),
            Pace::Paced | Pace::Ending => self.model.snapshot(now),
        });
        true
    }

    /// Puts back what [`Drive::snapshot`] kept; false while requests are under way.
    ///
    /// Errors: `no-snapshot`.
    pub fn restore(&mut self, now: Moment) -> Result<bool, DriveError> {
        let Some(kept) = self.kept.clone() else {
            let remedy = "give snapshot first";
            let problem = "the drive has kept no state";
            return Err(DriveError::usage("no-snapshot", problem, "restore", remedy));
        };
        if !self.under_way.is_empty() {
            return Ok(false);
        }
        match &mut self.pace {
            Pace::Unpaced(snapshot) => *snapshot = kept,
            Pace::Paced | Pace::Ending => self.model.restore(now, &kept),
        }
        Ok(true)
    }

    /// Forgets what the model has under way and empties its cache, as without power.
    pub(super) fn reset_model(&mut self, now: Moment) {
        if let Pace::Unpaced(snapshot) = &self.pace {
            self.model.restore(now, snapshot);
        }
        self.model.reset(now);
        self.in_model = 0;
        if !matches!(self.pace, Pace::Paced) {
            self.pace = Pace::Unpaced(self.model.snapshot(now));
        }
    }
}
