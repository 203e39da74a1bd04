//! A reader of what others write at the same moment: it must never see less than what was answered before
//! it asked, nor anything that had not begun when it got its answer.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use stithy_measure::Rng;

use super::disk::Disk;
use super::lane::Lane;
use super::pattern::{generation_of, UNIT_BYTES};
use super::shared::{Shared, Step};
use super::{Findings, Work};
use crate::support::Pages;

/// The longest read.
const BYTES_MAX: u64 = 256 << 10;

/// One lane as a wanderer sees it.
pub struct LaneView {
    pub number: u64,
    pub start_bytes: u64,
    pub shared: std::sync::Arc<Shared>,
}

impl LaneView {
    pub fn of(lane: &Lane) -> Self {
        LaneView {
            number: lane.number(),
            start_bytes: lane.start_bytes(),
            shared: lane.shared(),
        }
    }
}

/// Reads here and there until `stop` or an I/O error; gives this, and what was wrong.
pub fn wander(
    disk: &dyn Disk,
    views: &[LaneView],
    sector_bytes: usize,
    seed: u64,
    stop: &AtomicBool,
) -> (Option<io::Error>, (Findings, Work)) {
    let mut rng = Rng::new(seed, 3000);
    let mut pages = Pages::patterned(BYTES_MAX as usize / 4096, 0);
    let (mut findings, mut work) = (Findings::default(), Work::default());
    while !stop.load(Ordering::Relaxed) {
        let view = &views[rng.below(views.len() as u64) as usize];
        let sectors = (view.shared.units() * UNIT_BYTES / sector_bytes) as u64;
        let first = rng.below(sectors);
        let longest = (BYTES_MAX / sector_bytes as u64).min(sectors - first);
        let length = (1 + rng.below(longest)) as usize * sector_bytes;
        let content = &mut pages.bytes_mut()[..length];
        match look(disk, view, first as usize * sector_bytes, content) {
            Ok(found) => findings = findings.and(found),
            Err(error) => return (Some(error), (findings, work)),
        }
        work.reads += 1;
        work.read_bytes += length as u64;
    }
    (None, (findings, work))
}

/// One read, judged.
fn look(
    disk: &dyn Disk,
    view: &LaneView,
    offset: usize,
    content: &mut [u8],
) -> io::Result<Findings> {
    let first = offset / UNIT_BYTES;
    let units = first..first + content.len() / UNIT_BYTES;
    let least: Vec<Step> = units
        .clone()
        .map(|unit| view.shared.answered(unit))
        .collect();
    disk.read(view.start_bytes + offset as u64, content)?;
    let mut findings = Findings::default();
    for ((unit, least), bytes) in units.zip(least).zip(content.chunks_exact(UNIT_BYTES)) {
        let most = view.shared.begun(unit);
        match generation_of(bytes, view.number, unit as u64) {
            None => findings.foreign += 1,
            Some(seen) if !fits(seen, least, most) => findings.lost += 1,
            Some(_) => {}
        }
    }
    Ok(findings)
}

/// Whether a unit may show `seen` between two steps. Zeros may be of any discard between them.
fn fits(seen: u64, least: Step, most: Step) -> bool {
    if least == most {
        return seen == least.shows();
    }
    seen == 0 || (least.generation..=most.generation).contains(&seen)
}
