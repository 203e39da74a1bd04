//! A drive that is slow in phases, as volumes that are about to fail were seen to be.

use stithy_measure::Moment;
use stithy_wire::{FaultSchedule, ShippedSchedule, SlowPhase};

use crate::error::DriveError;

/// A schedule as it is shipped.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Its phases.
    pub phases: &'static [SlowPhase],
}

/// The experiment templates of AWS for latency of EBS volumes, all 15 minutes long.
const SOURCE: &str = "Amazon EBS user guide, \"Latency injection\", pre-configured latency experiment \
    templates (docs.aws.amazon.com/ebs/latest/userguide/ebs-fis-latency-injection.html); that flushes and discards \
    are as slow as writes is assumed";

/// A phase in which shares of the reads and writes take longer by `added_s`.
const fn added(duration_s: f64, added_s: f64, read_share: f64, write_share: f64) -> SlowPhase {
    SlowPhase {
        duration_s,
        factor: 1.0,
        added_s,
        read_share,
        write_share,
    }
}

/// A phase in which nothing is slow.
const fn recovery(duration_s: f64) -> SlowPhase {
    added(duration_s, 0.0, 0.0, 0.0)
}

/// All of them, by name. A new one is one entry here.
pub const SCHEDULES: &[Shipped] = &[
    Shipped {
        name: "decreasing",
        title: "a tenth of the requests, by 20 s at first, 40 ms at last",
        phases: &[
            added(180.0, 20.0, 0.1, 0.1),
            added(180.0, 5.0, 0.1, 0.1),
            added(180.0, 0.9, 0.1, 0.1),
            added(180.0, 0.3, 0.1, 0.1),
            added(180.0, 0.04, 0.1, 0.1),
        ],
    },
    Shipped {
        name: "increasing",
        title: "a tenth of the reads and a quarter of the writes, by 50 ms at first, 15 s at last",
        phases: &[
            added(180.0, 0.05, 0.1, 0.25),
            added(180.0, 0.2, 0.1, 0.25),
            added(180.0, 0.7, 0.1, 0.25),
            added(180.0, 1.0, 0.1, 0.25),
            added(180.0, 15.0, 0.1, 0.25),
        ],
    },
    Shipped {
        name: "intermittent",
        title: "one request of a thousand by 10 to 30 s, three times, with five minutes between",
        phases: &[
            added(60.0, 30.0, 0.001, 0.001),
            recovery(300.0),
            added(120.0, 10.0, 0.001, 0.001),
            recovery(300.0),
            added(120.0, 20.0, 0.001, 0.001),
        ],
    },
    Shipped {
        name: "sustained",
        title: "half of the reads and every write by 500 ms",
        phases: &[added(900.0, 0.5, 0.5, 1.0)],
    },
];

impl Shipped {
    /// As messages tell it.
    pub fn told(&self) -> ShippedSchedule {
        ShippedSchedule {
            name: self.name.to_string(),
            title: self.title.to_string(),
            source: SOURCE.to_string(),
            phases: self.phases.to_vec(),
        }
    }
}

/// The phases that are meant.
///
/// Errors: there is no such schedule, or it has no phase.
pub(super) fn phases(schedule: &FaultSchedule) -> Result<&[SlowPhase], DriveError> {
    let invalid = |problem: &str, remedy: String| {
        DriveError::usage("fault-invalid", problem, "schedule", remedy)
    };
    match schedule {
        FaultSchedule::Phases { phases, .. } if phases.is_empty() => Err(invalid(
            "the schedule has no phases",
            "give at least one".to_string(),
        )),
        FaultSchedule::Phases { phases, .. } => Ok(phases),
        FaultSchedule::Shipped { name } => match SCHEDULES.iter().find(|each| each.name == name) {
            Some(shipped) => Ok(shipped.phases),
            None => {
                let names: Vec<&str> = SCHEDULES.iter().map(|each| each.name).collect();
                let remedy = format!("give phases, or one of {}", names.join(", "));
                let problem = format!("no shipped schedule is called {name}");
                Err(invalid(&problem, remedy))
            }
        },
    }
}

/// A schedule that has begun.
#[derive(Debug, Clone)]
pub(super) struct Running {
    began: Moment,
    phases: Vec<SlowPhase>,
    repeats: bool,
}

impl Running {
    /// Begins the phases of a schedule.
    ///
    /// Errors: there is no such schedule, or it has no phase.
    pub(super) fn begin(began: Moment, schedule: &FaultSchedule) -> Result<Self, DriveError> {
        let phases = phases(schedule)?.to_vec();
        let repeats = matches!(schedule, FaultSchedule::Phases { repeats: true, .. });
        Ok(Running {
            began,
            phases,
            repeats,
        })
    }

    /// The phase of a moment; None where the last is over.
    pub(super) fn phase(&self, at: Moment) -> Option<&SlowPhase> {
        let mut left_s = at.since(self.began).as_secs_f64();
        let round_s: f64 = self.phases.iter().map(|phase| phase.duration_s).sum();
        if self.repeats && round_s > 0.0 {
            left_s %= round_s;
        }
        self.phases.iter().find(|phase| {
            left_s -= phase.duration_s;
            left_s < 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every shipped schedule lasts a quarter of an hour, as its source tells, and ends by itself.
    #[test]
    fn shipped_schedules_last_a_quarter_of_an_hour() {
        let began = Moment::of_second(7);
        for shipped in SCHEDULES {
            let schedule = FaultSchedule::Shipped {
                name: shipped.name.to_string(),
            };
            let running = Running::begin(began, &schedule).expect("it is shipped");
            let last = running.phase(Moment::of_second(7 + 899));
            assert_eq!(shipped.phases.last(), last, "{}", shipped.name);
            assert_eq!(None, running.phase(Moment::of_second(7 + 900)));
        }
        assert!(SCHEDULES.is_sorted_by_key(|each| each.name));
    }

    /// One phase follows the other at its moment.
    #[test]
    fn phases_follow_one_another() {
        let name = SCHEDULES[1].name.to_string();
        let schedule = FaultSchedule::Shipped { name };
        let running = Running::begin(Moment::START, &schedule).expect("it is shipped");
        let added_s = |second| running.phase(Moment::of_second(second)).map(|p| p.added_s);
        assert_eq!(
            [Some(0.05), Some(0.05), Some(0.2)],
            [0, 179, 180].map(added_s)
        );
        assert_eq!([Some(1.0), Some(15.0), None], [719, 720, 900].map(added_s));
    }

    /// A schedule that repeats begins again after its last phase, for ever.
    #[test]
    fn a_schedule_may_repeat() {
        let phases = vec![added(2.0, 0.5, 1.0, 1.0), recovery(1.0)];
        let schedule = FaultSchedule::Phases {
            phases,
            repeats: true,
        };
        let running = Running::begin(Moment::of_second(7), &schedule).expect("it has phases");
        let added_s = |second: u64| {
            running
                .phase(Moment::of_second(7 + second))
                .map(|p| p.added_s)
        };
        let expected = [0.5, 0.5, 0.0, 0.5, 0.5, 0.0].map(Some);
        assert_eq!(expected, [0, 1, 2, 3_000, 3_001, 3_002].map(added_s));
    }

    /// A schedule that nobody ships, or without a phase, is refused with what there is.
    #[test]
    fn unknown_schedules_are_refused() {
        let name = "increase".to_string();
        let error = phases(&FaultSchedule::Shipped { name }).unwrap_err();
        assert_eq!(("fault-invalid", 2), (error.code, error.exit()));
        assert!(error.remedy.contains("increasing"), "{error}");
        let nothing = FaultSchedule::Phases {
            phases: Vec::new(),
            repeats: true,
        };
        assert!(phases(&nothing).is_err());
    }
}
