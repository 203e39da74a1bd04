//! What threads know of each other: for each unit of a lane the newest step that began and the newest that
//! was answered; and which flushes are done, for a flush covers the writes of every lane.

use std::sync::atomic::{AtomicU64, Ordering};

/// A generation, and whether it is a discard's: then the unit holds zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub generation: u64,
    pub is_discard: bool,
}

impl Step {
    /// A unit of zeros that nobody has touched.
    pub const NONE: Step = Step {
        generation: 0,
        is_discard: true,
    };

    /// What the unit shows after it.
    pub fn shows(self) -> u64 {
        if self.is_discard {
            0
        } else {
            self.generation
        }
    }

    fn packed(self) -> u64 {
        self.generation << 1 | u64::from(self.is_discard)
    }

    fn unpacked(packed: u64) -> Self {
        Step {
            generation: packed >> 1,
            is_discard: packed & 1 == 1,
        }
    }
}

/// The steps of the units of one lane.
pub struct Shared {
    begun: Vec<AtomicU64>,
    answered: Vec<AtomicU64>,
}

impl Shared {
    pub fn new(units: usize) -> Self {
        let untouched = || {
            let zeros = || AtomicU64::new(Step::NONE.packed());
            std::iter::repeat_with(zeros).take(units).collect()
        };
        Shared {
            begun: untouched(),
            answered: untouched(),
        }
    }

    pub fn units(&self) -> usize {
        self.begun.len()
    }

    pub fn begin(&self, first: usize, count: usize, step: Step) {
        Self::set(&self.begun[first..first + count], step);
    }

    pub fn answer(&self, first: usize, count: usize, step: Step) {
        Self::set(&self.answered[first..first + count], step);
    }

    fn set(units: &[AtomicU64], step: Step) {
        for unit in units {
            unit.store(step.packed(), Ordering::SeqCst);
        }
    }

    pub fn begun(&self, unit: usize) -> Step {
        Step::unpacked(self.begun[unit].load(Ordering::SeqCst))
    }

    pub fn answered(&self, unit: usize) -> Step {
        Step::unpacked(self.answered[unit].load(Ordering::SeqCst))
    }
}

/// The flushes of a disk, numbered from 1 as they begin.
#[derive(Default)]
pub struct Flushes {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Flushes {
    /// The number of a flush that begins now.
    pub fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn finish(&self, number: u64) {
        self.done.fetch_max(number, Ordering::SeqCst);
    }

    /// The first flush that will cover what is answered now.
    pub fn next(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) + 1
    }

    /// The last that is known to be done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }
}
