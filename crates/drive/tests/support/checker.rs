//! Is it a disk? Lanes write patterns that tell what they are, flush, discard and read back; after a power
//! cut every unit must hold what the last flush promised, or something written there since.
//!
//! A unit of 512 bytes tells its place and its generation, and every byte follows from both: a unit
//! that was misplaced, mixed or never written is seen.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use stithy_drive::random::Rng;

use super::{discard, open_direct, Pages};

pub const UNIT_BYTES: usize = 512;
const SECTOR_BYTES: usize = 4096;
const UNITS_PER_SECTOR: usize = SECTOR_BYTES / UNIT_BYTES;
/// The longest request of a lane.
const SECTORS_MAX: u64 = 64;

/// What may be in one unit. Generation 0 is zeros.
#[derive(Clone, Default)]
struct Unit {
    /// What a flush promised.
    promised: u64,
    /// What was written since, oldest first.
    since: Vec<u64>,
}

impl Unit {
    fn newest(&self) -> u64 {
        self.since.last().copied().unwrap_or(self.promised)
    }
}

/// One thread's own part of the drive.
pub struct Lane {
    number: u64,
    start_bytes: u64,
    units: Vec<Unit>,
    generation: u64,
    rng: Rng,
}

/// What a check found wrong.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Findings {
    /// Units that hold something older than a flush promised.
    pub lost: u64,
    /// Units that hold what was never written there.
    pub foreign: u64,
}

impl Lane {
    /// The lane `number` of a drive of zeros, `size_bytes` long.
    pub fn new(number: u64, size_bytes: u64, seed: u64) -> Self {
        Lane {
            number,
            start_bytes: number * size_bytes,
            units: vec![Unit::default(); size_bytes as usize / UNIT_BYTES],
            generation: 0,
            rng: Rng::new(seed, 1000 + number),
        }
    }

    /// Writes, discards, flushes and reads back until an error, which it gives; what it reads back while the
    /// drive works must be the newest.
    pub fn load(&mut self, device: &str) -> io::Error {
        let file = open_direct(device);
        loop {
            if let Err(error) = self.step(&file) {
                return error;
            }
        }
    }

    /// Makes `count` requests, none of which may fail.
    pub fn load_steps(&mut self, device: &str, count: u64) {
        let file = open_direct(device);
        for _ in 0..count {
            self.step(&file).expect("the drive works");
        }
    }

    fn step(&mut self, file: &File) -> io::Result<()> {
        let sectors = (self.units.len() / UNITS_PER_SECTOR) as u64;
        let first = self.rng.below(sectors);
        // Most requests of a database are short.
        let longest = if self.rng.chance(0.8) { 4 } else { SECTORS_MAX };
        let count = (1 + self.rng.below(longest)).min(sectors - first);
        match self.rng.below(100) {
            0..=9 => self.flush(file),
            10..=14 => self.discard(file, first, count),
            15..=34 => self.read_back(file, first, count),
            _ => self.write(file, first, count),
        }
    }

    fn units_of(&mut self, first: u64, count: u64) -> &mut [Unit] {
        let start = first as usize * UNITS_PER_SECTOR;
        &mut self.units[start..start + count as usize * UNITS_PER_SECTOR]
    }

    fn write(&mut self, file: &File, first: u64, count: u64) -> io::Result<()> {
        self.generation += 1;
        let (number, generation) = (self.number, self.generation);
        let mut pages = Pages::patterned(count as usize, 0);
        let first_unit = first * UNITS_PER_SECTOR as u64;
        for (index, unit) in pages.bytes_mut().chunks_mut(UNIT_BYTES).enumerate() {
            fill(unit, number, first_unit + index as u64, generation);
        }
        // Before the call: a write that fails may have reached the drive.
        for unit in self.units_of(first, count) {
            unit.since.push(generation);
        }
        file.write_all_at(
            pages.bytes(),
            self.start_bytes + first * SECTOR_BYTES as u64,
        )
    }

    fn discard(&mut self, file: &File, first: u64, count: u64) -> io::Result<()> {
        let start_bytes = self.start_bytes + first * SECTOR_BYTES as u64;
        for unit in self.units_of(first, count) {
            unit.since.push(0);
        }
        discard(file, start_bytes, count * SECTOR_BYTES as u64)
    }

    fn flush(&mut self, file: &File) -> io::Result<()> {
        file.sync_data()?;
        for unit in &mut self.units {
            unit.promised = unit.newest();
            unit.since.clear();
        }
        Ok(())
    }

    fn read_back(&mut self, file: &File, first: u64, count: u64) -> io::Result<()> {
        let mut pages = Pages::patterned(count as usize, 0);
        let start_bytes = self.start_bytes + first * SECTOR_BYTES as u64;
        file.read_exact_at(pages.bytes_mut(), start_bytes)?;
        let number = self.number;
        let first_unit = first * UNITS_PER_SECTOR as u64;
        for (index, (unit, bytes)) in self
            .units_of(first, count)
            .iter()
            .zip(pages.bytes().chunks(UNIT_BYTES))
            .enumerate()
        {
            let place = first_unit + index as u64;
            let seen = generation_of(bytes, number, place);
            assert_eq!(Some(unit.newest()), seen, "lane {number}, unit {place}");
        }
        Ok(())
    }

    /// After a power cut: compares what `source` holds, and takes it for promised from now on.
    pub fn verify_after_cut(&mut self, source: &File) -> io::Result<Findings> {
        let mut findings = Findings::default();
        let content = self.content(source)?;
        let number = self.number;
        for (place, (unit, bytes)) in self
            .units
            .iter_mut()
            .zip(content.bytes().chunks(UNIT_BYTES))
            .enumerate()
        {
            match generation_of(bytes, number, place as u64) {
                Some(seen) if seen == unit.promised || unit.since.contains(&seen) => {
                    unit.promised = seen;
                }
                // Whole and in its place, so it was written here once, before the promise.
                Some(seen) => {
                    findings.lost += 1;
                    unit.promised = seen;
                }
                None => findings.foreign += 1,
            }
            unit.since.clear();
        }
        Ok(findings)
    }

    /// Counts the units of which `source` does not hold the newest.
    pub fn count_stale(&self, source: &File) -> io::Result<usize> {
        let content = self.content(source)?;
        let pairs = self.units.iter().zip(content.bytes().chunks(UNIT_BYTES));
        let stale = pairs.enumerate().filter(|(place, (unit, bytes))| {
            generation_of(bytes, self.number, *place as u64) != Some(unit.newest())
        });
        Ok(stale.count())
    }

    fn content(&self, source: &File) -> io::Result<Pages> {
        let mut pages = Pages::patterned(self.units.len() / UNITS_PER_SECTOR, 0);
        let (start_bytes, mut done) = (self.start_bytes, 0);
        for chunk in pages.bytes_mut().chunks_mut(1 << 20) {
            source.read_exact_at(chunk, start_bytes + done)?;
            done += chunk.len() as u64;
        }
        Ok(pages)
    }
}

/// Opens an image past the drive.
pub fn open_image(path: &Path) -> File {
    open_direct(&path.display().to_string())
}

fn fill(unit: &mut [u8], lane: u64, place: u64, generation: u64) {
    let mut rng = Rng::new(lane << 32 | place, generation);
    unit[..8].copy_from_slice(&generation.to_le_bytes());
    for eight in unit[8..].chunks_mut(8) {
        eight.copy_from_slice(&rng.bits().to_le_bytes());
    }
}

/// What a unit is, if it is whole and in its place.
fn generation_of(bytes: &[u8], lane: u64, place: u64) -> Option<u64> {
    let generation = u64::from_le_bytes(bytes[..8].try_into().ok()?);
    let mut expected = [0; UNIT_BYTES];
    if generation != 0 {
        fill(&mut expected, lane, place, generation);
    }
    (expected[..] == *bytes).then_some(generation)
}
