//! What is wrong with a drive at the moment.

use std::time::Duration;

use stithy_measure::Moment;
use stithy_wire::DriveFault;

use crate::error::DriveError;
use crate::random::Rng;
use crate::request::{Operation, Request};

/// Purposes of the random streams of a drive.
const SLOW: u64 = 101;
const ERRORS: u64 = 102;

#[derive(Debug, Clone, Copy)]
struct Slow {
    factor: f64,
    added_s: f64,
    share: f64,
}

#[derive(Debug, Clone, Copy)]
struct Errors {
    reads: bool,
    writes: bool,
    start_bytes: u64,
    end_bytes: u64,
    share: f64,
}

/// The faults that last. Those that happen once (corrupt bits, a power cut) are done by the drive.
#[derive(Debug)]
pub struct Faults {
    stalled_until: Option<Moment>,
    slow: Option<Slow>,
    errors: Option<Errors>,
    gone: bool,
    lying_flush: bool,
    slow_rng: Rng,
    error_rng: Rng,
}

impl Faults {
    /// No fault; `seed` decides which requests later ones meet.
    pub fn none(seed: u64) -> Self {
        Faults {
            stalled_until: None,
            slow: None,
            errors: None,
            gone: false,
            lying_flush: false,
            slow_rng: Rng::new(seed, SLOW),
            error_rng: Rng::new(seed, ERRORS),
        }
    }

    /// Begins, changes or ends a lasting fault; one that happens once changes nothing here.
    pub fn set(&mut self, now: Moment, fault: &DriveFault) -> Result<(), DriveError> {
        check(fault)?;
        match *fault {
            DriveFault::None => self.mend(),
            DriveFault::Stall { duration_s } => {
                self.stalled_until = Some(now + Duration::from_secs_f64(duration_s));
            }
            DriveFault::Slow {
                factor,
                added_s,
                share,
            } => {
                self.slow = Some(Slow {
                    factor,
                    added_s,
                    share,
                });
            }
            DriveFault::Errors {
                reads,
                writes,
                offset_bytes,
                length_bytes,
                share,
            } => {
                self.errors = Some(Errors {
                    reads,
                    writes,
                    start_bytes: offset_bytes,
                    end_bytes: length_bytes
                        .map_or(u64::MAX, |length| offset_bytes.saturating_add(length)),
                    share,
                });
            }
            DriveFault::Gone => self.gone = true,
            DriveFault::LyingFlush => self.lying_flush = true,
            DriveFault::PowerOn => self.stalled_until = None,
            DriveFault::Corrupt { .. } | DriveFault::PowerCut { .. } => {}
        }
        Ok(())
    }

    fn mend(&mut self) {
        self.stalled_until = None;
        self.slow = None;
        self.errors = None;
        self.gone = false;
        self.lying_flush = false;
    }

    /// Until when nothing is answered.
    pub fn stalled_until(&self) -> Option<Moment> {
        self.stalled_until
    }

    /// Whether every request fails.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether flushes promise nothing.
    pub fn is_lying(&self) -> bool {
        self.lying_flush
    }

    /// When a request that arrived at `arrived` and was finished at `done` is answered.
    pub fn delay(&mut self, arrived: Moment, done: Moment) -> Moment {
        match self.slow {
            Some(slow) if self.slow_rng.chance(slow.share) => {
                let time_s = done.since(arrived).as_secs_f64() * slow.factor + slow.added_s;
                arrived + Duration::from_secs_f64(time_s)
            }
            _ => done,
        }
    }

    /// Whether a request fails.
    pub fn fails(&mut self, request: &Request) -> bool {
        if self.gone {
            return true;
        }
        let Some(errors) = self.errors else {
            return false;
        };
        let meant = match request.operation {
            Operation::Read => errors.reads,
            Operation::Write | Operation::Flush | Operation::Discard => errors.writes,
        };
        let end_bytes = request.offset_bytes + request.length_bytes;
        let inside = request.operation == Operation::Flush
            || (request.offset_bytes < errors.end_bytes && end_bytes > errors.start_bytes);
        meant && inside && self.error_rng.chance(errors.share)
    }
}

/// Refuses a fault with an impossible value.
fn check(fault: &DriveFault) -> Result<(), DriveError> {
    let share = |key, value: f64| require(key, (0.0..=1.0).contains(&value), "a share from 0 to 1");
    // A week: longer ones are rather `gone`, and do not overflow the clock.
    let time = |key, value: f64| {
        let possible = (0.0..=604_800.0).contains(&value);
        require(key, possible, "seconds from 0 to 604800")
    };
    match *fault {
        DriveFault::Stall { duration_s } => time("duration_s", duration_s),
        DriveFault::Slow {
            factor,
            added_s,
            share: of,
        } => {
            require(
                "factor",
                (1.0..=1e6).contains(&factor),
                "a number from 1 to 1000000",
            )?;
            time("added_s", added_s)?;
            share("share", of)
        }
        DriveFault::Errors { share: of, .. } => share("share", of),
        DriveFault::Corrupt { length_bytes, .. } => {
            require("length_bytes", length_bytes > 0, "at least 1")
        }
        DriveFault::PowerCut {
            lost_share,
            torn_share,
            unit_bytes,
            ..
        } => {
            share("lost_share", lost_share)?;
            share("torn_share", torn_share)?;
            let together = lost_share + torn_share <= 1.0 + f64::EPSILON;
            require("torn_share", together, "with lost_share at most 1")?;
            require(
                "unit_bytes",
                matches!(unit_bytes, 512 | 4096),
                "512 or 4096",
            )
        }
        _ => Ok(()),
    }
}

fn require(key: &str, possible: bool, allowed: &str) -> Result<(), DriveError> {
    if possible {
        return Ok(());
    }
    let problem = format!("{key} has an impossible value");
    let remedy = format!("give {allowed}");
    Err(DriveError::usage("fault-invalid", problem, key, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(operation: Operation, offset_bytes: u64) -> Request {
        Request {
            operation,
            offset_bytes,
            length_bytes: 4096,
        }
    }

    /// Errors meet the operations and the range that were named, and end with the fault.
    #[test]
    fn errors_meet_their_range() {
        let mut faults = Faults::none(1);
        let fault = DriveFault::Errors {
            reads: true,
            writes: false,
            offset_bytes: 8192,
            length_bytes: Some(4096),
            share: 1.0,
        };
        faults.set(Moment::START, &fault).unwrap();
        let failing: Vec<u64> = (0..5)
            .map(|sector| sector * 4096)
            .filter(|&at| faults.fails(&request(Operation::Read, at)))
            .collect();
        assert_eq!(vec![8192], failing);
        assert!(!faults.fails(&request(Operation::Write, 8192)));
        faults.set(Moment::START, &DriveFault::None).unwrap();
        assert!(!faults.fails(&request(Operation::Read, 8192)));
    }

    /// A slow drive multiplies and adds, on its share of the requests.
    #[test]
    fn a_slow_drive_takes_longer_on_its_share() {
        let mut faults = Faults::none(1);
        let fault = DriveFault::Slow {
            factor: 3.0,
            added_s: 0.5,
            share: 0.25,
        };
        faults.set(Moment::START, &fault).unwrap();
        let done = Moment(100_000_000);
        let slow = (0..4_000)
            .filter(|_| faults.delay(Moment::START, done) == Moment(800_000_000))
            .count();
        assert!((900..1_100).contains(&slow), "{slow}");
    }

    /// Impossible values are refused and change nothing.
    #[test]
    fn impossible_faults_are_refused() {
        let mut faults = Faults::none(1);
        let fault = DriveFault::Slow {
            factor: 0.5,
            added_s: 0.0,
            share: 1.0,
        };
        let error = faults.set(Moment::START, &fault).unwrap_err();
        assert_eq!(("factor", 2), (error.place.as_str(), error.exit()));
        let fault = DriveFault::Stall {
            duration_s: f64::NAN,
        };
        assert!(faults.set(Moment::START, &fault).is_err());
    }
}
