//! What a drive holds, with the semantics of a disk: a write is volatile until flushed, reads see the
//! newest write, what a flush promised survives a power cut.

use std::collections::BTreeSet;
use std::io;

use stithy_measure::Rng;
use stithy_wire::{CutCounts, CutRule};

use super::image::{Image, Need, Purpose};
use super::log::{Log, Mark};
use crate::request::{Operation, Request};

/// Bytes of answered writes that a drive with a protected cache may lose once it lies. Own: about what
/// the memory on such a drive holds for writes.
const UNPROTECTED_BYTES: u64 = 64 << 20;

/// A write that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Where it goes.
    pub offset_bytes: u64,
    /// What it brings.
    pub content: Box<[u8]>,
}

/// An image and its volatile writes.
pub struct Store {
    image: Box<dyn Image>,
    log: Log,
    volatile_bytes: Option<u64>,
    is_lying: bool,
}

impl Store {
    /// A store over `image`, of which everything is durable. A power cut may take so much of what was answered
    /// since, and older writes have reached the medium; None: the cache is protected, and an answered write is durable.
    pub fn new(image: Box<dyn Image>, volatile_bytes: Option<u64>) -> Self {
        Store {
            image,
            log: Log::default(),
            volatile_bytes,
            is_lying: false,
        }
    }

    /// From here on the drive lies about what is durable, or does so no more. One with a protected cache
    /// protects nothing while it lies; when it ends, what it holds is protected.
    pub fn lie(&mut self, is_lying: bool) {
        self.is_lying = is_lying;
        if self.volatile_limit_bytes().is_none() {
            self.log.settle(self.log.mark());
        }
    }

    /// Bytes of answered writes that may be lost; None where none may.
    fn volatile_limit_bytes(&self) -> Option<u64> {
        let unprotected = self.is_lying.then_some(UNPROTECTED_BYTES);
        self.volatile_bytes.or(unprotected)
    }

    /// How many bytes the drive has.
    pub fn size_bytes(&self) -> u64 {
        self.image.size_bytes()
    }

    /// Bytes that a power cut may take away.
    pub fn volatile_bytes(&self) -> u64 {
        self.log.held_bytes()
    }

    /// Begins to bring to hand what a request needs, where it needs something; to be let go when it was done.
    pub fn want(&mut self, request: &Request) -> Option<Need> {
        // Of a write that may be taken back it is kept what it replaces.
        let is_kept = self.volatile_limit_bytes().is_some();
        let need = Need {
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            purpose: match request.operation {
                Operation::Flush => return None,
                Operation::Read => Purpose::Know,
                Operation::Write if is_kept => Purpose::Exchange,
                Operation::Write | Operation::Discard => Purpose::Replace,
            },
        };
        self.image.want(&need);
        Some(need)
    }

    /// What a request needed is not needed any more.
    pub fn let_go(&mut self, need: &Need) {
        self.image.let_go(need);
    }

    /// Whether a request can be done now without waiting for the image.
    pub fn is_at_hand(&self, request: &Request, need: Option<&Need>) -> bool {
        let changes = matches!(request.operation, Operation::Write | Operation::Discard);
        (!changes || self.image.has_room()) && need.is_none_or(|need| self.image.is_at_hand(need))
    }

    /// Takes what the image has done meanwhile; true when a request may be at hand that was not before.
    ///
    /// Errors: what was answered cannot be kept.
    pub fn collect(&mut self) -> io::Result<bool> {
        let has_news = self.image.collect()?;
        self.complete_log();
        Ok(has_news)
    }

    fn complete_log(&mut self) {
        while let Some(former) = self.image.former() {
            self.log.complete(&former);
        }
    }

    /// Whether [`Store::collect`] would give true, as far as is known without asking.
    pub fn has_news(&self) -> bool {
        self.image.has_news()
    }

    /// Has the image keep what was changed; `is_awaited` says whether requests wait for it.
    pub fn hand_on(&mut self, is_awaited: bool) {
        self.image.hand_on(is_awaited);
    }

    /// Waits until the image has kept everything.
    pub fn finish(&mut self) -> io::Result<()> {
        self.image.finish()
    }

    /// The newest content of a range, valid until the next call.
    pub fn read(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<&[u8]> {
        self.image.view(offset_bytes, length_bytes)
    }

    /// Makes a write visible; called at the moment it is answered.
    pub fn write(&mut self, write: Write) -> io::Result<()> {
        let Some(limit_bytes) = self.volatile_limit_bytes() else {
            return self.image.write(write.offset_bytes, &write.content);
        };
        self.log
            .write(&mut *self.image, write.offset_bytes, write.content)?;
        self.log.settle_above(limit_bytes);
        Ok(())
    }

    /// The same with what lies elsewhere; it is copied only where it may be needed again.
    pub fn write_copied(&mut self, offset_bytes: u64, content: &[u8]) -> io::Result<()> {
        match self.volatile_limit_bytes() {
            None => self.image.write(offset_bytes, content),
            Some(_) => self.write(Write {
                offset_bytes,
                content: Box::from(content),
            }),
        }
    }

    /// Makes a range zero. The zeros are durable at once, but where a volatile write came before them: a
    /// power cut that takes this write back takes the zeros back with it. A flush covers both.
    pub fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.image.clear(offset_bytes, length_bytes)
    }

    /// What a flush that arrives now covers.
    pub fn mark(&self) -> Mark {
        self.log.mark()
    }

    /// Keeps the promise of a flush; called at the moment it is answered.
    pub fn settle(&mut self, mark: Mark) {
        self.log.settle(mark);
    }

    /// Cuts the power. `under_way` are writes that were received and not answered, in the order of their
    /// arrival; they may have reached the medium as well. From then on the image is as the cut left it, also for who
    /// looks past the drive.
    pub fn cut(&mut self, under_way: Vec<Write>, rule: &CutRule) -> io::Result<CutCounts> {
        for write in under_way {
            self.log
                .write(&mut *self.image, write.offset_bytes, write.content)?;
        }
        self.image.settle_formers()?;
        self.complete_log();
        let report = self.log.cut(&mut *self.image, rule)?;
        self.image.finish()?;
        Ok(report)
    }

    /// Flips `bits` different bits of a range, chosen by a seed; the drive does not know of it. The range must
    /// have as many.
    pub fn corrupt(
        &mut self,
        offset_bytes: u64,
        length_bytes: u64,
        bits: u64,
        seed: u64,
    ) -> io::Result<()> {
        let mut rng = Rng::new(seed, 0);
        let mut chosen = BTreeSet::new();
        while (chosen.len() as u64) < bits.min(length_bytes.saturating_mul(8)) {
            chosen.insert((rng.below(length_bytes), rng.below(8)));
        }
        for (place, bit) in chosen {
            let at = offset_bytes + place;
            let byte = self.image.view(at, 1)?[0];
            self.image.write(at, &[byte ^ (1 << bit)])?;
        }
        self.image.hand_on(false);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
