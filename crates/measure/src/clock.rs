//! What time it is, counted from the start of a run.
//!
//! A run reads the wall clock once, at its start; everything after that is monotonic, so a step of
//! the wall clock cannot bend a latency or a series.

use std::ops::Add;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An instant: nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// The start of the run.
    pub const START: Moment = Moment(0);

    /// Time since `earlier`; zero if that is later.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Whole seconds since the start.
    pub fn second(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// The start of a second.
    pub fn of_second(second: u64) -> Moment {
        Moment(second * 1_000_000_000)
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, time: Duration) -> Moment {
        // A run of more than 584 years does not fit: the time saturates.
        Moment(self.0.saturating_add(nanoseconds(time)))
    }
}

/// A time in nanoseconds; one of more than 584 years saturates.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The seam for time: tests put a clock here that they set.
pub trait Clock {
    /// Now.
    fn now(&self) -> Moment;

    /// Unix time of the start of the run.
    fn unix_start(&self) -> Duration;

    /// Unix time of a moment, seconds.
    fn unix_s(&self, moment: Moment) -> f64 {
        (self.unix_start() + Duration::from_nanos(moment.0)).as_secs_f64()
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
    unix_start: Duration,
    /// Whether the start is one that somebody named.
    pub is_planned: bool,
}

/// So often both clocks are read where they are compared.
const PAIRS: u32 = 9;

impl SystemClock {
    /// A clock whose run starts now.
    pub fn start() -> Self {
        SystemClock {
            unix_start: unix_now(),
            start: Instant::now(),
            is_planned: false,
        }
    }

    /// A clock whose run starts at a Unix time; before that it stands at the start.
    ///
    /// A busy machine may do something else between the readings of its two clocks: of several pairs that which took
    /// least is right.
    pub fn starting_at(unix_start: Duration) -> Self {
        let pair = |_| {
            let (before, unix, after) = (Instant::now(), unix_now(), Instant::now());
            (after - before, before + (after - before) / 2, unix)
        };
        let (_, now, unix) = (1..PAIRS).map(pair).fold(pair(0), std::cmp::min);
        let ahead = unix_start.checked_sub(unix).map(|ahead| now + ahead);
        SystemClock {
            // The machine may have started later than a start that is long past.
            start: ahead.unwrap_or_else(|| now.checked_sub(unix - unix_start).unwrap_or(now)),
            unix_start,
            is_planned: true,
        }
    }

    /// The moment as the standard library counts it, to sleep until.
    pub fn instant(&self, moment: Moment) -> Instant {
        self.start + Duration::from_nanos(moment.0)
    }
}

/// A wall clock before 1970 is a machine without one: its series start at 0.
fn unix_now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        Moment::START + self.start.elapsed()
    }

    fn unix_start(&self) -> Duration {
        self.unix_start
    }
}
