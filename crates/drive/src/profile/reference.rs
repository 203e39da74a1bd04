//! The reference page of drive profiles, from the declaration of the keys and the catalogue.

use std::fmt::Write;

use super::keys::KEYS;
use super::{Medium, Profile, Rates, CATALOGUE};

const HEAD: &str = "\
# Drive profiles

Written from `crates/drive/src/profile/keys.rs` and `crates/drive/profiles/`; do not edit.

A drive profile is a TOML file that describes a drive: its service times, queues, caches and caps. Unknown keys are refused.
Every number names its source, or is marked as assumed.

## Keys

| key | value | unit | required | meaning |
| --- | --- | --- | --- | --- |
";

const SOURCES: &str = "
In addition, each `[[provenance.source]]` has a `text` (the document or the measurement) and `keys` (the keys or tables whose
numbers it gives).

## How a drive answers

- **Channels.** A drive without moving parts serves as many requests at once as it has channels. Other requests wait in the
  order of their arrival. A request takes a random time from its distribution. For each byte beyond the first 4 KiB it also
  takes the time that its bandwidth gives.
- **Times under load** (`load_us`) contain the waits. Such requests do not queue for channels. Caps and a full cache delay
  them during that time, not before it. The queue depth is the number of reads and writes that clients have outstanding, as
  fio counts it. Between measured sizes and depths the time is interpolated geometrically. Beyond the largest depth it grows
  with the depth; beyond the largest size it follows from the bandwidth.
- **Caps** are paced evenly: after an idle time two requests may begin together, never more.
- **Write cache.** A write is answered when the write cache has it, and waits while the cache is full. A flush waits for the
  content of an unprotected cache. Without a write cache a write is answered when the medium has it.
- **Sustained writing** uses up a reserve. Without a reserve the slower rates apply. The reserve recovers while nothing is
  written.
- **A spinning disk has one arm.** It takes the waiting request that it can finish first, and after four queue lengths the
  oldest. Sequential reads come from the read-ahead. Without a cache, late writes lose a rotation.
- **Size.** A drive may be smaller than its profile's capacity. A spinning disk then uses only its outermost tracks, where seeks are
  short and the bandwidth is highest. A profile with a smaller capacity spreads the drive over all tracks.
- **`scale`** divides capacity, IOPS, bandwidth, the size of the cache, and the amount that can be written before the drive slows
  down. It keeps latencies. A spinning disk cannot be scaled: its rates follow from its latencies.

## Shipped profiles

Rates are caps. A dash means that only the service times limit the drive. The last column lists the assumed keys. The files
name the source of every other number.

| name | drive | capacity | IOPS: read, write, both | MB/s: read, write, both | assumed |
| --- | --- | --- | --- | --- | --- |
";

/// The page.
pub fn reference() -> String {
    let mut page = HEAD.to_string();
    for key in KEYS {
        let (kind, need) = (key.kind.allowed(), key.need.told());
        // Writing to a string does not fail.
        let _ = writeln!(
            page,
            "| `{}` | {kind} | {} | {need} | {} |",
            key.path, key.unit, key.meaning
        );
    }
    page.push_str(SOURCES);
    for shipped in CATALOGUE {
        if let Ok(profile) = Profile::check(shipped.text) {
            page.push_str(&row(&profile));
        }
    }
    page
}

fn row(profile: &Profile) -> String {
    let kind = match profile.medium {
        Medium::Solid(_) => "",
        Medium::Disk(_) => "; it spins",
    };
    let mb = |rates: Rates| rates.bytes_per_s.map(|rate| rate / 1e6);
    let assumed = profile.provenance.assumed.iter();
    let assumed: Vec<String> = assumed.map(|key| format!("`{key}`")).collect();
    format!(
        "| `{}` | {}{kind} | {} GB | {} | {} | {} |\n",
        profile.name,
        profile.title,
        (profile.capacity_bytes as f64 / 1e9).round(),
        all(profile, |rates| rates.iops),
        all(profile, mb),
        assumed.join(", ")
    )
}

/// One rate of reads, of writes and of both.
fn all(profile: &Profile, rate: impl Fn(Rates) -> Option<f64>) -> String {
    let caps = [profile.caps.read, profile.caps.write, profile.caps.total];
    let told =
        caps.map(|rates| rate(rates).map_or("-".to_string(), |rate| rate.round().to_string()));
    told.join(", ")
}
