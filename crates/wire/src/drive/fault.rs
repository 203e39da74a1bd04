//! What can go wrong with a drive, and what became of it.

use serde::{Deserialize, Serialize};

/// What can go wrong with a drive. Kinds add up; the same kind replaces the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DriveFault {
    /// Ends stall, slow, a schedule, errors, gone and lying flush.
    None,
    /// Nothing is answered for a while.
    Stall {
        /// How long.
        duration_s: f64,
    },
    /// Some requests take longer.
    Slow(SlowRule),
    /// Slow in phases, one after the other; ends by itself.
    Schedule {
        /// Which phases.
        schedule: FaultSchedule,
    },
    /// Some requests fail with an I/O error.
    Errors {
        /// Reads fail.
        reads: bool,
        /// Writes, flushes and discards fail.
        writes: bool,
        /// Only requests that touch the range from here; flushes have none.
        offset_bytes: u64,
        /// How long the range is; null: to the end.
        length_bytes: Option<u64>,
        /// Share of these requests, 0 to 1.
        share: f64,
    },
    /// Every request fails, those under way too.
    Gone,
    /// Bits of the image flip, unknown to the drive.
    Corrupt {
        /// Where the range begins.
        offset_bytes: u64,
        /// How long it is.
        length_bytes: u64,
        /// How many bits flip.
        bits: u64,
        /// Seed of the choice.
        seed: u64,
    },
    /// Flushes are answered at once and promise nothing; a protected cache protects nothing meanwhile.
    LyingFlush,
    /// What was not flushed is decided about, and every request fails until `power-on`.
    PowerCut(CutRule),
    /// The drive comes back after a power cut.
    PowerOn,
}

/// By how much some requests take longer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowRule {
    /// By which their time is multiplied, at least 1.
    pub factor: f64,
    /// What is added then.
    pub added_s: f64,
    /// Share of the requests, 0 to 1.
    pub share: f64,
}

/// What becomes of each volatile write when the power is cut. The shares are probabilities; what is
/// neither lost nor torn is kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutRule {
    /// Seed of the choice.
    pub seed: u64,
    /// Share of the volatile writes that are lost whole.
    pub lost_share: f64,
    /// Share of which each unit is kept or lost by itself.
    pub torn_share: f64,
    /// What is never torn itself: 512 or 4096.
    pub unit_bytes: u32,
}

/// Phases of a slow drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultSchedule {
    /// One that the program brings along; `catalogue` tells which.
    Shipped {
        /// Its name.
        name: String,
    },
    /// These, one after the other.
    Phases {
        /// At least one.
        phases: Vec<SlowPhase>,
        /// Whether the first follows the last, until `none`.
        repeats: bool,
    },
}

/// One phase of a slow drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowPhase {
    /// How long it lasts.
    pub duration_s: f64,
    /// By which the time of a slow request is multiplied, at least 1.
    pub factor: f64,
    /// What is added then.
    pub added_s: f64,
    /// Share of the reads that are slow, 0 to 1.
    pub read_share: f64,
    /// Share of the writes, flushes and discards that are slow, 0 to 1.
    pub write_share: f64,
}

/// What became of the writes that were volatile when the power was cut. A torn write of which every
/// unit was kept counts as kept, one of which none was as lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutCounts {
    /// Kept whole.
    pub kept: u64,
    /// Kept in part.
    pub torn: u64,
    /// Lost whole.
    pub lost: u64,
}
