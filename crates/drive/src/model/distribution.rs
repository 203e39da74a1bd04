//! Times drawn from a described distribution.

use std::f64::consts::TAU;

use stithy_measure::Rng;

use super::load::LoadTable;
use super::points::{between, mean_between, row_mean_s};
use crate::model::NS_PER_S;
use crate::profile::{Access, Latency, LoadRow};

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

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

fn sigma(p50_s: f64, p99_s: f64) -> f64 {
    (p99_s / p50_s).ln() / NORMAL_P99
}

/// A standard normal number.
///
/// Source: Box and Muller, 1958.
fn normal(rng: &mut Rng) -> f64 {
    // 1 - share is never 0, so that the logarithm is finite.
    let radius = (-2.0 * (1.0 - rng.share()).ln()).sqrt();
    radius * (TAU * rng.share()).cos()
}
