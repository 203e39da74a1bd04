//! What a drive of a profile does by itself: its model in simulated time, always with so many requests
//! under way. Nothing is served, so that what a real device or the emulation adds can be seen.

use std::collections::HashMap;

use hdrhistogram::Histogram;
use stithy_measure::{Moment, Rng};
use stithy_wire::{LoadFigures, LoadPoint, PointFigures, ProfileFiguresJob, ProfileFiguresSummary};

use crate::counters::{histogram, percentiles};
use crate::error::DriveError;
use crate::model::{of_profile, Done, Model};
use crate::profile::Profile;
use crate::request::{Operation, Request};

/// The purpose of the places that are asked for, beside the model's own draws.
const PURPOSE: u64 = 0xF1_60_7E;

/// One of so many requests is not counted: the first ones find the drive at rest.
const WARM_UP_PART: u64 = 10;

const NS_PER_S: f64 = 1e9;

/// Simulates a fresh drive at each point.
///
/// Errors: a profile or a scale that is none, and a point that asks for nothing.
pub fn figures(job: &ProfileFiguresJob) -> Result<ProfileFiguresSummary, DriveError> {
    let profile = Profile::parse(&job.file, &job.text)?.scaled(job.scale)?;
    let points = job.points.iter().map(|point| {
        let possible = point.depth > 0
            && point.length_bytes > 0
            && point.length_bytes <= job.span_bytes
            && (0.0..=1.0).contains(&point.read_share);
        if !possible {
            let problem = format!("a point asks for what cannot be: {point:?}");
            let remedy = "give a depth, a size within the span, and a share from 0 to 1";
            return Err(DriveError::usage("job-invalid", problem, "points", remedy));
        }
        Ok(Simulation::new(&profile, job, *point).run(job.requests))
    });
    Ok(ProfileFiguresSummary {
        points: points.collect::<Result<_, _>>()?,
    })
}

struct Simulation {
    model: Box<dyn Model>,
    point: LoadPoint,
    span_bytes: u64,
    rng: Rng,
    next_bytes: u64,
    /// Operation and moment of arrival by name.
    under_way: HashMap<u64, (Operation, Moment)>,
    arrivals: u64,
    unflushed: u64,
}

impl Simulation {
    fn new(profile: &Profile, job: &ProfileFiguresJob, point: LoadPoint) -> Self {
        Simulation {
            model: of_profile(profile, job.seed),
            point,
            span_bytes: job.span_bytes,
            rng: Rng::new(job.seed, PURPOSE),
            next_bytes: 0,
            under_way: HashMap::new(),
            arrivals: 0,
            unflushed: 0,
        }
    }

    fn run(mut self, requests: u64) -> PointFigures {
        for _ in 0..self.point.depth {
            self.submit(Moment::START);
        }
        let mut records = Operation::ALL.map(|_| histogram());
        let (mut answered, mut begin, mut end) = (0, Moment::START, Moment::START);
        let mut done: Vec<Done> = Vec::new();
        while answered < requests {
            let Some(at) = self.model.next_done() else {
                break;
            };
            self.model.take_done(at, &mut done);
            for each in done.drain(..) {
                let Some((operation, arrived)) = self.under_way.remove(&each.id) else {
                    continue;
                };
                answered += 1;
                end = each.at;
                if answered <= requests / WARM_UP_PART {
                    begin = each.at;
                } else {
                    let recorded = records[operation.index()].record(each.at.0 - arrived.0);
                    recorded.expect("a histogram that grows takes every number");
                }
                self.submit(each.at);
            }
        }
        let seconds = (end.0 - begin.0) as f64 / NS_PER_S;
        let told = |operation: Operation| told(&records[operation.index()], seconds);
        PointFigures {
            read: told(Operation::Read),
            write: told(Operation::Write),
            flush: told(Operation::Flush),
        }
    }

    fn submit(&mut self, now: Moment) {
        let request = self.next();
        let others = self
            .under_way
            .values()
            .filter(|(each, _)| each.moves_data());
        let depth = others.count() as u64 + 1;
        self.model.submit(now, self.arrivals, &request, depth);
        self.under_way
            .insert(self.arrivals, (request.operation, now));
        self.arrivals += 1;
    }

    fn next(&mut self) -> Request {
        let point = self.point;
        if point.flushed_every > 0 && self.unflushed >= point.flushed_every {
            self.unflushed = 0;
            return Request {
                operation: Operation::Flush,
                offset_bytes: 0,
                length_bytes: 0,
            };
        }
        let operation = match self.rng.chance(point.read_share) {
            true => Operation::Read,
            false => Operation::Write,
        };
        self.unflushed += u64::from(operation == Operation::Write);
        Request {
            operation,
            offset_bytes: self.place(),
            length_bytes: point.length_bytes,
        }
    }

    fn place(&mut self) -> u64 {
        let length = self.point.length_bytes;
        let places = self.span_bytes / length;
        if !self.point.sequential {
            return self.rng.below(places) * length;
        }
        let place = self.next_bytes;
        self.next_bytes = (place + length) % (places * length);
        place
    }
}

fn told(record: &Histogram<u64>, seconds: f64) -> Option<LoadFigures> {
    (!record.is_empty() && seconds > 0.0).then(|| LoadFigures {
        iops: record.len() as f64 / seconds,
        latency: percentiles(record),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CATALOGUE;

    fn job(name: &str, points: &[LoadPoint]) -> ProfileFiguresJob {
        let shipped = CATALOGUE.iter().find(|each| each.name == name);
        let text = shipped.expect("it is shipped").text;
        ProfileFiguresJob {
            wire: stithy_wire::WIRE_VERSION,
            file: name.to_string(),
            text: text.to_string(),
            scale: 1.0,
            seed: 1,
            span_bytes: 1 << 30,
            requests: 20_000,
            points: points.to_vec(),
        }
    }

    fn point(read_share: f64, depth: u64) -> LoadPoint {
        LoadPoint {
            read_share,
            length_bytes: 4096,
            depth,
            sequential: false,
            flushed_every: 0,
        }
    }

    fn near(expected: f64, actual: f64) {
        assert!((actual / expected - 1.0).abs() < 0.02, "{actual}");
    }

    /// Medians and caps of a profile come out as they are described, and a cap is divided by a scale.
    #[test]
    fn figures_are_those_that_are_described() {
        let points = [point(1.0, 1), point(1.0, 128), point(0.5, 4)];
        let mut asked = job("generic-nvme", &points);
        let told = figures(&asked).expect("they are possible").points;
        let read = |at: usize| told[at].read.as_ref().expect("it reads");
        near(92e-6, read(0).latency.p50_s.expect("some"));
        near(400e3, read(1).iops);
        assert!(told[0].write.is_none() && told[2].write.is_some() && told[2].flush.is_none());
        asked.scale = 8.0;
        let told = figures(&asked).expect("they are possible").points;
        near(50e3, told[1].read.as_ref().expect("it reads").iops);
    }

    /// Long times are reported as they are: 64 MiB wait for a rate of 540 MB/s.
    #[test]
    fn long_times_are_not_cut_off() {
        let long = LoadPoint {
            length_bytes: 1 << 20,
            ..point(1.0, 64)
        };
        let told = figures(&job("generic-sata", &[long])).expect("it is possible");
        let read = told.points[0].read.as_ref().expect("it reads");
        near(
            64.0 * f64::from(1 << 20) / 540e6,
            read.latency.p50_s.expect("some"),
        );
    }

    /// A flush is waited for after so many writes.
    #[test]
    fn flushes_come_between_writes() {
        let flushed = LoadPoint {
            sequential: true,
            flushed_every: 4,
            ..point(0.0, 1)
        };
        let told = figures(&job("generic-nvme", &[flushed])).expect("it is possible");
        let [figures] = told.points.as_slice() else {
            panic!("one point");
        };
        let (write, flush) = (figures.write.as_ref(), figures.flush.as_ref());
        near(
            write.expect("it writes").iops / 4.0,
            flush.expect("it flushes").iops,
        );
    }

    /// What cannot be asked is refused.
    #[test]
    fn an_impossible_point_is_refused() {
        for (share, depth, length_bytes) in [(1.5, 1, 4096), (1.0, 0, 4096), (1.0, 1, 1 << 31)] {
            let point = LoadPoint {
                length_bytes,
                ..point(share, depth)
            };
            let refused = figures(&job("generic-nvme", &[point])).expect_err("it is impossible");
            assert_eq!("job-invalid", refused.code);
        }
    }
}
