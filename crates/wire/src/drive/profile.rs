//! What is shipped, and what is found in a drive profile.

use serde::{Deserialize, Serialize};

use super::SlowPhase;

/// A drive profile that is shipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShippedProfile {
    /// The profile, as TOML.
    pub text: String,
    /// What it says.
    pub facts: ProfileFacts,
}

/// A schedule of faults that is shipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShippedSchedule {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// Where its numbers come from, and which are assumed.
    pub source: String,
    /// Its phases.
    pub phases: Vec<SlowPhase>,
}

/// How much is shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueSummary {
    /// Drive profiles.
    pub profiles: u64,
    /// Schedules of faults.
    pub schedules: u64,
}

/// What was found in a drive profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckProfileSummary {
    /// What it says, divided by the scale; null where there are problems.
    pub facts: Option<ProfileFacts>,
    /// Everything that is wrong with it, in the order of its lines.
    pub problems: Vec<ProfileProblem>,
}

/// One thing that is wrong with a drive profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileProblem {
    /// The line, from 1; null where no line is at fault, as of a scale.
    pub line: Option<u64>,
    /// The key, with its table.
    pub key: String,
    /// What was given; null where nothing was.
    pub value: Option<String>,
    /// What is wrong with it.
    pub problem: String,
    /// How to fix it.
    pub remedy: String,
}

/// What a drive profile says, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileFacts {
    /// Its name.
    pub name: String,
    /// What the drive is, for people.
    pub title: String,
    /// How many bytes it holds; a drive of it may be smaller.
    pub capacity_bytes: u64,
    /// By which capacity and rates were divided.
    pub scale: f64,
    /// How many requests it serves at once; null where it spins.
    pub channels: Option<u32>,
    /// Turns a minute; null where it does not spin.
    pub rpm: Option<f64>,
    /// Half of the reads of 4 KiB of an idle drive take at most this; null where it spins.
    pub read_p50_s: Option<f64>,
    /// 99 of 100 take at most this.
    pub read_p99_s: Option<f64>,
    /// As of reads.
    pub write_p50_s: Option<f64>,
    /// As of reads.
    pub write_p99_s: Option<f64>,
    /// What a flush takes besides what it waits for.
    pub flush_s: f64,
    /// Reads a second at most; null where only service times limit. So with the other rates.
    pub read_iops: Option<f64>,
    /// Writes a second at most.
    pub write_iops: Option<f64>,
    /// Reads and writes a second at most.
    pub total_iops: Option<f64>,
    /// Bytes read a second at most.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written a second at most.
    pub write_bytes_per_s: Option<f64>,
    /// Bytes read and written a second at most.
    pub total_bytes_per_s: Option<f64>,
    /// What its write cache holds; null where it has none.
    pub cache_bytes: Option<u64>,
    /// What a power cut may take away of answered writes at most; null: nothing.
    pub volatile_bytes: Option<u64>,
    /// How much can be written before it slows down; null where it does not.
    pub sustained_after_bytes: Option<u64>,
    /// Keys, or whole tables, whose values nobody has published or measured.
    pub assumed: Vec<String>,
    /// Where the other numbers come from.
    pub sources: Vec<ProfileSource>,
    /// What a reader should know besides.
    pub note: Option<String>,
}

/// Where some numbers of a drive profile come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileSource {
    /// The document or the measurement.
    pub text: String,
    /// The keys, or the tables, that it gives.
    pub keys: Vec<String>,
}
