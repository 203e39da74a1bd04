//! The pages of an image that are on their way between requests and its file.

use std::collections::BTreeMap;
use std::ops::Range;

use super::job::BLOCK_BYTES;

/// What a page holds.
pub type Content = Box<[u8; BLOCK_BYTES]>;

/// A page on its way. While it is here it is the newest, and what the file has does not count.
#[derive(Default)]
pub struct Page {
    /// What it holds; None where only the file knows.
    pub content: Option<Content>,
    /// It is being read from the file.
    pub is_fetched: bool,
    /// Something that it held is being written to the file.
    pub is_put: bool,
    /// Its newest change, if that has not begun to be written.
    pub change: Option<u64>,
    /// Requests under way that will need it.
    pub wanted: u32,
    /// Who wants to know what the file had, though it was replaced: the name of an exchange, and the place in its content.
    pub owed: Option<(u64, usize)>,
}

impl Page {
    /// Whether nobody knows what it holds before the file was read.
    pub fn is_awaited(&self) -> bool {
        self.is_fetched && self.content.is_none()
    }

    /// Whether what it holds may be written to the file.
    pub fn may_be_put(&self) -> bool {
        !self.is_put && self.owed.is_none()
    }

    fn is_idle(&self) -> bool {
        !self.is_fetched && !self.is_put && self.change.is_none() && self.wanted == 0
    }
}

/// Pages by number.
#[derive(Default)]
pub struct Pages(BTreeMap<u64, Page>);

impl Pages {
    /// A page, if it is on its way.
    pub fn get(&self, number: u64) -> Option<&Page> {
        self.0.get(&number)
    }

    /// The same to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Page> {
        self.0.get_mut(&number)
    }

    /// A page, which is on its way from now on.
    pub fn bring(&mut self, number: u64) -> &mut Page {
        self.0.entry(number).or_default()
    }

    /// Those of a range that are on their way.
    pub fn of(&self, range: Range<u64>) -> impl Iterator<Item = &Page> {
        self.0.range(range).map(|(_, page)| page)
    }

    /// The same to be changed.
    pub fn of_mut(&mut self, range: Range<u64>) -> impl Iterator<Item = &mut Page> {
        self.0.range_mut(range).map(|(_, page)| page)
    }

    /// Forgets those of a range that nobody needs: the file has what they hold.
    pub fn tidy(&mut self, range: Range<u64>) {
        let idle = self.0.range(range).filter(|(_, page)| page.is_idle());
        let idle: Vec<u64> = idle.map(|(number, _)| *number).collect();
        for number in idle {
            self.0.remove(&number);
        }
    }
}

/// The pages that a range of bytes touches.
pub fn touched(offset_bytes: u64, length_bytes: u64) -> Range<u64> {
    const BYTES: u64 = BLOCK_BYTES as u64;
    match length_bytes {
        0 => 0..0,
        _ => offset_bytes / BYTES..(offset_bytes + length_bytes).div_ceil(BYTES),
    }
}

/// The pieces of a range of bytes by page: the page, where in it the piece begins, and the piece's place in the range.
pub fn pieces(
    offset_bytes: u64,
    length_bytes: usize,
) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let before = (offset_bytes % BLOCK_BYTES as u64) as usize;
    touched(offset_bytes, length_bytes as u64)
        .enumerate()
        .map(move |(index, page)| {
            let begin = (index * BLOCK_BYTES).saturating_sub(before);
            let end = ((index + 1) * BLOCK_BYTES - before).min(length_bytes);
            let inside = if index == 0 { before } else { 0 };
            (page, inside, begin..end)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a range lie one after the other, each inside of its page.
    #[test]
    fn a_range_falls_into_pieces_by_page() {
        let seen: Vec<_> = pieces(3 * 4096 + 512, 2 * 4096).collect();
        let expected = vec![(3, 512, 0..3584), (4, 0, 3584..7680), (5, 0, 7680..8192)];
        assert_eq!(expected, seen);
        assert_eq!(1, pieces(4096, 512).count());
        assert_eq!(0, pieces(4096, 0).count());
    }
}
