//! Times drawn from a described distribution.

use std::f64::consts::TAU;

use super::load::{row_mean_s, LoadTable};
use crate::profile::{Access, Latency, LoadRow};
use crate::random::Rng;

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

const NS_PER_S: f64 = 1e9;

/// A [`Latency`] made ready to draw from, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) enum Times {
    Lognormal { mu: f64, sigma: f64 },
    Quantiles(Vec<(f64, f64)>),
    Load(LoadTable),
}

impl Times {
    pub(super) fn new(latency: &Latency) -> Self {
        match latency {
            Latency::Lognormal { p50_s, p99_s } => Times::Lognormal {
                mu: (p50_s * NS_PER_S).ln(),
                sigma: sigma(*p50_s, *p99_s),
            },
            Latency::Load(table) => Times::Load(LoadTable::new(table)),
            Latency::Quantiles(points) => Times::quantiles(points),
        }
    }

    /// A table of quantiles; times in seconds.
    pub(super) fn quantiles(points: &[(f64, f64)]) -> Self {
        let points = points.iter();
        Times::Quantiles(
            points
                .map(|(share, time_s)| (*share, (time_s * NS_PER_S).ln()))
                .collect(),
        )
    }

    /// One time of a request of `length_bytes` with `depth` under way, itself included; nanoseconds. Only
    /// what was measured under load depends on either.
    pub(super) fn draw_ns(&self, length_bytes: u64, depth: u64, rng: &mut Rng) -> f64 {
        match self {
            Times::Load(table) => table.draw_ns(length_bytes, depth, rng),
            Times::Lognormal { mu, sigma } => (mu + sigma * normal(rng)).exp(),
            Times::Quantiles(points) => between(points, rng.share()).exp(),
        }
    }
}

/// What half and what 99 of 100 take at most where nothing else delays them, seconds.
pub fn p50_p99_s(latency: &Latency) -> (f64, f64) {
    let of_points = |shares: &mut dyn Iterator<Item = (f64, f64)>| {
        let points: Vec<(f64, f64)> = shares.map(|(share, time_s)| (share, time_s.ln())).collect();
        let at = |share| between(&points, share).exp();
        (at(0.5), at(0.99))
    };
    match latency {
        Latency::Lognormal { p50_s, p99_s } => (*p50_s, *p99_s),
        Latency::Quantiles(points) => of_points(&mut points.iter().copied()),
        Latency::Load(table) => table.rows.first().map_or((0.0, 0.0), |row| {
            let shares = table.shares.iter().copied();
            of_points(&mut shares.zip(row.times_s.iter().copied()))
        }),
    }
}

/// The mean of a distribution, seconds.
pub fn mean_s(latency: &Latency) -> f64 {
    match latency {
        Latency::Lognormal { p50_s, p99_s } => p50_s * (sigma(*p50_s, *p99_s).powi(2) / 2.0).exp(),
        Latency::Quantiles(points) => mean_between(points),
        // What nothing else delays.
        Latency::Load(table) => table
            .rows
            .first()
            .map_or(0.0, |row| row_mean_s(&table.shares, &row.times_s)),
    }
}

/// The greatest rates of requests and of bytes, 1/s, that a distribution allows over `channels`.
pub fn rates_max(access: &Access, channels: u32) -> (f64, f64) {
    let channels = f64::from(channels);
    match &access.latency {
        Latency::Load(table) => {
            let iops = |row: &LoadRow| row.depth / row_mean_s(&table.shares, &row.times_s);
            let most =
                |rate: &dyn Fn(&LoadRow) -> f64| table.rows.iter().map(rate).fold(0.0, f64::max);
            (most(&iops), most(&|row| iops(row) * row.length_bytes))
        }
        latency => (channels / mean_s(latency), channels * access.bytes_per_s),
    }
}

/// The mean of times that grow geometrically between points.
pub(super) fn mean_between(points: &[(f64, f64)]) -> f64 {
    points
        .windows(2)
        .map(|two| (two[1].0 - two[0].0) * mean_of_geometric(two[0].1, two[1].1))
        .sum()
}

fn sigma(p50_s: f64, p99_s: f64) -> f64 {
    (p99_s / p50_s).ln() / NORMAL_P99
}

/// The mean of a time that grows geometrically from one to the other: the logarithmic mean.
fn mean_of_geometric(from_s: f64, to_s: f64) -> f64 {
    match (to_s / from_s).ln() {
        // The quotient below is 0 / 0 there.
        growth if growth.abs() < 1e-9 => from_s,
        growth => (to_s - from_s) / growth,
    }
}

/// A standard normal number.
///
/// Source: Box and Muller, 1958.
fn normal(rng: &mut Rng) -> f64 {
    // 1 - share is never 0, so that the logarithm is finite.
    let radius = (-2.0 * (1.0 - rng.share()).ln()).sqrt();
    radius * (TAU * rng.share()).cos()
}

/// The value at a share, on straight lines between points that go from share 0 to share 1.
pub(super) fn between(points: &[(f64, f64)], share: f64) -> f64 {
    let after = points.partition_point(|(s, _)| *s <= share);
    let after = after.clamp(1, points.len() - 1);
    let ((from, low), (to, high)) = (points[after - 1], points[after]);
    low + (high - low) * (share - from) / (to - from)
}
