//! How long nothing came to a good end within the measurement: of each user, and of all together.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stithy_measure::{locked, Clock, Moment, SystemClock};
use stithy_wire::CommitGaps;

use crate::record::Record;

/// A time without a success.
#[derive(Debug, Clone, Copy)]
struct Gap {
    from: Moment,
    length: Duration,
}

impl Gap {
    fn none(at: Moment) -> Self {
        Gap {
            from: at,
            length: Duration::ZERO,
        }
    }

    /// The longer of both; at equal lengths the earlier.
    fn longer(self, other: Gap) -> Gap {
        if other.length > self.length {
            other
        } else {
            self
        }
    }
}

/// The longest time between two successes, or between one and an end of the measurement.
#[derive(Debug)]
struct Longest {
    within: Range<Moment>,
    last: Moment,
    longest: Gap,
}

impl Longest {
    fn new(within: Range<Moment>) -> Self {
        Longest {
            last: within.start,
            longest: Gap::none(within.start),
            within,
        }
    }

    /// Something came to a good end.
    fn add_success(&mut self, at: Moment) {
        self.longest = self.at(at);
        self.last = self.last.max(at.min(self.within.end));
    }

    /// The longest until now.
    fn at(&self, now: Moment) -> Gap {
        let open = Gap {
            from: self.last,
            length: now.min(self.within.end).since(self.last),
        };
        self.longest.longer(open)
    }
}

/// The gaps of a run. Users come to their end one after the other.
pub(crate) struct Gaps {
    all: Mutex<Longest>,
    users: Mutex<Vec<Duration>>,
}

impl Gaps {
    /// Nobody has done anything yet; only what lies in the measurement counts.
    pub(crate) fn new(within: Range<Moment>) -> Self {
        Gaps {
            all: Mutex::new(Longest::new(within)),
            users: Mutex::default(),
        }
    }

    /// For the summary, once all users have ended; nearest ranks.
    pub(crate) fn summary(&self, clock: &SystemClock, now: Moment) -> CommitGaps {
        let all = locked(&self.all).at(now);
        let mut users = locked(&self.users).clone();
        users.sort_unstable();
        let rank = |share: f64| {
            let place = (share * users.len() as f64).ceil() as usize;
            users.get(place.max(1) - 1).map(Duration::as_secs_f64)
        };
        CommitGaps {
            longest_s: all.length.as_secs_f64(),
            longest_from_s: clock.unix_s(all.from),
            user_p50_s: rank(0.5),
            user_p99_s: rank(0.99),
            user_max_s: rank(1.0),
        }
    }
}

/// The gaps of one user, which are counted when it ends.
pub(crate) struct UserGaps {
    longest: Longest,
    record: Arc<Record>,
}

impl UserGaps {
    /// Of a user that begins.
    pub(crate) fn new(record: &Arc<Record>) -> Self {
        let within = record.recorder().phases().measured.clone();
        UserGaps {
            longest: Longest::new(within),
            record: record.clone(),
        }
    }

    /// A transaction of the user was committed, or rolled back as it should be.
    pub(crate) fn add_success(&mut self, at: Moment) {
        self.longest.add_success(at);
        locked(&self.record.gaps.all).add_success(at);
    }
}

impl Drop for UserGaps {
    fn drop(&mut self) {
        let end = self.longest.at(self.record.now()).length;
        locked(&self.record.gaps.users).push(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn longest(successes_ms: &[u64], now_ms: u64) -> (u64, u128) {
        let mut longest = Longest::new(Moment(100 * MS)..Moment(200 * MS));
        for at in successes_ms {
            longest.add_success(Moment(at * MS));
        }
        let found = longest.at(Moment(now_ms * MS));
        (found.from.0 / MS, found.length.as_millis())
    }

    /// A gap is between successes, or to an end of the measurement; others are cut there.
    #[test]
    fn gaps_lie_in_the_measurement() {
        assert_eq!((100, 100), longest(&[], 500));
        assert_eq!((150, 50), longest(&[50, 110, 150], 500));
        assert_eq!((110, 70), longest(&[110, 180, 190, 230], 500));
        assert_eq!((120, 30), longest(&[110, 120], 150));
        assert_eq!((100, 0), longest(&[20], 30));
    }
}
