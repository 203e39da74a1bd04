//! The arm of a disk and the jobs that wait for it.

use std::collections::VecDeque;

use stithy_measure::Moment;

use super::geometry::{Geometry, Place};
use crate::model::NS_PER_S;
use crate::profile::Disk;

/// After how many others, in lengths of the queue, the oldest job is taken though it is not the nearest.
/// Own: the shortest positioning time alone leaves far jobs waiting for ever; four queues of it keep
/// nearly all of its gain.
const PASSED_OVER_QUEUES: u64 = 4;

/// Something to read or write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    /// The request; None for a write that the cache has answered already.
    pub id: Option<u64>,
    pub writes: bool,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub arrived: Moment,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    job: Job,
    place: Place,
    /// Its place in the order of arrival.
    order: u64,
}

/// A read that goes on where the one before ended is served from what was read ahead.
#[derive(Debug, Clone, Copy)]
struct Stream {
    next_byte: u64,
    /// When the head is over that byte, or was.
    at_ns: f64,
}

/// What becomes of a job if the arm takes it next.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// When it is done.
    end_ns: f64,
    /// When the head has passed its last byte.
    passed_ns: f64,
}

/// The arm.
#[derive(Debug)]
pub(super) struct Arm {
    geometry: Geometry,
    overhead_ns: f64,
    queue_depth: usize,
    read_ahead_bytes: u64,
    over: Place,
    stream: Option<Stream>,
    waiting: VecDeque<Waiting>,
    serving: Option<(Moment, Waiting)>,
    /// When the job before was done: the next cannot begin earlier, though it may have arrived before.
    rests_since: Moment,
    /// Places in the order of arrival of the cached writes that wait or are being written.
    cached: VecDeque<u64>,
    arrivals: u64,
    oldest_passed_over: u64,
}

impl Arm {
    pub(super) fn new(disk: &Disk, capacity_bytes: u64) -> Self {
        let geometry = Geometry::new(disk, capacity_bytes);
        Arm {
            over: geometry.place(0),
            geometry,
            overhead_ns: disk.overhead_s * NS_PER_S,
            queue_depth: disk.queue_depth as usize,
            read_ahead_bytes: disk.read_ahead_bytes,
            stream: None,
            waiting: VecDeque::new(),
            serving: None,
            rests_since: Moment::START,
            cached: VecDeque::new(),
            arrivals: 0,
            oldest_passed_over: 0,
        }
    }

    /// Lets a job wait.
    pub(super) fn queue(&mut self, job: Job) {
        if job.id.is_none() {
            self.cached.push_back(self.arrivals);
        }
        self.waiting.push_back(Waiting {
            job,
            place: self.geometry.place(job.offset_bytes),
            order: self.arrivals,
        });
        self.arrivals += 1;
    }

    /// How many jobs have arrived.
    pub(super) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// The place in the order of arrival of the first cached write that is not on the medium.
    pub(super) fn oldest_cached(&self) -> Option<u64> {
        self.cached.front().copied()
    }

    /// The ranges of the cached writes, in the order of arrival.
    pub(super) fn cached(&self) -> Vec<(u64, u64)> {
        let serving = self.serving.iter().map(|(_, waiting)| waiting);
        let mut all: Vec<&Waiting> = serving
            .chain(&self.waiting)
            .filter(|waiting| waiting.job.id.is_none())
            .collect();
        all.sort_unstable_by_key(|waiting| waiting.order);
        all.iter()
            .map(|waiting| (waiting.job.offset_bytes, waiting.job.length_bytes))
            .collect()
    }

    /// When the job under way is done.
    pub(super) fn next_done(&self) -> Option<Moment> {
        self.serving.map(|(at, _)| at)
    }

    /// The job that was done at `now` or before; the arm rests then until it is started.
    pub(super) fn take_done(&mut self, now: Moment) -> Option<(Moment, Job)> {
        let (at, done) = self.serving.filter(|(at, _)| *at <= now)?;
        self.serving = None;
        self.rests_since = at;
        if done.job.id.is_none() {
            self.cached.retain(|order| *order != done.order);
        }
        Some((at, done.job))
    }

    /// Begins with the best of the waiting jobs, if the arm rests.
    pub(super) fn start(&mut self, at: Moment) {
        if self.serving.is_some() {
            return;
        }
        let at = at.max(self.rests_since);
        let Some((index, plan)) = self.best(at) else {
            return;
        };
        self.oldest_passed_over = match index {
            0 => 0,
            _ => self.oldest_passed_over + 1,
        };
        if let Some(next) = self.waiting.remove(index) {
            let end_byte = next.job.offset_bytes + next.job.length_bytes;
            self.over = self.geometry.place(end_byte);
            self.stream = (!next.job.writes).then_some(Stream {
                next_byte: end_byte,
                at_ns: plan.passed_ns,
            });
            let end = (plan.end_ns.round() as u64).max(at.0);
            self.serving = Some((Moment(end), next));
        }
    }

    /// The job that is done first of those the arm may choose from, and when that is.
    fn best(&self, at: Moment) -> Option<(usize, Plan)> {
        let queue = self.queue_depth as u64;
        let choice = match self.oldest_passed_over >= PASSED_OVER_QUEUES * queue {
            true => 1,
            false => self.queue_depth,
        };
        self.waiting
            .iter()
            .take(choice)
            .map(|waiting| self.plan(at, waiting))
            .enumerate()
            .min_by(|(_, one), (_, other)| one.end_ns.total_cmp(&other.end_ns))
    }

    /// What becomes of a job that begins at `at`. The electronics work on it from its arrival on.
    fn plan(&self, at: Moment, waiting: &Waiting) -> Plan {
        let job = &waiting.job;
        let ready_ns = job.arrived.0 as f64 + self.overhead_ns;
        let transfer_ns = self.geometry.transfer_ns(waiting.place, job.length_bytes);
        let goes_on = |stream: &Stream| !job.writes && stream.next_byte == job.offset_bytes;
        if let Some(stream) = self.stream.filter(goes_on) {
            let passed_ns = self.streamed_ns(at, waiting, stream) + transfer_ns;
            return Plan {
                end_ns: ready_ns.max(passed_ns),
                passed_ns,
            };
        }
        let begin = Moment((ready_ns as u64).max(at.0));
        let position_ns = self
            .geometry
            .position_ns(begin, self.over, waiting.place, job.writes);
        let end_ns = begin.0 as f64 + position_ns + transfer_ns;
        Plan {
            end_ns,
            passed_ns: end_ns,
        }
    }

    /// When the head was over the first byte of the job that goes on: it has read on since, until what is
    /// kept of that was full.
    fn streamed_ns(&self, at: Moment, waiting: &Waiting, stream: Stream) -> f64 {
        let ahead_ns = self
            .geometry
            .transfer_ns(waiting.place, self.read_ahead_bytes);
        stream.at_ns.max(at.0 as f64 - ahead_ns)
    }

    /// Forgets all jobs; the arm stays where it is.
    pub(super) fn reset(&mut self) {
        self.waiting.clear();
        self.serving = None;
        self.cached.clear();
        self.stream = None;
        self.oldest_passed_over = 0;
    }
}
