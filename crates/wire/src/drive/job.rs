//! What the program is asked for: a job, and the drives of one.

use serde::{Deserialize, Serialize};

use super::ProfileFiguresJob;

/// One task for the drive program; `job` in the JSON names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum DriveJob {
    /// Serve drives until told to stop.
    DriveUp(DriveUpJob),
    /// Tell what is shipped: drive profiles and schedules of faults.
    Catalogue(CatalogueJob),
    /// Judge one drive profile.
    CheckProfile(CheckProfileJob),
    /// Tell what a drive of a profile does by itself.
    ProfileFigures(ProfileFiguresJob),
}

/// Serve drives until told to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveUpJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// Path of the control socket; it is made with mode 0600. A file that is there already is refused,
    /// unless it is a socket that a killed program left.
    pub control: String,
    /// The drives that are up from the start; `up` on the control socket adds others.
    pub drives: Vec<DriveSpec>,
    /// Keep CPUs out of deep idle states while drives have requests, which wakes them faster; drives that nobody
    /// asks anything let go within two seconds.
    pub hold_off_idle: bool,
}

/// Tell what is shipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
}

/// Judge one drive profile, as a drive of it would be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckProfileJob {
    /// [`crate::WIRE_VERSION`].
    pub wire: u32,
    /// What messages call it, such as the path of its file.
    pub file: String,
    /// The profile, as TOML.
    pub text: String,
    /// As in [`DriveSpec`].
    pub scale: f64,
}

/// One drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Its name, unique in the program.
    pub name: String,
    /// How large it is; a multiple of `sector_bytes`.
    pub size_bytes: u64,
    /// The smallest unit of a request: 512 or 4096.
    pub sector_bytes: u32,
    /// Where its bytes lie.
    pub backing: DriveBacking,
    /// What a power cut may take away.
    pub volatile: DriveVolatile,
    /// The drive profile, as TOML; null: it takes no time.
    pub profile: Option<String>,
    /// By which the profile's capacity, IOPS and bandwidth are divided, latencies kept; 1 leaves it as it is.
    pub scale: f64,
    /// Seed of every draw.
    pub seed: u64,
    /// The transport's latency, by which answers are made earlier; null: as the program measures it, by size and
    /// operation.
    pub transport_s: Option<f64>,
    /// How long before an answer is due waiting becomes spinning; null: as the program finds good.
    pub spin_s: Option<f64>,
    /// Where the interval log goes: `<hlog_stem>.latency.hlog`; null: there is none.
    pub hlog_stem: Option<String>,
}

/// What a power cut may take away of what was answered and not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DriveVolatile {
    /// What the profile's write cache says: as much as it holds, or nothing where it is protected or there is
    /// none. Without a profile, nothing.
    FromProfile,
    /// Nothing: what was answered is kept.
    Protected,
    /// The newest writes; older ones have reached the medium.
    Bytes {
        /// How many bytes of them at most.
        limit_bytes: u64,
    },
}

/// Where the bytes of a drive lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DriveBacking {
    /// In memory; gone with the program.
    Memory,
    /// In a sparse file, with direct I/O.
    File {
        /// Made where there is none.
        path: String,
    },
}
