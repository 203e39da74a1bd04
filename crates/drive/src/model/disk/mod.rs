//! A disk that spins: one arm, which takes the nearest of the waiting requests next.
//!
//! With a write cache a write is answered when the cache has it and joins the arm's queue without a
//! name; a flush of a volatile cache waits until the arm has done all that came before it.

mod arm;
mod geometry;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use stithy_measure::Moment;

use self::arm::{Arm, Job};
pub use self::geometry::SeekCurve;
use super::{Done, Model, Snapshot, NS_PER_S};
use crate::profile::{Disk, Profile, WriteCache};
use crate::request::{Operation, Request};

/// A flush that waits for cached writes.
#[derive(Debug, Clone, Copy)]
struct Flush {
    id: u64,
    /// How many jobs of the arm had arrived before it.
    before: u64,
}

/// The times of a disk.
#[derive(Debug)]
pub(super) struct DiskModel {
    arm: Arm,
    overhead_ns: u64,
    flush_ns: u64,
    cache: Option<WriteCache>,
    fill_bytes: u64,
    /// Writes that the cache has no room for yet.
    blocked: VecDeque<Job>,
    flushes: Vec<Flush>,
    /// Moment of finishing, place in the order of that, name.
    finished: BinaryHeap<Reverse<(Moment, u64, u64)>>,
    decided: u64,
}

impl DiskModel {
    pub(super) fn new(profile: &Profile, medium: &Disk) -> Self {
        DiskModel {
            arm: Arm::new(medium, profile.capacity_bytes),
            overhead_ns: (medium.overhead_s * NS_PER_S).round() as u64,
            flush_ns: (profile.flush_s * NS_PER_S).round() as u64,
            cache: profile.cache,
            fill_bytes: 0,
            blocked: VecDeque::new(),
            flushes: Vec::new(),
            finished: BinaryHeap::new(),
            decided: 0,
        }
    }

    fn finish(&mut self, at: Moment, id: u64) {
        self.finished.push(Reverse((at, self.decided, id)));
        self.decided += 1;
    }

    /// Lets the arm do what it does until `now`.
    fn advance(&mut self, now: Moment) {
        while let Some((at, job)) = self.arm.take_done(now) {
            match job.id {
                Some(id) => self.finish(at, id),
                None => self.cached_write_done(at, job),
            }
            self.arm.start(at);
        }
    }

    fn cached_write_done(&mut self, at: Moment, job: Job) {
        self.fill_bytes -= job.length_bytes;
        while let Some(&blocked) = self.blocked.front() {
            if !self.has_room(blocked.length_bytes) {
                break;
            }
            self.blocked.pop_front();
            self.cache_write(at, blocked);
        }
        let oldest = self.arm.oldest_cached();
        let done = |flush: &Flush| oldest.is_none_or(|oldest| oldest >= flush.before);
        let (done, waiting) = self.flushes.iter().partition(|flush| done(flush));
        self.flushes = waiting;
        let done: Vec<Flush> = done;
        for flush in done {
            self.finish(Moment(at.0 + self.flush_ns), flush.id);
        }
    }

    /// A write that is larger than the cache has room when the cache is empty.
    fn has_room(&self, length_bytes: u64) -> bool {
        let size_bytes = self.cache.map_or(0, |cache| cache.size_bytes);
        self.fill_bytes == 0 || self.fill_bytes + length_bytes <= size_bytes
    }

    fn cache_write(&mut self, at: Moment, write: Job) {
        self.fill_bytes += write.length_bytes;
        if let Some(id) = write.id {
            self.finish(Moment(at.0 + self.overhead_ns), id);
        }
        self.arm.queue(Job {
            id: None,
            arrived: at,
            ..write
        });
    }

    fn write(&mut self, now: Moment, write: Job) {
        if self.cache.is_none() {
            self.arm.queue(write);
        } else if self.blocked.is_empty() && self.has_room(write.length_bytes) {
            self.cache_write(now, write);
        } else {
            self.blocked.push_back(write);
        }
    }

    /// Without a volatile cache everything that was answered is on the medium.
    fn flush(&mut self, now: Moment, id: u64) {
        let waits = self.cache.is_some_and(|cache| !cache.protected);
        match waits && self.arm.oldest_cached().is_some() {
            true => self.flushes.push(Flush {
                id,
                before: self.arm.arrivals(),
            }),
            false => self.finish(Moment(now.0 + self.flush_ns), id),
        }
    }
}

fn job(now: Moment, id: u64, request: &Request) -> Job {
    Job {
        id: Some(id),
        writes: request.operation == Operation::Write,
        offset_bytes: request.offset_bytes,
        length_bytes: request.length_bytes,
        arrived: now,
    }
}

impl Model for DiskModel {
    fn submit(&mut self, now: Moment, id: u64, request: &Request, _depth: u64) {
        self.advance(now);
        match request.operation {
            Operation::Read => self.arm.queue(job(now, id, request)),
            Operation::Write => self.write(now, job(now, id, request)),
            Operation::Flush => self.flush(now, id),
            // A disk that spins has nothing to discard.
            Operation::Discard => self.finish(Moment(now.0 + self.overhead_ns), id),
        }
        self.arm.start(now);
    }

    fn next_done(&self) -> Option<Moment> {
        let first = self.finished.peek().map(|Reverse((at, _, _))| *at);
        match (first, self.arm.next_done()) {
            (Some(first), Some(arm)) => Some(first.min(arm)),
            (first, arm) => first.or(arm),
        }
    }

    fn take_done(&mut self, now: Moment, done: &mut Vec<Done>) {
        self.advance(now);
        while let Some(&Reverse((at, _, id))) = self.finished.peek() {
            if at > now {
                break;
            }
            self.finished.pop();
            done.push(Done { id, at });
        }
    }

    fn cache_fill_bytes(&self) -> Option<u64> {
        self.cache.map(|_| self.fill_bytes)
    }

    fn reset(&mut self, _now: Moment) {
        self.arm.reset();
        self.fill_bytes = 0;
        self.blocked.clear();
        self.flushes.clear();
        self.finished.clear();
    }

    fn snapshot(&mut self, now: Moment) -> Snapshot {
        self.advance(now);
        Snapshot {
            cached_writes: self.arm.cached(),
            ..Snapshot::default()
        }
    }

    fn restore(&mut self, now: Moment, snapshot: &Snapshot) {
        self.reset(now);
        for &(offset_bytes, length_bytes) in &snapshot.cached_writes {
            let write = Job {
                id: None,
                writes: true,
                offset_bytes,
                length_bytes,
                arrived: now,
            };
            self.cache_write(now, write);
        }
        self.arm.start(now);
    }
}

#[cfg(test)]
mod tests;
