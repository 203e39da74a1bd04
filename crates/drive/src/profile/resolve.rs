//! The values of a profile with their types, in seconds and bytes.

use super::written::Values;
use super::{
    Access, Caps, Disk, Latency, LoadRow, LoadTimes, Medium, Power, Profile, Provenance, Rates,
    Solid, Sustained, WriteCache, Zone,
};

const S_PER_US: f64 = 1e-6;
const S_PER_MS: f64 = 1e-3;

/// The profile; None where a value that it needs is missing, which then is among the problems.
pub(super) fn profile(values: &Values) -> Option<Profile> {
    Some(Profile {
        name: values.get("name")?,
        title: values.get("title")?,
        capacity_bytes: values.number("capacity_bytes")? as u64,
        medium: match values.has_table("disk") {
            true => Medium::Disk(disk(values)?),
            false => Medium::Solid(solid(values)?),
        },
        caps: Caps {
            read: rates(values, "cap.read_"),
            write: rates(values, "cap.write_"),
            total: rates(values, "cap.total_"),
        },
        flush_s: values.number("flush.cost_us")? * S_PER_US,
        flush_quantiles_s: values.get("flush.quantiles_us").map(in_seconds),
        cache: match values.has_table("cache") {
            true => Some(cache(values)?),
            false => None,
        },
        sustained: match values.has_table("sustained") {
            true => Some(sustained(values)?),
            false => None,
        },
        power: power(values),
        provenance: Provenance {
            sources: values.sources.clone(),
            assumed: values.get("provenance.assumed").unwrap_or_default(),
            note: values.get("provenance.note"),
        },
    })
}

fn power(values: &Values) -> Option<Power> {
    Some(Power {
        idle_w: values.number("power.idle_w")?,
        read_w: values.number("power.read_w")?,
        write_w: values.number("power.write_w")?,
    })
}

fn rates(values: &Values, prefix: &str) -> Rates {
    Rates {
        iops: values.number(&format!("{prefix}iops")),
        bytes_per_s: values.number(&format!("{prefix}bytes_per_s")),
    }
}

fn solid(values: &Values) -> Option<Solid> {
    Some(Solid {
        channels: values.number("channels")? as u32,
        read: access(values, "read")?,
        write: access(values, "write")?,
    })
}

fn access(values: &Values, table: &str) -> Option<Access> {
    let path = |key: &str| format!("{table}.{key}");
    let latency = match values.get(&path("quantiles_us")) {
        _ if values.found.contains_key(path("load_us").as_str()) => load(values, table)?,
        Some(points) => Latency::Quantiles(in_seconds(points)),
        None => Latency::Lognormal {
            p50_s: values.number(&path("p50_us"))? * S_PER_US,
            p99_s: values.number(&path("p99_us"))? * S_PER_US,
        },
    };
    Some(Access {
        latency,
        bytes_per_s: values.number(&path("bytes_per_s"))?,
    })
}

fn in_seconds(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let points = points.into_iter();
    points
        .map(|(share, time_us)| (share, time_us * S_PER_US))
        .collect()
}

fn load(values: &Values, table: &str) -> Option<Latency> {
    let rows: Vec<Vec<f64>> = values.get(&format!("{table}.load_us"))?;
    let rows = rows.iter().map(|row| {
        Some(LoadRow {
            length_bytes: *row.first()?,
            depth: *row.get(1)?,
            times_s: row
                .get(2..)?
                .iter()
                .map(|time_us| time_us * S_PER_US)
                .collect(),
        })
    });
    Some(Latency::Load(LoadTimes {
        shares: values.get(&format!("{table}.load_shares"))?,
        rows: rows.collect::<Option<_>>()?,
    }))
}

fn cache(values: &Values) -> Option<WriteCache> {
    Some(WriteCache {
        size_bytes: values.number("cache.size_bytes")? as u64,
        drain_bytes_per_s: values.number("cache.drain_bytes_per_s"),
        protected: values.get("cache.protected")?,
    })
}

fn sustained(values: &Values) -> Option<Sustained> {
    Some(Sustained {
        after_bytes: values.number("sustained.after_bytes")? as u64,
        slowed: rates(values, "sustained.write_"),
        recovery_bytes_per_s: values.number("sustained.recovery_bytes_per_s")?,
    })
}

fn disk(values: &Values) -> Option<Disk> {
    let ms = |key: &str| Some(values.number(&format!("disk.{key}"))? * S_PER_MS);
    let zones: Vec<(f64, f64)> = values.get("disk.zones")?;
    Some(Disk {
        rpm: values.number("disk.rpm")?,
        seek_track_s: ms("seek_track_ms")?,
        seek_average_s: ms("seek_average_ms")?,
        seek_full_s: ms("seek_full_ms")?,
        write_settle_s: ms("write_settle_ms")?,
        overhead_s: values.number("disk.overhead_us")? * S_PER_US,
        queue_depth: values.number("disk.queue_depth")? as u32,
        read_ahead_bytes: values.number("disk.read_ahead_bytes")? as u64,
        zones: zones
            .into_iter()
            .map(|(capacity_share, bytes_per_s)| Zone {
                capacity_share,
                bytes_per_s,
            })
            .collect(),
    })
}
