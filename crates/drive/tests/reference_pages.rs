//! The reference pages of drive profiles and of faults are what the declarations and the shipped files say.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use stithy_drive::fault::SCHEDULES;
use stithy_drive::profile::keys::{Need, KEYS};
use stithy_drive::profile::{Medium, Profile, Rates, CATALOGUE};
use stithy_wire::SlowPhase;

/// The page in the documentation is the one that follows from the keys and the shipped profiles.
#[test]
fn the_reference_page_of_profiles_is_up_to_date() {
    assert_up_to_date("drive-profiles.md", &of_profiles());
}

/// The page in the documentation is the one that follows from the shipped schedules.
#[test]
fn the_reference_page_of_faults_is_up_to_date() {
    assert_up_to_date("drive-faults.md", &of_faults());
}

fn assert_up_to_date(name: &str, page: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    if fs::read_to_string(folder.join(name)).unwrap_or_default() != page {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&made, page).expect("the folder of the tests can be written to");
        panic!(
            "docs/reference/{name} is not up to date; look at the difference, then\n\
             cp {} docs/reference/{name}",
            made.display()
        );
    }
}

const PROFILES: &str = "\
# Drive profiles

Written from `crates/drive/src/profile/keys.rs` and `crates/drive/profiles/`; do not edit.

A drive profile is a TOML file that describes a drive: its service times, queues, caches and caps. Unknown keys are refused.
Every number names its source, or is marked as assumed.

## Keys

| key | value | unit | required | meaning |
| --- | --- | --- | --- | --- |
";

const MORE_OF_PROFILES: &str = "
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
- **Power.** A drive counts its energy by the watts that `power` states: idle while no request is in progress, else those of reads
  and of other requests, by their shares of the requests in progress. One request counts as much as many. What a write cache does
  later is not counted.
- **`scale`** divides capacity, IOPS, bandwidth, power, the size of the cache, and the amount that can be written before the drive
  slows down. It keeps latencies. A spinning disk cannot be scaled: its rates follow from its latencies.

## Shipped profiles

Rates are caps. A dash means that only the service times limit the drive. The last column lists the assumed keys. The files
name the source of every other number.

| name | drive | capacity | IOPS: read, write, both | MB/s: read, write, both | assumed |
| --- | --- | --- | --- | --- | --- |
";

fn of_profiles() -> String {
    let mut page = PROFILES.to_string();
    for key in KEYS {
        let (kind, need) = (key.kind.allowed(), told_need(key.need));
        // Writing to a string does not fail.
        let _ = writeln!(
            page,
            "| `{}` | {kind} | {} | {need} | {} |",
            key.path, key.unit, key.meaning
        );
    }
    page.push_str(MORE_OF_PROFILES);
    for shipped in CATALOGUE {
        if let Ok(profile) = Profile::check(shipped.text) {
            page.push_str(&row(&profile));
        }
    }
    page
}

/// When a key must be there, in words.
fn told_need(need: Need) -> &'static str {
    match need {
        Need::Always => "yes",
        Need::InTable => "in its table",
        Need::Solid => "unless `disk` is there",
        Need::Optional => "no",
    }
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

const FAULTS: &str = "\
# Faults of a drive

Written from `crates/drive/src/fault/`; do not edit.

Set a fault on a running drive with `stithy drive fault`, or over the control socket (`wire/README.md`). Faults of different kinds add
up. A fault replaces an earlier one of its kind: on the
socket `drive-stuttering` is a schedule, and `drive-read-only` are errors. Random choices follow from the drive's seed; those of `drive-corrupting` and
`drive-power-cut` from a seed of their own, 0 unless `--seed` says otherwise.

| fault | until | what it does |
| --- | --- | --- |
| `drive-hung` | its duration is over, or `heal` or `power-on` | no request is answered |
| `drive-slow` | `heal` | a share of the requests takes a multiple of its time, plus an added time |
| `drive-stuttering` | `heal` | requests of a part of each period take an added time |
| `drive-scheduled` | its last phase is over, or `heal` | slow in phases; each phase has its shares of the reads and of the other requests; a request belongs to the phase in which it arrives |
| `drive-errors` | `heal` | a share of the requests in a range fails; flushes are of every range and count as writes, as discards do |
| `drive-read-only` | `heal` | every write, flush and discard fails |
| `drive-gone` | `heal` | every request fails, including those in progress |
| `drive-lying` | `heal` | flushes are answered at once, and make nothing durable; meanwhile a protected cache protects nothing |
| `drive-corrupting` | permanent | bits of the image flip, without an error |
| `drive-power-cut` | `power-on` | each volatile write is kept, torn or lost; every request fails, nothing reaches the image |

Answers that a fault delays do not count as late: `late_answers` counts only errors of the emulation.

## Shipped schedules

Each lasts 15 minutes. If few requests are slow, judge by the highest percentiles, not by the mean.

";

fn of_faults() -> String {
    let mut page = FAULTS.to_string();
    // Writing to a string does not fail.
    let _ = writeln!(page, "Source: {}.\n", SCHEDULES[0].told().source);
    page.push_str("| schedule | what is slow | phases |\n| --- | --- | --- |\n");
    for shipped in SCHEDULES {
        let phases: Vec<String> = shipped.phases.iter().map(told_phase).collect();
        let (name, title) = (shipped.name, shipped.title);
        let _ = writeln!(page, "| `{name}` | {title} | {} |", phases.join("; "));
    }
    page
}

/// A phase in words, such as `180 s: 0.05 s on 10 % of reads, 25 % of others`.
fn told_phase(phase: &SlowPhase) -> String {
    let duration_s = phase.duration_s;
    if phase.read_share == 0.0 && phase.write_share == 0.0 {
        return format!("{duration_s} s: nothing");
    }
    let percent = |share: f64| (share * 1e5).round() / 1e3;
    format!(
        "{duration_s} s: {} s on {} % of reads, {} % of others",
        phase.added_s,
        percent(phase.read_share),
        percent(phase.write_share)
    )
}
