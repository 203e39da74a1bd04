//! What is wrong with a drive at the moment.

mod check;
mod schedule;

use std::time::Duration;

use stithy_measure::{Moment, Rng};
use stithy_wire::{DriveFault, SlowPhase, SlowRule};

pub use self::schedule::{Shipped, SCHEDULES};

use crate::error::DriveError;
use crate::request::{Operation, Request};

/// Purposes of the random streams of a drive.
const SLOW: u64 = 101;
const ERRORS: u64 = 102;
const SCHEDULE: u64 = 103;

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
    /// Until when nothing is answered.
    pub(crate) stalled_until: Option<Moment>,
    slow: Option<SlowRule>,
    schedule: Option<schedule::Running>,
    errors: Option<Errors>,
    /// Whether every request fails.
    pub(crate) is_gone: bool,
    /// Whether flushes promise nothing.
    pub(crate) is_lying: bool,
    slow_rng: Rng,
    schedule_rng: Rng,
    error_rng: Rng,
}

impl Faults {
    /// No fault; `seed` decides which requests later ones meet.
    pub fn none(seed: u64) -> Self {
        Faults {
            stalled_until: None,
            slow: None,
            schedule: None,
            errors: None,
            is_gone: false,
            is_lying: false,
            slow_rng: Rng::new(seed, SLOW),
            schedule_rng: Rng::new(seed, SCHEDULE),
            error_rng: Rng::new(seed, ERRORS),
        }
    }

    /// Begins, changes or ends a lasting fault; one that happens once changes nothing here.
    pub fn set(&mut self, now: Moment, fault: &DriveFault) -> Result<(), DriveError> {
        check::check(fault)?;
        if let DriveFault::Schedule { schedule } = fault {
            self.schedule = Some(schedule::Running::begin(now, schedule)?);
        }
        match *fault {
            DriveFault::None => self.repair(now),
            DriveFault::Stall { duration_s } => {
                self.stalled_until = Some(now + Duration::from_secs_f64(duration_s));
            }
            DriveFault::Slow(slow) => self.slow = Some(slow),
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
            DriveFault::Gone => self.is_gone = true,
            DriveFault::LyingFlush => self.is_lying = true,
            DriveFault::PowerOn => self.end_stall(now),
            DriveFault::Schedule { .. } | DriveFault::Corrupt { .. } | DriveFault::PowerCut(_) => {}
        }
        Ok(())
    }

    /// What it held until now was asked for all the same.
    fn end_stall(&mut self, now: Moment) {
        self.stalled_until = self.stalled_until.map(|until| until.min(now));
    }

    fn repair(&mut self, now: Moment) {
        self.end_stall(now);
        self.slow = None;
        self.schedule = None;
        self.errors = None;
        self.is_gone = false;
        self.is_lying = false;
    }

    /// When a request that arrived at `arrived` and was finished at `done` is answered. The phase of a
    /// schedule is that of its arrival.
    pub fn delay(&mut self, operation: Operation, arrived: Moment, done: Moment) -> Moment {
        let mut at = done;
        if let Some(slow) = self.slow {
            if self.slow_rng.chance(slow.share) {
                at = slower(arrived, at, slow.factor, slow.added_s);
            }
        }
        let Some(schedule) = &self.schedule else {
            return at;
        };
        match schedule.phase(arrived) {
            None => self.schedule = None,
            Some(phase) if self.schedule_rng.chance(share(phase, operation)) => {
                at = slower(arrived, at, phase.factor, phase.added_s);
            }
            Some(_) => {}
        }
        at
    }

    /// Whether a request fails.
    pub fn fails(&mut self, request: &Request) -> bool {
        if self.is_gone {
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

fn slower(arrived: Moment, done: Moment, factor: f64, added_s: f64) -> Moment {
    let time_s = done.since(arrived).as_secs_f64() * factor + added_s;
    arrived + Duration::from_secs_f64(time_s)
}

fn share(phase: &SlowPhase, operation: Operation) -> f64 {
    match operation {
        Operation::Read => phase.read_share,
        Operation::Write | Operation::Flush | Operation::Discard => phase.write_share,
    }
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
        let fault = DriveFault::Slow(SlowRule {
            factor: 3.0,
            added_s: 0.5,
            share: 0.25,
        });
        faults.set(Moment::START, &fault).unwrap();
        let done = Moment(100_000_000);
        let slow = (0..4_000)
            .filter(|_| faults.delay(Operation::Read, Moment::START, done) == Moment(800_000_000))
            .count();
        assert!((900..1_100).contains(&slow), "{slow}");
    }

    /// A schedule slows its shares of the reads and of the writes by the phase in which they arrive, and ends
    /// by itself.
    #[test]
    fn a_schedule_slows_what_arrives_in_its_phases() {
        use stithy_wire::FaultSchedule;
        let mut faults = Faults::none(1);
        let name = "increasing".to_string();
        let schedule = FaultSchedule::Shipped { name };
        let fault = DriveFault::Schedule { schedule };
        faults.set(Moment::of_second(10), &fault).unwrap();
        let mut slow = |operation, second, added_s| {
            let arrived = Moment::of_second(second);
            let done = arrived + Duration::from_millis(1);
            let late = done + Duration::from_secs_f64(added_s);
            (0..4_000)
                .filter(|_| faults.delay(operation, arrived, done) == late)
                .count()
        };
        assert!((300..500).contains(&slow(Operation::Read, 10, 0.05)));
        assert!((900..1_100).contains(&slow(Operation::Write, 189, 0.05)));
        assert!((900..1_100).contains(&slow(Operation::Flush, 190, 0.2)));
        assert!((300..500).contains(&slow(Operation::Read, 909, 15.0)));
        assert_eq!(4_000, slow(Operation::Write, 910, 0.0));
    }

    /// Impossible values are refused and change nothing.
    #[test]
    fn impossible_faults_are_refused() {
        let mut faults = Faults::none(1);
        let fault = DriveFault::Slow(SlowRule {
            factor: 0.5,
            added_s: 0.0,
            share: 1.0,
        });
        let error = faults.set(Moment::START, &fault).unwrap_err();
        assert_eq!(("factor", 2), (error.place.as_str(), error.exit()));
        let fault = DriveFault::Stall {
            duration_s: f64::NAN,
        };
        assert!(faults.set(Moment::START, &fault).is_err());
        let corrupt = |length_bytes, bits| DriveFault::Corrupt {
            offset_bytes: 0,
            length_bytes,
            bits,
            seed: 1,
        };
        for (key, fault) in [
            ("length_bytes", corrupt(0, 1)),
            ("bits", corrupt(4096, 0)),
            ("bits", corrupt(1, 9)),
            ("bits", corrupt(1 << 40, 1_000_001)),
        ] {
            assert_eq!(key, faults.set(Moment::START, &fault).unwrap_err().place);
        }
        let phase = SlowPhase {
            write_share: 1.5,
            ..SCHEDULES[0].phases[0]
        };
        let phases = vec![SCHEDULES[0].phases[0], phase];
        let schedule = stithy_wire::FaultSchedule::Phases {
            phases,
            repeats: false,
        };
        let fault = DriveFault::Schedule { schedule };
        let error = faults.set(Moment::START, &fault).unwrap_err();
        assert_eq!("write_share", error.place);
        assert!(faults.schedule.is_none());
    }
}
