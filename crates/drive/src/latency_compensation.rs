//! Holding what requests took on the drive's block device against what its profile gives them, and making up for
//! the difference.
//!
//! The transport's latency is measured before the first drive serves, on a machine that is at rest and with one
//! request at a time. With more at once, and on CPUs that are busy, the way through the kernel is longer:
//! requests wait there before the drive knows of them, and answers on their way back. The kernel counts all
//! of it, so that the mean can be kept where it belongs; each request by itself stays as scattered as it is.

use std::time::Duration;

use stithy_measure::{nanoseconds, Moment};

use crate::request::Operation;
use crate::transport::{BlockTimes, Ended};

/// How long to gather before looking. A load that comes or goes is followed within half a second.
const LOOK: Duration = Duration::from_millis(100);

/// What must have been gathered: the kernel tells whole milliseconds, and requests at either end may be counted
/// by one and not yet by the other.
const ENOUGH_MS: u64 = 50;
const ENOUGH_REQUESTS: u64 = 200;

/// The share of a difference that is made up for at once. More is taken back faster than it is added: a
/// drive that is too fast is worse than one that is too slow.
const ADD_SHARE: f64 = 0.25;
const TAKE_BACK_SHARE: f64 = 0.5;

/// What was found holds for so long; then less of it at each look, or none of it if there was nothing to look at: what
/// was right for a busy machine would make a drive too fast on an idle one.
const HOLDS: Duration = Duration::from_secs(1);
const KEPT_SHARE: f64 = 0.8;

/// The most by which answers are made earlier in addition, and the most that is taken back.
const MOST_NS: f64 = 100_000.0;

/// Compensates latency of one drive. Without counters it compensates nothing.
#[derive(Debug, Default)]
pub struct LatencyCompensation {
    device: Option<BlockTimes>,
    beside: Duration,
    next_look: Moment,
    operations: [OperationLatency; 3],
}

/// One operation.
#[derive(Debug, Default)]
struct OperationLatency {
    /// The counters when gathering began; None: it begins at the next look.
    since: Option<Ended>,
    /// Those of flushes at that moment, where the kernel counts some of them here as well.
    flushes_since: Option<Ended>,
    answered: u64,
    given_ns: u64,
    /// Answers are made so much earlier, or later.
    more_ns: f64,
    /// When that was found out last.
    found: Option<Moment>,
}

impl LatencyCompensation {
    /// Compensates by the counters of a device. `beside` is what a client waits for in addition to what they count,
    /// and what is made up for as well.
    pub fn by(device: BlockTimes, beside: Duration) -> Self {
        LatencyCompensation {
            device: Some(device),
            beside,
            ..LatencyCompensation::default()
        }
    }

    /// The transport's time by which an answer is to be made earlier, given that at rest.
    ///
    /// Writes come in bursts too, from the page cache, and the kernel counts how long each waits for those before
    /// it, on the way to any drive. Those that somebody waits for come one by one, as reads and flushes do: so no
    /// more is made up for than with these, where there are any.
    pub fn adjusted(&self, operation: Operation, at_rest: Duration) -> Duration {
        let [read, write, flush] = &self.operations;
        let more_ns = match operation {
            Operation::Read => read.more_ns,
            Operation::Write => {
                let singly = [read, flush]
                    .into_iter()
                    .filter(|latency| latency.found.is_some());
                let most_ns = singly.map(|latency| latency.more_ns).reduce(f64::max);
                write.more_ns.min(most_ns.unwrap_or(f64::INFINITY))
            }
            Operation::Flush => flush.more_ns,
            Operation::Discard => 0.0,
        };
        Duration::from_nanos((at_rest.as_nanos() as f64 + more_ns).max(0.0) as u64)
    }

    /// A request was answered to which profile and faults gave so long.
    pub fn count(&mut self, operation: Operation, given: Duration) {
        if let Some(latency) = self.operations.get_mut(operation.index()) {
            latency.answered += 1;
            latency.given_ns += nanoseconds(given);
        }
    }

    /// Requests took no time of the profile: what was gathered says nothing.
    pub fn start_anew(&mut self) {
        self.operations
            .iter_mut()
            .for_each(|latency| latency.since = None);
    }

    /// Looks at the counters if it is time to; costs some microseconds every tenth of a second.
    pub fn look(&mut self, now: Moment) {
        let Some(device) = self.device.as_ref().filter(|_| now >= self.next_look) else {
            return;
        };
        if now.since(self.next_look) > HOLDS {
            self.operations = Default::default();
        }
        self.next_look = now + LOOK;
        match device.read() {
            Ok(ended) => {
                let beside_ns = self.beside.as_nanos() as f64;
                let [read, write, flush] = &mut self.operations;
                let [reads, writes, flushes] = ended;
                read.look(now, reads, None, beside_ns);
                write.look(now, writes, Some(flushes), beside_ns);
                flush.look(now, flushes, None, beside_ns);
            }
            // Counters that cannot be read compensate nothing; what was found last stands.
            Err(_) => self.device = None,
        }
    }
}

impl OperationLatency {
    /// Looks at the counters of this operation; `flushes` are those of flushes, for writes.
    fn look(&mut self, now: Moment, ended: Ended, flushes: Option<Ended>, beside_ns: f64) {
        let Some(since) = self.since else {
            return self.begin(ended, flushes);
        };
        let mut grown = ended.since(since);
        if let (Some(flushes), Some(then)) = (flushes, self.flushes_since) {
            grown = without_empty_flushes(grown, flushes.since(then), self.answered);
        }
        let Ended { requests, took_ms } = grown;
        if !are_the_same(requests, self.answered) {
            return self.begin(ended, flushes);
        }
        if took_ms < ENOUGH_MS || requests < ENOUGH_REQUESTS {
            return self.age(now);
        }
        let took_ns = took_ms as f64 * 1e6 / requests as f64;
        let given_ns = self.given_ns as f64 / self.answered as f64;
        let error_ns = took_ns + beside_ns - given_ns;
        let share = match error_ns > 0.0 {
            true => ADD_SHARE,
            false => TAKE_BACK_SHARE,
        };
        self.more_ns = (self.more_ns + share * error_ns).clamp(-MOST_NS, MOST_NS);
        self.found = Some(now);
        self.begin(ended, flushes);
    }

    fn age(&mut self, now: Moment) {
        if self.found.is_some_and(|found| now.since(found) > HOLDS) {
            self.more_ns *= KEPT_SHARE;
        }
    }

    fn begin(&mut self, ended: Ended, flushes: Option<Ended>) {
        (self.since, self.flushes_since) = (Some(ended), flushes);
        (self.answered, self.given_ns) = (0, 0);
    }
}

/// Writes without the flushes that carry no data: the kernel counts each of these as a write of no sectors, too, which takes as
/// long. As many are taken out as the drive did not answer as writes.
/// Source: block/blk-flush.c and blk_account_io_done of Linux.
fn without_empty_flushes(writes: Ended, flushes: Ended, answered: u64) -> Ended {
    let empty = writes
        .requests
        .saturating_sub(answered)
        .min(flushes.requests);
    let took_ms = (flushes.took_ms * empty)
        .checked_div(flushes.requests)
        .unwrap_or(0);
    Ended {
        requests: writes.requests - empty,
        took_ms: writes.took_ms.saturating_sub(took_ms),
    }
}

/// Whether the kernel counted the requests that the drive answered: it splits and merges some.
fn are_the_same(requests: u64, answered: u64) -> bool {
    requests.abs_diff(answered) <= answered / 20 + 8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval in which the kernel counted `requests` of `took_us` each; the profile says 100 µs.
    fn looked(latency: &mut OperationLatency, requests: u64, took_us: u64) {
        let before = latency.since.unwrap_or_default();
        latency.since = Some(before);
        (latency.answered, latency.given_ns) = (requests, requests * 100_000);
        let ended = Ended {
            requests: before.requests + requests,
            took_ms: before.took_ms + requests * took_us / 1000,
        };
        latency.look(Moment::START, ended, None, 3_000.0);
    }

    /// Requests that take too long are answered earlier, until they take as long as they are to with what the
    /// client waits for beside.
    #[test]
    fn it_settles_where_requests_take_their_time() {
        let mut latency = OperationLatency::default();
        for _ in 0..40 {
            let earlier_us = (latency.more_ns / 1000.0) as u64;
            looked(&mut latency, 1000, 137 - earlier_us);
        }
        assert!(
            (39.0..=41.0).contains(&(latency.more_ns / 1000.0)),
            "{}",
            latency.more_ns
        );
    }

    /// Too fast is fixed faster than too slow.
    #[test]
    fn what_is_too_much_is_taken_back_first() {
        let (mut slow, mut fast) = (OperationLatency::default(), OperationLatency::default());
        looked(&mut slow, 1000, 117);
        looked(&mut fast, 1000, 77);
        assert_eq!((5_000.0, -10_000.0), (slow.more_ns, fast.more_ns));
    }

    /// No more is made up for than the most, however busy the machine.
    #[test]
    fn it_has_limits() {
        let mut latency = OperationLatency::default();
        for _ in 0..100 {
            looked(&mut latency, 1000, 5_000);
        }
        assert_eq!(MOST_NS, latency.more_ns);
    }

    /// Few requests, or other ones than the drive answered, move nothing.
    #[test]
    fn what_says_nothing_moves_nothing() {
        let mut latency = OperationLatency::default();
        looked(&mut latency, 199, 500);
        assert_eq!(0.0, latency.more_ns, "too few");
        looked(&mut latency, 1000, 20);
        assert_eq!(0.0, latency.more_ns, "too short a time for milliseconds");
        latency.answered = 2000;
        let since = latency.since.unwrap_or_default();
        let half = Ended {
            requests: since.requests + 1000,
            took_ms: since.took_ms + 900,
        };
        latency.look(Moment::START, half, None, 0.0);
        assert_eq!(
            (0.0, Some(half)),
            (latency.more_ns, latency.since),
            "the kernel merged them"
        );
    }

    /// Under a database half of the kernel's writes are flushes: the others are compensated all the same, by their own time.
    #[test]
    fn writes_are_compensated_without_the_flushes_among_them() {
        let mut latency = OperationLatency::default();
        let ended = |requests, took_ms| Ended { requests, took_ms };
        latency.begin(ended(0, 0), Some(ended(0, 0)));
        (latency.answered, latency.given_ns) = (1000, 1000 * 100_000);
        // 1000 writes of 140 µs, and 1000 flushes of 50 µs that the kernel counts twice.
        latency.look(Moment::START, ended(2000, 190), Some(ended(1000, 50)), 0.0);
        assert_eq!(10_000.0, latency.more_ns);
    }

    /// What the drive answered as writes is not taken for flushes, nor more than there were.
    #[test]
    fn only_flushes_are_taken_out_of_writes() {
        let ended = |requests, took_ms| Ended { requests, took_ms };
        let of = |answered| without_empty_flushes(ended(100, 50), ended(10, 1), answered);
        assert_eq!(ended(100, 50), of(150));
        assert_eq!(ended(90, 49), of(0));
        assert_eq!(
            ended(7, 3),
            without_empty_flushes(ended(7, 3), ended(0, 0), 0)
        );
    }

    /// A burst of writes does not make those fast that come one by one.
    #[test]
    fn writes_are_compensated_no_further_than_what_comes_one_by_one() {
        let mut compensation = LatencyCompensation::default();
        let us = Duration::from_micros;
        let write =
            |compensation: &LatencyCompensation| compensation.adjusted(Operation::Write, us(11));
        compensation.operations[1].more_ns = 90_000.0;
        assert_eq!(us(101), write(&compensation), "nothing is read");
        looked(&mut compensation.operations[0], 1000, 105);
        assert_eq!(us(13), write(&compensation));
        looked(&mut compensation.operations[2], 1000, 117);
        assert_eq!(
            us(16),
            write(&compensation),
            "flushes take longer than reads"
        );
    }

    /// What was found on a busy machine does not stay for an idle one.
    #[test]
    fn what_was_found_does_not_hold_for_ever() {
        let mut latency = OperationLatency::default();
        looked(&mut latency, 1000, 177);
        let (since, found_ns) = (latency.since.unwrap_or_default(), latency.more_ns);
        latency.look(Moment::of_second(1), since, None, 0.0);
        assert_eq!(found_ns, latency.more_ns, "it is fresh");
        for tenth in 11..40 {
            latency.look(Moment(tenth * 100_000_000), since, None, 0.0);
        }
        assert!(latency.more_ns < found_ns / 100.0, "{}", latency.more_ns);
    }

    /// Answers are never made later than without any transport's time, and discards are left alone.
    #[test]
    fn the_time_is_added_to_that_at_rest() {
        let mut compensation = LatencyCompensation::default();
        let us = Duration::from_micros;
        compensation.operations[0].more_ns = 20_000.0;
        compensation.operations[2].more_ns = -90_000.0;
        assert_eq!(us(31), compensation.adjusted(Operation::Read, us(11)));
        assert_eq!(us(0), compensation.adjusted(Operation::Flush, us(11)));
        assert_eq!(us(11), compensation.adjusted(Operation::Discard, us(11)));
    }
}
