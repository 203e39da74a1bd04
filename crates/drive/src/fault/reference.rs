//! The reference page of faults, from the schedules that are shipped.

use std::fmt::Write;

use stithy_wire::SlowPhase;

use super::schedule::{SCHEDULES, SOURCE};

const HEAD: &str = "\
# Faults of a drive

Written from `crates/drive/src/fault/`; do not edit.

Set a fault on a running drive with `stithy drive fault`, or over the control socket (`wire/README.md`). Faults of different kinds add
up. A fault replaces an earlier one of its kind. Each random choice follows from the drive's seed.

| fault | until | what it does |
| --- | --- | --- |
| `stall` | its duration is over | no request is answered |
| `slow` | `none` | a share of the requests takes a multiple of its time, plus an added time |
| `schedule` | its last phase is over, or `none` | slow in phases; each phase has its shares of the reads and of the other requests; a request belongs to the phase in which it arrives |
| `errors` | `none` | a share of the requests in a range fails |
| `gone` | `none` | every request fails, including those in progress |
| `lying-flush` | `none` | flushes are answered at once, and make nothing durable; meanwhile a protected cache protects nothing |
| `corrupt` | permanent | bits of the image flip, without an error |
| `power-cut` | `power-on` | each volatile write is kept, torn or lost; every request fails, nothing reaches the image |

Answers that a fault delays do not count as late: `late_answers` counts only errors of the emulation.

## Shipped schedules

Each lasts 15 minutes. If few requests are slow, judge by the highest percentiles, not by the mean.

";

/// The page.
pub fn reference() -> String {
    let mut page = HEAD.to_string();
    // Writing to a string does not fail.
    let _ = writeln!(page, "Source: {SOURCE}.\n");
    page.push_str("| schedule | what is slow | phases |\n| --- | --- | --- |\n");
    for shipped in SCHEDULES {
        let phases: Vec<String> = shipped.phases.iter().map(told).collect();
        let (name, title) = (shipped.name, shipped.title);
        let _ = writeln!(page, "| `{name}` | {title} | {} |", phases.join("; "));
    }
    page
}

/// A phase in words, such as `180 s: 0.05 s on 10 % of reads, 25 % of others`.
fn told(phase: &SlowPhase) -> String {
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
