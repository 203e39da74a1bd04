//! Which writes a power cut may still take away.
//!
//! A write is put into the image at the moment it is answered, and what it replaced is kept here, in
//! the order of the answers. So a flush is a position in this order: it covers exactly what was
//! answered before it arrived, however many writes were under way. To forget what a write replaced is
//! to make it durable; to take it back is to put that in place again.

use std::collections::VecDeque;
use std::io;

use stithy_measure::Rng;
use stithy_wire::{CutCounts, CutRule};

use super::image::{Former, Image};

/// A position in the order of answered writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

struct Entry {
    offset_bytes: u64,
    /// What the write replaced.
    content: Box<[u8]>,
}

/// The writes that are answered and not durable, oldest first.
#[derive(Default)]
pub(super) struct Log {
    entries: VecDeque<Entry>,
    /// Position of the first entry.
    first: u64,
    held_bytes: u64,
}

impl Log {
    /// Puts a write into the image and remembers what it replaced.
    pub fn write(
        &mut self,
        image: &mut dyn Image,
        offset_bytes: u64,
        mut content: Box<[u8]>,
    ) -> io::Result<()> {
        image.exchange_early(offset_bytes, &mut content, self.mark().0)?;
        self.held_bytes += content.len() as u64;
        self.entries.push_back(Entry {
            offset_bytes,
            content,
        });
        Ok(())
    }

    /// Keeps what a write replaced that was not known when it did.
    pub fn complete(&mut self, former: &Former) {
        let place = former.name.checked_sub(self.first);
        let entry = place.and_then(|place| self.entries.get_mut(place as usize));
        // One that is durable has no need of it.
        if let Some(entry) = entry {
            let end = former.at + former.content.len();
            entry.content[former.at..end].copy_from_slice(&former.content[..]);
        }
    }

    /// The position after the newest write.
    pub fn mark(&self) -> Mark {
        Mark(self.first + self.entries.len() as u64)
    }

    /// Bytes of volatile writes.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Makes every write before `mark` durable.
    pub fn settle(&mut self, mark: Mark) {
        while self.first < mark.0 && self.settle_oldest() {}
    }

    /// Makes the oldest writes durable until at most `limit_bytes` are volatile.
    pub fn settle_above(&mut self, limit_bytes: u64) {
        while self.held_bytes > limit_bytes && self.settle_oldest() {}
    }

    fn settle_oldest(&mut self) -> bool {
        let Some(entry) = self.entries.pop_front() else {
            return false;
        };
        self.held_bytes -= entry.content.len() as u64;
        self.first += 1;
        true
    }

    /// Decides about every volatile write; afterwards all that is left is durable.
    ///
    /// First every write is taken back, the newest first, which leaves the image as it is known to be
    /// durable and each entry with its own content; then what is kept is written again in the old order.
    pub fn cut(&mut self, image: &mut dyn Image, rule: &CutRule) -> io::Result<CutCounts> {
        for entry in self.entries.iter_mut().rev() {
            image.exchange(entry.offset_bytes, &mut entry.content)?;
        }
        let mut rng = Rng::new(rule.seed, 0);
        let mut report = CutCounts::default();
        for entry in &self.entries {
            write_again(image, entry, rule, &mut rng, &mut report)?;
        }
        self.settle_above(0);
        self.settle(self.mark());
        Ok(report)
    }
}

fn write_again(
    image: &mut dyn Image,
    entry: &Entry,
    rule: &CutRule,
    rng: &mut Rng,
    report: &mut CutCounts,
) -> io::Result<()> {
    let fate = rng.share();
    let torn = fate >= rule.lost_share && fate < rule.lost_share + rule.torn_share;
    let unit_bytes = rule.unit_bytes.max(1) as usize;
    let mut kept = 0;
    let mut at = entry.offset_bytes;
    for unit in entry.content.chunks(unit_bytes) {
        let keeps = if torn {
            rng.chance(0.5)
        } else {
            fate >= rule.lost_share
        };
        if keeps {
            image.write(at, unit)?;
            kept += 1;
        }
        at += unit.len() as u64;
    }
    match kept {
        0 => report.lost += 1,
        all if all == entry.content.len().div_ceil(unit_bytes) => report.kept += 1,
        _ => report.torn += 1,
    }
    Ok(())
}
