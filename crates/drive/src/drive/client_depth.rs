//! How many reads and writes the clients of a drive keep under way, as they count themselves.
//!
//! That is what a profile was measured by, and the drive sees it only through the transport: it answers earlier than a
//! request is due, and the client's next one arrives about when it is due, a little before or after. So an answered
//! request keeps its place until then, and as long again. The next that arrives takes that place: a client
//! that always keeps N under way is always counted as N.

use std::time::Duration;

use stithy_measure::Moment;

use crate::request::Operation;

/// The clients' queue depth.
#[derive(Debug, Default)]
pub(super) struct ClientDepth {
    unanswered: u64,
    /// Until when the place of each answered request is kept.
    kept: Vec<Moment>,
}

impl ClientDepth {
    /// A request arrives: how many are under way, with it if it is a read or a write.
    pub(super) fn arrive(&mut self, now: Moment, operation: Operation) -> u64 {
        self.kept.retain(|until| *until > now);
        if operation.moves_data() {
            self.unanswered += 1;
            self.kept.drain(..self.kept.len().min(1));
        }
        self.unanswered + self.kept.len() as u64
    }

    /// A request is answered, whose way from its client and back takes so long.
    pub(super) fn answer(&mut self, now: Moment, operation: Operation, transport: Duration) {
        if operation.moves_data() {
            self.unanswered -= 1;
            self.kept.push(now + 2 * transport);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use stithy_measure::Rng;

    use super::*;

    const TRANSPORT: Duration = Duration::from_micros(20);
    const TAKES_NS: u64 = 100_000;

    /// What is answered and what arrives at a drive, in the order of time.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Answer,
        Arrival,
    }

    /// Mean depth over so many arrivals. After an answer `next` says when another request arrives, nanoseconds.
    fn mean_depth(arrivals: &[u64], count: u64, mut next: impl FnMut() -> Option<u64>) -> f64 {
        let first = arrivals.iter().map(|at| Reverse((*at, Event::Arrival)));
        let mut events: BinaryHeap<_> = first.collect();
        let (mut depth, mut sum, mut seen) = (ClientDepth::default(), 0, 0);
        while let Some(Reverse((at, event))) = events.pop() {
            if event == Event::Answer {
                depth.answer(Moment(at), Operation::Read, TRANSPORT);
                let arrives = next().map(|later| Reverse((at + later, Event::Arrival)));
                events.extend(arrives);
                continue;
            }
            sum += depth.arrive(Moment(at), Operation::Write);
            seen += 1;
            if seen == count {
                break;
            }
            let answered = at + TAKES_NS - TRANSPORT.as_nanos() as u64;
            events.push(Reverse((answered, Event::Answer)));
        }
        sum as f64 / seen as f64
    }

    /// Clients that each wait for an answer are as many as they are, however long the way of each request is.
    #[test]
    fn a_closed_loop_is_as_deep_as_it_is() {
        for clients in [1, 2, 7, 64] {
            let mut rng = Rng::new(1, 1);
            let begin: Vec<u64> = (0..clients).map(|n| n * 1_000).collect();
            let mean = mean_depth(&begin, 20_000, || Some(2 * rng.below(20_000)));
            let off = mean / clients as f64 - 1.0;
            assert!(off.abs() < 0.005, "{clients}: {mean}");
        }
    }

    /// Of requests that come whenever they like there are as many as come while one is under way, and the one itself.
    #[test]
    fn an_open_loop_is_as_deep_as_its_rate_and_latency_say() {
        for others in [0.5, 4.0, 32.0] {
            let mut rng = Rng::new(1, 1);
            let mut at = 0.0;
            let mut gap = || -(1.0 - rng.share()).ln() * TAKES_NS as f64 / others;
            let arrivals: Vec<u64> = std::iter::repeat_with(|| {
                at += gap();
                at as u64
            })
            .take(20_000)
            .collect();
            let off = mean_depth(&arrivals, 20_000, || None) / (others + 1.0) - 1.0;
            assert!(off.abs() < 0.07, "{others}: {off}");
        }
    }
}
