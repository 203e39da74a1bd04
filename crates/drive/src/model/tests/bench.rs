//! A closed loop and an open loop in simulated time, for the tests of models.

use stithy_measure::{Moment, Rng};

use crate::model::{Done, Model};
use crate::profile::Profile;
use crate::request::{Operation, Request};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000_000_000;

/// A request.
pub(crate) fn request(operation: Operation, offset_bytes: u64, length_bytes: u64) -> Request {
    Request {
        operation,
        offset_bytes,
        length_bytes,
    }
}

/// A drive of 4 channels that takes 100 µs for a read, unless `more` tells otherwise, and 50 µs for a
/// write. Every number is assumed.
pub(crate) fn profile(more: &str) -> Profile {
    let reads = match more.starts_with("read =") {
        true => "",
        false => "read = { p50_us = 100, p99_us = 100, bytes_per_s = 1e9 }\n",
    };
    let tables = ["cap", "cache", "sustained"].iter();
    let marks: String = tables
        .filter(|name| more.contains(&format!("[{name}]")))
        .map(|name| format!(", \"{name}\""))
        .collect();
    let text = format!(
        "version = 1\nname = \"test\"\ntitle = \"of a test\"\n\
         capacity_bytes = 100_000_000_000\nchannels = 4\nflush = {{ cost_us = 10 }}\n\
         write = {{ p50_us = 50, p99_us = 50, bytes_per_s = 1e9 }}\n{reads}{more}\n[provenance]\n\
         assumed = [\"capacity_bytes\", \"channels\", \"read\", \"write\", \"flush\"{marks}]\n"
    );
    Profile::parse("test.toml", &text).expect("it is possible")
}

/// One finished request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub arrived: u64,
    pub done: u64,
}

impl Sample {
    pub(crate) fn latency_ns(&self) -> u64 {
        self.done - self.arrived
    }
}

/// `depth` requests are under way at all times until `until_ns`; `next` makes them.
pub(crate) fn closed_loop(
    model: &mut dyn Model,
    depth: u64,
    until_ns: u64,
    mut next: impl FnMut() -> Request,
) -> Vec<Sample> {
    let (mut sent, mut samples) = (Vec::new(), Vec::new());
    let mut done: Vec<Done> = Vec::new();
    let mut submit = |model: &mut dyn Model, sent: &mut Vec<u64>, now: u64| {
        let request = next();
        model.submit(Moment(now), sent.len() as u64, &request, depth);
        sent.push(now);
    };
    for _ in 0..depth {
        submit(model, &mut sent, 0);
    }
    while let Some(at) = model.next_done() {
        if at.0 >= until_ns {
            break;
        }
        model.take_done(at, &mut done);
        for each in done.drain(..) {
            assert_eq!(at, each.at, "it is told when it is finished");
            samples.push(Sample {
                arrived: sent[each.id as usize],
                done: each.at.0,
            });
            submit(model, &mut sent, at.0);
        }
    }
    samples
}

/// Requests that arrive at given times, each with its name as its index; gives when each is finished.
pub(crate) fn open_loop(model: &mut dyn Model, arrivals: &[(u64, Request)]) -> Vec<u64> {
    let mut finished = vec![0; arrivals.len()];
    let mut done: Vec<Done> = Vec::new();
    for (id, (at, request)) in arrivals.iter().enumerate() {
        model.take_done(Moment(*at), &mut done);
        let depth = (id - done.len() + 1) as u64;
        model.submit(Moment(*at), id as u64, request, depth);
    }
    while let Some(at) = model.next_done() {
        model.take_done(at, &mut done);
    }
    for each in done {
        finished[each.id as usize] = each.at.0;
    }
    finished
}

/// Offsets spread evenly over a range, on multiples of 4 KiB.
pub(crate) fn random_offsets(seed: u64, range_bytes: u64) -> impl FnMut() -> u64 {
    let mut rng = Rng::new(seed, 99);
    move || rng.below(range_bytes / 4096) * 4096
}

/// The latency at most this share of the samples exceed, nanoseconds.
pub(crate) fn quantile_ns(samples: &[Sample], share: f64) -> u64 {
    let mut latencies: Vec<u64> = samples.iter().map(Sample::latency_ns).collect();
    latencies.sort_unstable();
    latencies[((latencies.len() - 1) as f64 * share) as usize]
}

pub(crate) fn mean_ns(samples: &[Sample]) -> f64 {
    let sum: f64 = samples.iter().map(|each| each.latency_ns() as f64).sum();
    sum / samples.len() as f64
}

/// Requests a second, once the first of them have been answered.
pub(crate) fn iops_of(samples: &[Sample]) -> f64 {
    let begin = 50 * MS;
    let counted = samples.iter().filter(|each| each.done > begin).count();
    let last = samples.last().expect("some are answered").done;
    counted as f64 * S as f64 / (last - begin) as f64
}

/// How many finished in each slice of `slice_ns`, whole slices only.
pub(crate) fn slices(samples: &[Sample], slice_ns: u64) -> Vec<u64> {
    let last = samples.last().map_or(0, |each| each.done) / slice_ns;
    let mut counts = vec![0; last as usize];
    for each in samples {
        if let Some(count) = counts.get_mut((each.done / slice_ns) as usize) {
            *count += 1;
        }
    }
    counts
}
