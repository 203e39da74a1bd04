//! The reference page of drive profiles, from the declaration of the keys and the catalogue.

use std::fmt::Write;

use super::keys::KEYS;
use super::{Medium, Profile, Rates, CATALOGUE};

const HEAD: &str = "\
# Drive profiles

Written from `crates/drive/src/profile/keys.rs` and `crates/drive/profiles/`; do not edit. A drive
profile is a TOML file that describes a drive: its service times, queues, caches and limits. Unknown keys are refused,
and every number names its source or is marked as assumed.

## Keys

| key | value | unit | needed | meaning |
| --- | --- | --- | --- | --- |
";

const SOURCES: &str = "
Besides these, each `[[provenance.source]]` has a `text`, the document or the measurement, and `keys`,
the keys or the tables whose numbers it gives.

## How a drive answers

- A drive without moving parts serves as many requests at once as it has channels; others wait in the
  order of their arrival. A request takes a time drawn from its distribution, and for each byte beyond
  the first 4 KiB the time that its bandwidth gives.
- Times that were measured under load (`load_us`) contain the waiting: such requests do not queue for
  channels, and caps and a full cache hold them back during that time, not before it. Between measured sizes and depths
  time grows geometrically, beyond the greatest depth with the depth, beyond the greatest size as its bandwidth gives.
- Caps are paced evenly: after an idle time two requests may begin together, never more.
- A write is answered when the write cache has it, and waits while the cache is full. A flush waits for
  what is in a cache that is not protected. Without a write cache a write is answered when the medium
  has it.
- Sustained writing uses up the room that is ready; while there is none the slower rates hold. The room
  becomes ready again while the drive is not written to.
- A disk has one arm. It takes the waiting request that it can finish first, and after four queue
  lengths the oldest. Reads that go on where the last ended come from what was read ahead; writes
  without a cache lose a turn when they come late.
- A drive may be smaller than its profile's capacity. A disk then uses its outermost tracks only, where
  seeks are short and the bandwidth is highest; a profile with a smaller capacity spreads the drive over
  all tracks.
- `scale` divides capacity, IOPS and bandwidth, what the cache holds and what can be written before it slows
  down, and keeps latencies. A disk cannot be scaled: its rates follow from its latencies.

## Shipped profiles

Rates are caps; a dash means that only the service times limit. The last column tells which keys are
assumptions; the files name the source of every other number.

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
