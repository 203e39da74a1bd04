//! One thread's own part of a disk: what it wrote there, what was promised, and what may be seen.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use stithy_measure::Rng;

use super::disk::Disk;
use super::pattern::{fill, generation_of, UNIT_BYTES};
use super::shared::{Flushes, Shared, Step};
use super::{Findings, Work};
use crate::support::Pages;

/// The longest request.
const BYTES_MAX: usize = 1 << 20;
/// Where half of the requests begin.
const HOT_SECTORS: u64 = 16;

/// What one step left in a unit.
#[derive(Clone, Copy)]
struct Written {
    shows: u64,
    /// The first flush that covers it; none before it is answered.
    covered_by: Option<u64>,
}

/// What may be in one unit. Generation 0 is zeros.
#[derive(Clone, Default)]
struct Unit {
    /// What a flush promised.
    promised: u64,
    /// What was written since, oldest first.
    since: Vec<Written>,
    /// The newest generation that was ever meant for it, discards included.
    begun: u64,
}

impl Unit {
    fn newest(&self) -> u64 {
        self.since.last().map_or(self.promised, |last| last.shows)
    }

    /// Whether a cut may leave this, when the flushes up to `done` were.
    fn may_show(&self, seen: u64, done: u64) -> bool {
        let is_covered = |each: &Written| each.covered_by.is_some_and(|number| number <= done);
        match self.since.iter().rposition(is_covered) {
            None => seen == self.promised || self.since.iter().any(|each| each.shows == seen),
            Some(last) => self.since[last..].iter().any(|each| each.shows == seen),
        }
    }
}

/// What the lanes of a disk have in common.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub lane_bytes: u64,
    pub sector_bytes: usize,
    /// Of the requests; seldom, and much is volatile at a cut.
    pub flush_share: f64,
    pub seed: u64,
}

/// One thread's own part of a disk.
pub struct Lane {
    number: u64,
    start_bytes: u64,
    sector_bytes: usize,
    units: Vec<Unit>,
    generation: u64,
    rng: Rng,
    shared: Arc<Shared>,
    flushes: Arc<Flushes>,
    flush_share: f64,
    buffer: Pages,
    findings: Findings,
    work: Work,
}

/// A range of whole sectors of a lane.
#[derive(Clone, Copy)]
struct Range {
    first_unit: usize,
    units: usize,
}

impl Range {
    fn bytes(self) -> usize {
        self.units * UNIT_BYTES
    }

    fn units(self) -> std::ops::Range<usize> {
        self.first_unit..self.first_unit + self.units
    }
}

impl Lane {
    /// The lane `number` of a disk of zeros.
    pub fn new(number: u64, plan: Plan, flushes: Arc<Flushes>) -> Self {
        let units = plan.lane_bytes as usize / UNIT_BYTES;
        Lane {
            number,
            start_bytes: number * plan.lane_bytes,
            sector_bytes: plan.sector_bytes,
            units: vec![Unit::default(); units],
            generation: 0,
            rng: Rng::new(plan.seed, 1000 + number),
            shared: Arc::new(Shared::new(units)),
            flushes,
            flush_share: plan.flush_share,
            buffer: Pages::patterned(BYTES_MAX / 4096, 0),
            findings: Findings::default(),
            work: Work::default(),
        }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn start_bytes(&self) -> u64 {
        self.start_bytes
    }

    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// What was wrong while it worked, and what it did, since this was asked last.
    pub fn take_account(&mut self) -> (Findings, Work) {
        (
            std::mem::take(&mut self.findings),
            std::mem::take(&mut self.work),
        )
    }

    /// Works until an I/O error, or until `stop`; gives the error.
    pub fn load(&mut self, disk: &dyn Disk, stop: &AtomicBool) -> Option<io::Error> {
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = self.step(disk) {
                return Some(error);
            }
        }
        None
    }

    /// One request, of a kind and a size that the lane's seed decides.
    pub fn step(&mut self, disk: &dyn Disk) -> io::Result<()> {
        let range = self.range();
        if self.rng.chance(self.flush_share) {
            return self.flush(disk);
        }
        match self.rng.below(100) {
            0..=4 => self.discard(disk, range),
            5..=24 => self.read_back(disk, range),
            _ => self.write(disk, range),
        }
    }

    /// Most requests of a database are short, a few are as long as requests can be; half begin in a small
    /// part, so that volatile writes lie upon each other.
    fn range(&mut self) -> Range {
        let longest_bytes = match self.rng.below(20) {
            0..=8 => self.sector_bytes,
            9..=14 => 16 << 10,
            15..=18 => 64 << 10,
            _ => BYTES_MAX,
        };
        let sectors = (self.units.len() * UNIT_BYTES / self.sector_bytes) as u64;
        let hot = if self.rng.chance(0.5) {
            HOT_SECTORS
        } else {
            sectors
        };
        let first = self.rng.below(hot);
        let longest = (longest_bytes / self.sector_bytes) as u64;
        let count = (1 + self.rng.below(longest)).min(sectors - first);
        let units_a_sector = self.sector_bytes / UNIT_BYTES;
        Range {
            first_unit: first as usize * units_a_sector,
            units: count as usize * units_a_sector,
        }
    }

    fn offset_bytes(&self, range: Range) -> u64 {
        self.start_bytes + (range.first_unit * UNIT_BYTES) as u64
    }

    fn next_step(&mut self, is_discard: bool) -> Step {
        self.generation += 1;
        Step {
            generation: self.generation,
            is_discard,
        }
    }

    /// Notes what may be in a range from now on. Before the request: one that fails may have reached the
    /// disk.
    fn begin(&mut self, range: Range, step: Step) {
        self.shared.begin(range.first_unit, range.units, step);
        for unit in &mut self.units[range.units()] {
            unit.since.push(Written {
                shows: step.shows(),
                covered_by: None,
            });
            unit.begun = step.generation;
        }
    }

    fn answered(&mut self, range: Range, step: Step) {
        self.shared.answer(range.first_unit, range.units, step);
        let covered_by = Some(self.flushes.next());
        for unit in &mut self.units[range.units()] {
            if let Some(last) = unit.since.last_mut() {
                last.covered_by = covered_by;
            }
        }
    }

    fn pattern(&mut self, range: Range, step: Step) {
        let bytes = &mut self.buffer.bytes_mut()[..range.bytes()];
        for (place, unit) in range.units().zip(bytes.chunks_exact_mut(UNIT_BYTES)) {
            fill(unit, self.number, place as u64, step.generation);
        }
    }

    fn write(&mut self, disk: &dyn Disk, range: Range) -> io::Result<()> {
        let step = self.next_step(false);
        self.pattern(range, step);
        self.begin(range, step);
        let content = &self.buffer.bytes()[..range.bytes()];
        disk.write(self.offset_bytes(range), content)?;
        self.answered(range, step);
        self.work.writes += 1;
        self.work.written_bytes += range.bytes() as u64;
        Ok(())
    }

    /// Writes what must not be found later: the power is off.
    pub fn write_into_the_dark(&mut self, disk: &dyn Disk) -> io::Result<()> {
        let range = self.range();
        let step = self.next_step(false);
        self.pattern(range, step);
        disk.write(
            self.offset_bytes(range),
            &self.buffer.bytes()[..range.bytes()],
        )
    }

    fn discard(&mut self, disk: &dyn Disk, range: Range) -> io::Result<()> {
        let step = self.next_step(true);
        self.begin(range, step);
        disk.discard(self.offset_bytes(range), range.bytes() as u64)?;
        self.answered(range, step);
        self.work.discards += 1;
        Ok(())
    }

    fn flush(&mut self, disk: &dyn Disk) -> io::Result<()> {
        let number = self.flushes.begin();
        disk.flush()?;
        self.flushes.finish(number);
        for unit in &mut self.units {
            unit.promised = unit.newest();
            unit.since.clear();
        }
        self.work.flushes += 1;
        Ok(())
    }

    /// Nothing of this lane is under way, so only the newest is right.
    fn read_back(&mut self, disk: &dyn Disk, range: Range) -> io::Result<()> {
        let offset = self.offset_bytes(range);
        let content = &mut self.buffer.bytes_mut()[..range.bytes()];
        disk.read(offset, content)?;
        self.work.reads += 1;
        self.work.read_bytes += range.bytes() as u64;
        let found = self.compare(range, &self.buffer.bytes()[..range.bytes()]);
        self.findings = self.findings.and(found);
        Ok(())
    }

    fn compare(&self, range: Range, content: &[u8]) -> Findings {
        let mut findings = Findings::default();
        for (place, bytes) in range.units().zip(content.chunks_exact(UNIT_BYTES)) {
            match generation_of(bytes, self.number, place as u64) {
                Some(seen) if seen == self.units[place].newest() => {}
                Some(_) => findings.lost += 1,
                None => findings.foreign += 1,
            }
        }
        findings
    }

    /// What in `disk` is not the newest; nothing of this lane may be under way.
    pub fn verify(&self, disk: &dyn Disk) -> io::Result<Findings> {
        let whole = Range {
            first_unit: 0,
            units: self.units.len(),
        };
        let content = self.content(disk)?;
        Ok(self.compare(whole, content.bytes()))
    }

    /// After a power cut: what in `disk` may not be there. What is seen counts as promised from now on.
    ///
    /// `whole_bytes` is what the drive never tears, 512 or 4096.
    pub fn verify_after_cut(
        &mut self,
        disk: &dyn Disk,
        whole_bytes: usize,
    ) -> io::Result<Findings> {
        let content = self.content(disk)?;
        let mut findings = Findings::default();
        let mut generations = Vec::with_capacity(self.units.len());
        for (place, bytes) in content.bytes().chunks_exact(UNIT_BYTES).enumerate() {
            let seen = generation_of(bytes, self.number, place as u64);
            self.settle(place, seen, &mut findings);
            generations.push(seen);
        }
        // Only where every write is of whole sectors can a sector that is not whole be blamed on the cut.
        if self.sector_bytes >= whole_bytes {
            let ragged = |sector: &&[Option<u64>]| sector.iter().any(|unit| *unit != sector[0]);
            let sectors = generations.chunks(whole_bytes / UNIT_BYTES);
            findings.ragged += sectors.filter(ragged).count() as u64;
        }
        Ok(findings)
    }

    fn settle(&mut self, place: usize, seen: Option<u64>, findings: &mut Findings) {
        let unit = &mut self.units[place];
        match seen {
            Some(seen) if unit.may_show(seen, self.flushes.done()) => {}
            // Whole and in its place, so it was written here once: after the cut, or before the promise.
            Some(seen) if seen > unit.begun => findings.late += 1,
            Some(_) => findings.lost += 1,
            None => findings.foreign += 1,
        }
        unit.promised = seen.unwrap_or(0);
        unit.since.clear();
        let step = Step {
            generation: unit.promised,
            is_discard: unit.promised == 0,
        };
        self.shared.begin(place, 1, step);
        self.shared.answer(place, 1, step);
    }

    fn content(&self, disk: &dyn Disk) -> io::Result<Pages> {
        let bytes = self.units.len() * UNIT_BYTES;
        let mut pages = Pages::patterned(bytes / 4096, 0);
        for (index, piece) in pages.bytes_mut().chunks_mut(BYTES_MAX).enumerate() {
            disk.read(self.start_bytes + (index * BYTES_MAX) as u64, piece)?;
        }
        Ok(pages)
    }
}
