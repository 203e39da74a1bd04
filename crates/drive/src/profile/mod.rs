//! What a drive is like: its profile, read from a TOML file and checked as a whole.
//!
//! [`keys`] declares every key once; [`written`] reads a file against it, [`relations`] finds what is
//! impossible between keys, [`resolve`] gives the values their types. Times are in seconds here.

mod catalogue;
mod facts;
pub mod keys;
mod relations;
mod resolve;
mod scale;
mod written;

pub use catalogue::{Shipped, CATALOGUE};
pub use facts::judge;

use stithy_wire::{ProfileProblem, ProfileSource};

use crate::error::DriveError;

/// The version of the format that this program reads.
///
/// History: 1, the first.
pub const PROFILE_VERSION: u32 = 1;

/// A drive, with every value possible.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its name in studies and in the catalogue.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// How many bytes it holds.
    pub capacity_bytes: u64,
    /// How it finds its bytes.
    pub medium: Medium,
    /// What it never exceeds.
    pub caps: Caps,
    /// How long a flush takes by itself.
    pub flush_s: f64,
    /// How that time is distributed, as [`Latency::Quantiles`]; None where it is always the same.
    pub flush_quantiles_s: Option<Vec<(f64, f64)>>,
    /// Its write cache; None where a write is answered when the medium has it.
    pub cache: Option<WriteCache>,
    /// How writing slows down; None where it does not.
    pub sustained: Option<Sustained>,
    /// What it draws; None where nobody states it.
    pub power: Option<Power>,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

/// What a drive draws, watts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// While no request is in progress.
    pub idle_w: f64,
    /// While reads are.
    pub read_w: f64,
    /// While anything else is.
    pub write_w: f64,
}

/// How a drive finds its bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Medium {
    /// By electronics, several requests at once.
    Solid(Solid),
    /// By an arm over turning platters, one request at a time.
    Disk(Disk),
}

/// A drive without moving parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Solid {
    /// How many requests it serves at once.
    pub channels: u32,
    /// How it reads.
    pub read: Access,
    /// How it writes.
    pub write: Access,
}

/// One kind of access of a [`Solid`].
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// Time of 4 KiB on an idle drive.
    pub latency: Latency,
    /// Bandwidth of one request beyond its first 4 KiB.
    pub bytes_per_s: f64,
}

/// A distribution of times.
#[derive(Debug, Clone, PartialEq)]
pub enum Latency {
    /// Log-normal through two quantiles.
    Lognormal {
        /// Half take at most this long.
        p50_s: f64,
        /// 99 of 100 take at most this long.
        p99_s: f64,
    },
    /// Points (share of the requests, time), from share 0 to share 1; between them the time grows
    /// geometrically.
    Quantiles(Vec<(f64, f64)>),
    /// Measured by size and by how many requests are under way, which then do not queue for channels.
    Load(LoadTimes),
}

/// Times measured under load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadTimes {
    /// From 0 to 1: the share of the requests that each time of a row is of.
    pub shares: Vec<f64>,
    /// By size and then by depth, both rising.
    pub rows: Vec<LoadRow>,
}

/// The times of requests of one size with so many under way.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRow {
    /// Size of a request.
    pub length_bytes: f64,
    /// How many were under way at all times.
    pub depth: f64,
    /// One for each share.
    pub times_s: Vec<f64>,
}

/// A spinning disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Turns a minute.
    pub rpm: f64,
    /// How long the arm takes to the next track.
    pub seek_track_s: f64,
    /// How long it takes on average between two tracks chosen at random.
    pub seek_average_s: f64,
    /// How long it takes over all tracks.
    pub seek_full_s: f64,
    /// By how much a seek is longer before a write.
    pub write_settle_s: f64,
    /// What its electronics add to each request.
    pub overhead_s: f64,
    /// How many requests it chooses the nearest from; 1 serves in the order of arrival.
    pub queue_depth: u32,
    /// How far it reads on after a read.
    pub read_ahead_bytes: u64,
    /// From the outermost tracks to the innermost.
    pub zones: Vec<Zone>,
}

/// Tracks of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zone {
    /// Its share of the capacity.
    pub capacity_share: f64,
    /// How fast it is read and written.
    pub bytes_per_s: f64,
}

/// Rates that a drive never exceeds; None where nothing but its service times limits it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates {
    /// Requests a second.
    pub iops: Option<f64>,
    /// Bytes a second.
    pub bytes_per_s: Option<f64>,
}

/// The rates of reads, of writes and of both together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Caps {
    /// Of reads.
    pub read: Rates,
    /// Of writes.
    pub write: Rates,
    /// Of both together.
    pub total: Rates,
}

/// Memory of the drive that takes writes before its medium does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WriteCache {
    /// How much it holds.
    pub size_bytes: u64,
    /// How fast it reaches the medium; None on a disk, where the arm decides.
    pub drain_bytes_per_s: Option<f64>,
    /// Whether it survives a power cut, so that a flush need not wait for it.
    pub protected: bool,
}

/// How writing slows down when it goes on for long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sustained {
    /// How much can be written at the full rate.
    pub after_bytes: u64,
    /// The rates after that.
    pub slowed: Rates,
    /// How fast a drive that is not written to gets ready for the full rate again.
    pub recovery_bytes_per_s: f64,
}

/// Where the numbers come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provenance {
    /// What was looked up, measured or derived.
    pub sources: Vec<ProfileSource>,
    /// Keys whose values nobody published or measured.
    pub assumed: Vec<String>,
    /// What a reader should know besides.
    pub note: Option<String>,
}

impl Profile {
    /// Reads a profile; `file` names it in messages.
    ///
    /// Errors: everything that is wrong with it, at once.
    pub fn parse(file: &str, text: &str) -> Result<Self, DriveError> {
        Self::check(text).map_err(|problems| told(file, &problems))
    }

    /// As [`Profile::parse`], with the problems one by one.
    pub fn check(text: &str) -> Result<Self, Vec<ProfileProblem>> {
        let (values, mut problems) = written::read(text).map_err(|problem| vec![problem])?;
        problems.extend(relations::problems(&values));
        problems.sort_by_key(|problem| problem.line);
        match resolve::profile(&values) {
            Some(profile) if problems.is_empty() => Ok(profile),
            _ => Err(problems),
        }
    }
}

/// All problems as one error of `file`.
fn told(file: &str, problems: &[ProfileProblem]) -> DriveError {
    if problems.is_empty() {
        return DriveError::bug("a profile without a problem has no values", file);
    }
    let lines: Vec<String> = problems.iter().map(|each| line(file, each)).collect();
    let remedy = "correct these keys; docs/reference/drive-profiles.md tells what each means";
    DriveError::usage("profile-invalid", lines.join("\n"), file, remedy)
}

fn line(file: &str, problem: &ProfileProblem) -> String {
    let (line, key) = (problem.line.unwrap_or(1), &problem.key);
    let value = problem.value.as_ref().map(|value| format!(" = {value}"));
    let value = value.unwrap_or_default();
    format!(
        "{file}:{line}: {key}{value} {}; {}",
        problem.problem, problem.remedy
    )
}

#[cfg(test)]
mod tests;
