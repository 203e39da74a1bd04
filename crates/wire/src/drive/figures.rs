//! What a drive of a profile does by itself, in simulated time: its own figures, to hold a real drive against.

use serde::{Deserialize, Serialize};

use crate::Percentiles;

/// Simulate a drive of a profile at some points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileFiguresJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// What messages call the profile, such as the path of its file.
    pub file: String,
    /// The profile, as TOML.
    pub text: String,
    /// As in [`super::DriveSpec`].
    pub scale: f64,
    /// Seed of every draw.
    pub seed: u64,
    /// From the beginning of the drive, where requests go.
    pub span_bytes: u64,
    /// How many requests are simulated at each point.
    pub requests: u64,
    /// What is asked of the drive, each of a fresh one.
    pub points: Vec<LoadPoint>,
}

/// One way of asking: always so many requests of one size under way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPoint {
    /// Share of reads; the others are writes.
    pub read_share: f64,
    /// Size of each request.
    pub length_bytes: u64,
    /// How many are under way.
    pub depth: u64,
    /// One after another, and not at random places.
    pub sequential: bool,
    /// After so many writes a flush is waited for; 0: never.
    pub flushed_every: u64,
}

/// The figures of each point, in the order of the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileFiguresSummary {
    /// One entry a point.
    pub points: Vec<PointFigures>,
}

/// The figures of one point; null for what it did not ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointFigures {
    /// Reads.
    pub read: Option<LoadFigures>,
    /// Writes.
    pub write: Option<LoadFigures>,
    /// Flushes.
    pub flush: Option<LoadFigures>,
}

/// The figures of one kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadFigures {
    /// Requests a second.
    pub iops: f64,
    /// From arrival to answer.
    pub latency: Percentiles,
}
