//! How long nothing came to a good end within the measurement: of each user, and of all together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stithy_measure::{count_time, empty_histogram, locked, Clock, Moment, SystemClock};
use stithy_wire::{CommitGaps, OwnGaps};

use crate::error::HammerError;
use crate::record::Record;
use crate::window::text_of;

/// Own: gaps of all users that are no longer are not kept, as clocks of several hosts agree no better.
const KEPT_ABOVE: Duration = Duration::from_millis(1);
/// So many are kept, the longest ones.
const KEPT_MAX: usize = 10_000;

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

    /// Something came to a good end; returns the gap that this ended.
    fn add_success(&mut self, at: Moment) -> Gap {
        let ended = self.open(at);
        self.longest = self.longest.longer(ended);
        self.last = self.last.max(at.min(self.within.end));
        ended
    }

    /// The one that lasts.
    fn open(&self, now: Moment) -> Gap {
        Gap {
            from: self.last,
            length: now.min(self.within.end).since(self.last),
        }
    }

    /// The longest until now.
    fn at(&self, now: Moment) -> Gap {
        self.longest.longer(self.open(now))
    }
}

/// All gaps longer than a time, which is longer where there are too many.
#[derive(Debug, Clone)]
struct Kept {
    above: Duration,
    shortest_first: BinaryHeap<Reverse<(Duration, Moment)>>,
}

impl Kept {
    fn new() -> Self {
        Kept {
            above: KEPT_ABOVE,
            shortest_first: BinaryHeap::new(),
        }
    }

    fn add(&mut self, gap: Gap) {
        if gap.length <= self.above {
            return;
        }
        self.shortest_first.push(Reverse((gap.length, gap.from)));
        if self.shortest_first.len() > KEPT_MAX {
            let dropped = self.shortest_first.pop();
            self.above = dropped.map_or(self.above, |Reverse((length, _))| length);
        }
    }

    /// Begin and length, in the order of their begin.
    fn ordered(self) -> Vec<(Moment, Duration)> {
        let gaps = self.shortest_first.into_iter();
        let mut gaps: Vec<_> = gaps.map(|Reverse((length, from))| (from, length)).collect();
        gaps.sort_unstable();
        gaps
    }
}

/// Those of all users together.
#[derive(Debug)]
struct OfAll {
    longest: Longest,
    /// None where there is one hammer, which needs them for nothing.
    kept: Option<Kept>,
}

/// The gaps of a run. Users come to their end one after the other.
pub(crate) struct Gaps {
    all: Mutex<OfAll>,
    users: Mutex<Vec<Duration>>,
}

impl Gaps {
    /// Nobody has done anything yet; only what lies in the measurement counts.
    pub(crate) fn new(within: Range<Moment>, is_shared: bool) -> Self {
        Gaps {
            all: Mutex::new(OfAll {
                longest: Longest::new(within),
                kept: is_shared.then(Kept::new),
            }),
            users: Mutex::default(),
        }
    }

    /// For the summary, once all users have ended; nearest ranks. Errors: a histogram that cannot be packed, a bug.
    pub(crate) fn summary(
        &self,
        clock: &SystemClock,
        now: Moment,
    ) -> Result<CommitGaps, HammerError> {
        let all = locked(&self.all);
        let longest = all.longest.at(now);
        let mut users = locked(&self.users).clone();
        users.sort_unstable();
        let rank = |share: f64| {
            let place = (share * users.len() as f64).ceil() as usize;
            users.get(place.max(1) - 1).map(Duration::as_secs_f64)
        };
        Ok(CommitGaps {
            longest_s: longest.length.as_secs_f64(),
            longest_from_s: clock.unix_s(longest.from),
            user_p50_s: rank(0.5),
            user_p99_s: rank(0.99),
            user_max_s: rank(1.0),
            own: all.own(now, &users)?,
        })
    }
}

impl OfAll {
    /// What those of several hammers are made of; None where there is one.
    fn own(&self, now: Moment, users: &[Duration]) -> Result<Option<OwnGaps>, HammerError> {
        let Some(mut kept) = self.kept.clone() else {
            return Ok(None);
        };
        kept.add(self.longest.open(now));
        let above_s = kept.above.as_secs_f64();
        let begin = self.longest.within.start;
        let (from_s, length_s) = kept
            .ordered()
            .into_iter()
            .map(|(from, length)| (from.since(begin).as_secs_f64(), length.as_secs_f64()))
            .unzip();
        let mut histogram = empty_histogram();
        users
            .iter()
            .for_each(|gap| count_time(&mut histogram, *gap));
        Ok(Some(OwnGaps {
            above_s,
            from_s,
            length_s,
            users: text_of(&histogram)?,
        }))
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
        let mut all = locked(&self.record.gaps.all);
        let ended = all.longest.add_success(at);
        if let Some(kept) = &mut all.kept {
            kept.add(ended);
        }
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

    /// Of too many the longest ones are kept, and it is known above which length none is missing.
    #[test]
    fn the_longest_gaps_are_kept() {
        let gap = |at: u64, ms: u64| Gap {
            from: Moment(at * MS),
            length: Duration::from_millis(ms),
        };
        let mut kept = Kept::new();
        let count = KEPT_MAX as u64 + 10;
        (0..count).for_each(|n| kept.add(gap(n, 2 + (n * 3) % count)));
        kept.add(gap(count, 1));
        assert_eq!(Duration::from_millis(11), kept.above);
        let ordered = kept.ordered();
        assert_eq!(KEPT_MAX, ordered.len());
        assert!(ordered.is_sorted());
        assert!(ordered
            .iter()
            .all(|(_, length)| *length > Duration::from_millis(11)));
    }
}
