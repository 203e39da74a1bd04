//! Is it a disk? Lanes write patterns that tell what they are, flush, discard and read back while
//! wanderers read what all of them write; after a power cut every unit must hold what the last flush
//! promised, or something that was written there since.
//!
//! [`pattern`] says what is in a unit, [`disk`] what is checked, [`flawed`] holds disks with planted faults
//! that prove that each kind of fault is found, [`bench`] a real drive under load.

pub mod bench;
pub mod disk;
pub mod flawed;
pub mod lane;
pub mod pattern;
pub mod shared;
pub mod wanderer;

/// What a check found wrong, in units of 512 bytes. All zero: nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Findings {
    /// They hold something older than a flush promised, or than the newest write where no power was cut.
    pub lost: u64,
    /// They hold what nobody ever wrote there: misplaced, mixed or made up.
    pub foreign: u64,
    /// They hold a write that began when the power was off.
    pub late: u64,
    /// They tear a sector that the drive says it never tears.
    pub ragged: u64,
}

impl Findings {
    /// Both together.
    pub fn and(self, other: Findings) -> Findings {
        Findings {
            lost: self.lost + other.lost,
            foreign: self.foreign + other.foreign,
            late: self.late + other.late,
            ragged: self.ragged + other.ragged,
        }
    }
}

/// What was done, so that nobody takes a check that did nothing for a proof.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub discards: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl Work {
    /// Both together.
    pub fn and(self, other: Work) -> Work {
        Work {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            flushes: self.flushes + other.flushes,
            discards: self.discards + other.discards,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
        }
    }
}
