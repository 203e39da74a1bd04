//! Rates that are never exceeded, evenly: no burst of more than two requests.

use crate::model::NS_PER_S;
use crate::profile::{Caps, Rates};

/// One rate. A request takes a step of time; the next but one waits until the step before it is over.
///
/// Source: the generic cell rate algorithm in its virtual scheduling form (ITU-T I.371), with a
/// tolerance of one step.
#[derive(Debug, Clone, Copy, Default)]
struct Pacer {
    due_ns: f64,
}

impl Pacer {
    /// Lets a request begin that takes `step_ns`, and tells when.
    fn admit(&mut self, now_ns: f64, step_ns: f64) -> f64 {
        let at_ns = (self.due_ns - step_ns).max(now_ns);
        self.due_ns = self.due_ns.max(at_ns) + step_ns;
        at_ns
    }
}

/// The pacers of one pair of rates.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    requests: Pacer,
    bytes: Pacer,
}

impl Lane {
    fn since(now_ns: f64) -> Self {
        let pacer = Pacer { due_ns: now_ns };
        Lane {
            requests: pacer,
            bytes: pacer,
        }
    }

    fn admit(&mut self, now_ns: f64, length_bytes: u64, rates: Rates) -> f64 {
        let mut at_ns = now_ns;
        if let Some(rate) = rates.iops {
            at_ns = at_ns.max(self.requests.admit(now_ns, NS_PER_S / rate));
        }
        if let Some(rate) = rates.bytes_per_s {
            let step_ns = NS_PER_S * length_bytes as f64 / rate;
            at_ns = at_ns.max(self.bytes.admit(now_ns, step_ns));
        }
        at_ns
    }
}

/// All pacers of a drive.
#[derive(Debug, Clone)]
pub(super) struct Pacing {
    /// The full rates.
    pub(super) caps: Caps,
    read: Lane,
    write: Lane,
    total: Lane,
}

impl Pacing {
    pub(super) fn new(caps: Caps) -> Self {
        Pacing {
            caps,
            read: Lane::default(),
            write: Lane::default(),
            total: Lane::default(),
        }
    }

    /// When a read that arrives now may begin.
    pub(super) fn read(&mut self, now_ns: f64, length_bytes: u64) -> f64 {
        let own_ns = self.read.admit(now_ns, length_bytes, self.caps.read);
        own_ns.max(self.total(now_ns, length_bytes))
    }

    /// When a write that arrives now may begin, at the write rates of this moment.
    pub(super) fn write(&mut self, now_ns: f64, length_bytes: u64, rates: Rates) -> f64 {
        let own_ns = self.write.admit(now_ns, length_bytes, rates);
        own_ns.max(self.total(now_ns, length_bytes))
    }

    /// A request takes its turn in the total when it arrives, however long its own rate then holds it
    /// back: else one kind that waits for its rate would hold back the other.
    fn total(&mut self, now_ns: f64, length_bytes: u64) -> f64 {
        self.total.admit(now_ns, length_bytes, self.caps.total)
    }

    /// Since when the write rates have asked nobody to wait; later than now while they do.
    pub(super) fn writes_idle_since_ns(&self) -> f64 {
        self.write.requests.due_ns.max(self.write.bytes.due_ns)
    }

    /// Forgets what went before `now_ns`.
    pub(super) fn reset(&mut self, now_ns: f64) {
        self.read = Lane::since(now_ns);
        self.write = Lane::since(now_ns);
        self.total = Lane::since(now_ns);
    }
}
