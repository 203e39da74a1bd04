//! The keys of a profile, each declared once: what it may be, its unit, what it means.
//!
//! Reading, checking and the reference page all follow from this list.

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Text that is not empty.
    Text,
    /// Lower-case letters, digits and hyphens.
    Name,
    /// True or false.
    Flag,
    /// A whole number of at least this.
    Whole(f64),
    /// A number above 0.
    Positive,
    /// A number of at least 0.
    NotNegative,
    /// A list of pairs of numbers.
    Pairs,
    /// A list of numbers.
    Numbers,
    /// A list of lists of numbers.
    Rows,
    /// A list of texts.
    Texts,
}

impl Kind {
    /// What is allowed, in words.
    pub fn allowed(self) -> String {
        match self {
            Kind::Text => "text".to_string(),
            Kind::Name => "lower-case letters, digits and hyphens".to_string(),
            Kind::Flag => "true or false".to_string(),
            Kind::Whole(lowest) => format!("a whole number of at least {lowest}"),
            Kind::Positive => "a number above 0".to_string(),
            Kind::NotNegative => "a number of at least 0".to_string(),
            Kind::Pairs => "a list of pairs of numbers".to_string(),
            Kind::Numbers => "a list of numbers".to_string(),
            Kind::Rows => "a list of lists of numbers".to_string(),
            Kind::Texts => "a list of texts".to_string(),
        }
    }
}

/// Whether a key must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// In every profile.
    Always,
    /// Where its table is.
    InTable,
    /// In every profile of a drive without moving parts, and in no other.
    Solid,
    /// Only where it says something.
    Optional,
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its table, a dot, its name.
    pub path: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// The unit of its numbers; empty where there is none.
    pub unit: &'static str,
    /// Whether it must be there.
    pub need: Need,
    /// What it means.
    pub meaning: &'static str,
}

use Kind::{Flag, Name, NotNegative, Numbers, Pairs, Positive, Rows, Text, Texts, Whole};
use Need::{Always, InTable, Optional};

const QUANTILES: &str =
    "pairs of a share of the requests and their time, from share 0 to share 1, \
     instead of `p50_us` and `p99_us`; between two points the time is interpolated geometrically";
const LOAD_SHARES: &str = "the shares of the requests to which the times of `load_us` belong, \
     rising from 0 to 1";
const LOAD: &str =
    "times measured under load, instead of the other distributions and of queueing for \
     channels: rows of a size in bytes, a queue depth, and a time for each of `load_shares`; \
     sorted by size and then by depth";
const REQUEST_BANDWIDTH: &str = "bandwidth of one request beyond its first 4 KiB";

/// A line each: path, kind, unit, need, meaning.
macro_rules! keys {
    ($($path:literal: $kind:expr, $unit:literal, $need:expr, $meaning:expr;)*) => {
        &[$(Key {
            path: $path,
            kind: $kind,
            unit: $unit,
            need: $need,
            meaning: $meaning,
        }),*]
    };
}

/// Every key, in the order of the reference page.
pub const KEYS: &[Key] = keys! {
    "version": Whole(1.0), "", Always, "version of the format: 1";
    "name": Name, "", Always, "name in studies and in the catalogue";
    "title": Text, "", Always, "description of the drive";
    "capacity_bytes": Whole(1.0), "B", Always, "capacity in bytes";
    "channels": Whole(1.0), "", Need::Solid, "number of requests that it serves at once";
    "read.p50_us": Positive, "µs", Optional, "median time of reads of 4 KiB on an idle drive";
    "read.p99_us": Positive, "µs", Optional,
        "99th percentile of these times; the distribution is log-normal";
    "read.quantiles_us": Pairs, "1, µs", Optional, QUANTILES;
    "read.load_shares": Numbers, "1", Optional, LOAD_SHARES;
    "read.load_us": Rows, "B, 1, µs", Optional, LOAD;
    "read.bytes_per_s": Positive, "B/s", Need::Solid, REQUEST_BANDWIDTH;
    "write.p50_us": Positive, "µs", Optional, "as for reads";
    "write.p99_us": Positive, "µs", Optional, "as for reads";
    "write.quantiles_us": Pairs, "1, µs", Optional, QUANTILES;
    "write.load_shares": Numbers, "1", Optional, LOAD_SHARES;
    "write.load_us": Rows, "B, 1, µs", Optional, LOAD;
    "write.bytes_per_s": Positive, "B/s", Need::Solid, REQUEST_BANDWIDTH;
    "cap.read_iops": Positive, "1/s", Optional, "reads per second, evenly paced";
    "cap.write_iops": Positive, "1/s", Optional, "writes per second";
    "cap.total_iops": Positive, "1/s", Optional, "reads and writes per second";
    "cap.read_bytes_per_s": Positive, "B/s", Optional, "bytes read per second";
    "cap.write_bytes_per_s": Positive, "B/s", Optional, "bytes written per second";
    "cap.total_bytes_per_s": Positive, "B/s", Optional, "bytes read and written per second";
    "flush.cost_us": NotNegative, "µs", Always,
        "time of a flush in addition to its waits; the mean, if there are quantiles";
    "flush.quantiles_us": Pairs, "1, µs", Optional,
        "distribution of that time, as for reads; without it the time is constant";
    "cache.size_bytes": Whole(1.0), "B", InTable, "size of the write cache";
    "cache.drain_bytes_per_s": Positive, "B/s", Need::Solid,
        "rate at which the cache drains to the medium; on a spinning disk the arm determines it";
    "cache.protected": Flag, "", InTable,
        "whether the cache survives a power cut; a flush then does not wait for it";
    "sustained.after_bytes": Whole(1.0), "B", InTable,
        "amount that can be written at the full rate";
    "sustained.write_iops": Positive, "1/s", Optional, "writes per second after that";
    "sustained.write_bytes_per_s": Positive, "B/s", Optional, "bytes written per second after that";
    "sustained.recovery_bytes_per_s": NotNegative, "B/s", InTable,
        "growth of that amount for each second in which nothing is written";
    "disk.rpm": Positive, "1/min", InTable, "rotations of the platters per minute";
    "disk.seek_track_ms": Positive, "ms", InTable, "seek time to the next track";
    "disk.seek_average_ms": Positive, "ms", InTable, "mean seek time between two random tracks";
    "disk.seek_full_ms": Positive, "ms", InTable, "seek time over all tracks";
    "disk.write_settle_ms": NotNegative, "ms", InTable, "additional seek time before a write";
    "disk.overhead_us": NotNegative, "µs", InTable, "time that the electronics add to a request";
    "disk.queue_depth": Whole(1.0), "", InTable,
        "number of waiting requests among which the nearest is chosen; 1 serves in the order of \
         arrival";
    "disk.read_ahead_bytes": Whole(0.0), "B", InTable, "amount that it reads ahead after a read";
    "disk.zones": Pairs, "1, B/s", InTable,
        "pairs of a share of the capacity and its bandwidth, from the outermost tracks inwards";
    "power.idle_w": NotNegative, "W", InTable, "power while no request is in progress";
    "power.read_w": Positive, "W", InTable, "power while reads are in progress";
    "power.write_w": Positive, "W", InTable,
        "power while writes, flushes or discards are in progress";
    "provenance.assumed": Texts, "", Optional,
        "keys, or whole tables, whose values were neither published nor measured, or were not \
         looked up";
    "provenance.note": Text, "", Optional, "further information for readers";
};

/// The tables that a file may have besides its first keys.
pub(super) fn is_table(name: &str) -> bool {
    KEYS.iter()
        .any(|key| key.path.split_once('.').is_some_and(|(t, _)| t == name))
}

/// The declaration of a path.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}
