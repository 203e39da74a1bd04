//! Which faults are impossible.

use std::fmt::Display;

use stithy_wire::{CutRule, DriveFault, SlowPhase};

use super::schedule;
use crate::error::DriveError;

/// More would keep the drive from serving while they flip.
const BITS_MAX: u64 = 1_000_000;

/// Refuses a fault with an impossible value.
pub(super) fn check(fault: &DriveFault) -> Result<(), DriveError> {
    match *fault {
        DriveFault::Stall { duration_s } => time("duration_s", duration_s),
        DriveFault::Slow(slow) => {
            factor(slow.factor)?;
            time("added_s", slow.added_s)?;
            share("share", slow.share)
        }
        DriveFault::Schedule { ref schedule } => {
            schedule::phases(schedule)?.iter().try_for_each(phase)
        }
        DriveFault::Errors { share: of, .. } => share("share", of),
        DriveFault::Corrupt {
            length_bytes, bits, ..
        } => {
            require("length_bytes", length_bytes, length_bytes > 0, "at least 1")?;
            let most = BITS_MAX.min(length_bytes.saturating_mul(8));
            let allowed = format!("1 to {most}, each in a place of its own");
            require("bits", bits, (1..=most).contains(&bits), &allowed)
        }
        DriveFault::PowerCut(CutRule {
            lost_share,
            torn_share,
            unit_bytes,
            ..
        }) => {
            share("lost_share", lost_share)?;
            share("torn_share", torn_share)?;
            let together = lost_share + torn_share <= 1.0 + f64::EPSILON;
            require(
                "torn_share",
                torn_share,
                together,
                "with lost_share at most 1",
            )?;
            let possible = matches!(unit_bytes, 512 | 4096);
            require("unit_bytes", unit_bytes, possible, "512 or 4096")
        }
        _ => Ok(()),
    }
}

fn phase(phase: &SlowPhase) -> Result<(), DriveError> {
    time("duration_s", phase.duration_s)?;
    factor(phase.factor)?;
    time("added_s", phase.added_s)?;
    share("read_share", phase.read_share)?;
    share("write_share", phase.write_share)
}

fn share(key: &str, share: f64) -> Result<(), DriveError> {
    let possible = (0.0..=1.0).contains(&share);
    require(key, share, possible, "a share from 0 to 1")
}

fn time(key: &str, time_s: f64) -> Result<(), DriveError> {
    // A week: longer ones are rather `gone`, and do not overflow the clock.
    let possible = (0.0..=604_800.0).contains(&time_s);
    require(key, time_s, possible, "seconds from 0 to 604800")
}

fn factor(factor: f64) -> Result<(), DriveError> {
    let possible = (1.0..=1e6).contains(&factor);
    require("factor", factor, possible, "a number from 1 to 1000000")
}

fn require(
    key: &str,
    value: impl Display,
    possible: bool,
    allowed: &str,
) -> Result<(), DriveError> {
    if possible {
        return Ok(());
    }
    let problem = format!("{key} cannot be {value}");
    let remedy = format!("give {allowed}");
    Err(DriveError::usage("fault-invalid", problem, key, remedy))
}
