//! An image in a sparse file, past the page cache: what the drive holds is not held twice, and the
//! drive does not wait for the machine's own writeback. Nor does it wait for the file.
//!
//! Others read and write it ([`Helpers`]). What a request will need is read while the request takes its time, and what
//! requests changed is written after they were answered. In between the pages are here, and are the newest: to whoever
//! uses the image it is as one in memory, in the order of the calls.

mod changes;
mod fetches;
mod helpers;
mod job;
mod open;
mod pages;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use self::changes::Clear;
pub use self::helpers::{Hands, Helpers};
use self::job::PAGES_MAX;
pub use self::job::{Buffer, Job, Task, BLOCK_BYTES};
use self::pages::{pieces, touched, Content, Pages};
use super::image::{check, Former, Image, Need, Purpose};
use crate::wake::Bell;

/// As much may be changed and not written: 32 MiB. Own: a file that is slower than the drive for longer is too slow.
const UNWRITTEN_PAGES_MAX: usize = 8192;
/// As many ranges may be waiting to become zero in the file.
const CLEARS_MAX: usize = 64;

/// A file of the size of the drive, which takes the space of what was written.
pub struct FileImage {
    hands: Box<dyn Hands>,
    size_bytes: u64,
    /// The error where the file system cannot give space back.
    can_clear: Result<(), i32>,
    pages: Pages,
    /// Pages by the change that they wait to be written for, oldest first. A page that was changed otherwise since is
    /// skipped.
    changed: VecDeque<(u64, u64)>,
    clears: VecDeque<Clear>,
    changes: u64,
    /// Changes in the hands of others.
    given: usize,
    /// Something was done that nobody was told of.
    has_news: bool,
    /// Why something that was changed is not in the file; gone when it was told.
    failure: Option<io::Error>,
    is_complete: bool,
    /// What was replaced before it was known, and is known now.
    formers: VecDeque<Former>,
    /// Pages of which it is not known yet.
    owed: usize,
    done: Vec<Job>,
    spare: Vec<Buffer>,
    outgoing: Buffer,
}

/// An image that was opened.
pub struct OpenedImage {
    /// The image.
    pub image: FileImage,
    /// The numbers of the threads that serve it.
    pub threads: Vec<i32>,
    /// Whether its program was killed last time.
    pub was_left: bool,
}

impl FileImage {
    /// Opens `path`, or makes it, with `size_bytes` bytes; what it holds already stays. A file that has
    /// something and was not made here is not touched. `bell` is rung when a request need not wait any more.
    ///
    /// Errors: `InvalidInput` where the file system knows no direct I/O, or the file has another size or is
    /// no image; `WouldBlock` where another drive has it.
    pub fn open(
        path: &Path,
        size_bytes: u64,
        bell: Arc<Bell>,
        before_all: bool,
    ) -> io::Result<OpenedImage> {
        let opened = open::open(path, size_bytes)?;
        let can_clear = open::can_clear(&opened.file, size_bytes);
        let (helpers, threads) = Helpers::start(opened.file, bell, before_all)?;
        Ok(OpenedImage {
            image: FileImage::of(Box::new(helpers), size_bytes, can_clear),
            threads,
            was_left: opened.was_left,
        })
    }

    /// An image of which others have the file.
    pub fn of(hands: Box<dyn Hands>, size_bytes: u64, can_clear: Result<(), i32>) -> Self {
        FileImage {
            hands,
            size_bytes,
            can_clear,
            pages: Pages::default(),
            changed: VecDeque::new(),
            clears: VecDeque::new(),
            changes: 0,
            given: 0,
            has_news: false,
            failure: None,
            is_complete: true,
            formers: VecDeque::new(),
            owed: 0,
            done: Vec::new(),
            spare: Vec::new(),
            outgoing: Buffer::default(),
        }
    }

    /// Whether a page that is not here is zero, whatever the file has.
    fn is_cleared(&self, page: u64) -> bool {
        self.clears.iter().any(|clear| clear.pages.contains(&page))
    }

    /// The pages that a request needs to know, in at most two ranges; none where it is not inside the image.
    fn needed(&self, need: &Need) -> [Range<u64>; 2] {
        let Need {
            offset_bytes,
            length_bytes,
            purpose,
        } = *need;
        if length_bytes == 0 || check(self.size_bytes, offset_bytes, length_bytes).is_err() {
            return [0..0, 0..0];
        }
        let all = touched(offset_bytes, length_bytes);
        if purpose != Purpose::Replace {
            return [all, 0..0];
        }
        let is_part = |at: u64| !at.is_multiple_of(BLOCK_BYTES as u64);
        let (first, last) = (all.start, all.end - 1);
        let head = is_part(offset_bytes) || (first == last && is_part(length_bytes));
        let tail = last > first && is_part(offset_bytes + length_bytes);
        let one = |is_so, page| if is_so { page..page + 1 } else { 0..0 };
        [one(head, first), one(tail, last)]
    }

    fn fetch(&mut self, run: Range<u64>) {
        let buffer = self.spare.pop().unwrap_or_default();
        let job = Job::new(Task::Fetch, run.start, run.end - run.start, buffer);
        self.hands.give(job);
    }

    /// Exchanges a part of a page that is here.
    fn exchange_page(&mut self, number: u64, inside: usize, piece: &mut [u8]) {
        let page = self.pages.bring(number).content.get_or_insert_with(zeros);
        page[inside..inside + piece.len()].swap_with_slice(piece);
        self.change(number);
    }

    /// Exchanges a page that is being read, and owes what it held.
    fn exchange_unread(&mut self, number: u64, content: &[u8], owed: (u64, usize)) {
        let page = self.pages.bring(number);
        page.content = copied(content);
        page.owed = Some(owed);
        self.owed += 1;
        self.change(number);
    }

    /// Whether a page is being read, and nobody knows what it holds.
    fn is_awaited(&self, number: u64) -> bool {
        self.pages.get(number).is_some_and(pages::Page::is_awaited)
    }
}

fn zeros() -> Content {
    Box::new([0; BLOCK_BYTES])
}

/// A page's content of its bytes.
fn copied(bytes: &[u8]) -> Option<Content> {
    bytes.try_into().map(Box::new).ok()
}

impl Image for FileImage {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn view(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<&[u8]> {
        check(self.size_bytes, offset_bytes, length_bytes as u64)?;
        if length_bytes == 0 {
            return Ok(&[]);
        }
        let range = touched(offset_bytes, length_bytes as u64);
        let count = range.end - range.start;
        let before = (offset_bytes % BLOCK_BYTES as u64) as usize;
        match self.clears.is_empty() && self.pages.of(range.clone()).next().is_none() {
            true => self.read_out(range.start, count)?,
            false => self.gather(range)?,
        }
        Ok(&self.outgoing.bytes(count)[before..before + length_bytes])
    }

    fn exchange(&mut self, offset_bytes: u64, content: &mut [u8]) -> io::Result<()> {
        check(self.size_bytes, offset_bytes, content.len() as u64)?;
        self.bring(touched(offset_bytes, content.len() as u64))?;
        for (number, inside, place) in pieces(offset_bytes, content.len()) {
            self.exchange_page(number, inside, &mut content[place]);
        }
        Ok(())
    }

    fn exchange_early(
        &mut self,
        offset_bytes: u64,
        content: &mut [u8],
        name: u64,
    ) -> io::Result<()> {
        check(self.size_bytes, offset_bytes, content.len() as u64)?;
        let pages: Vec<_> = pieces(offset_bytes, content.len()).collect();
        // What is needed now, and can fail to be had, before what is not.
        let is_part = |place: &Range<usize>| place.len() < BLOCK_BYTES;
        for (number, _, _) in pages.iter().filter(|(_, _, place)| is_part(place)) {
            self.bring(*number..number + 1)?;
        }
        self.bring_away(touched(offset_bytes, content.len() as u64))?;
        for (number, inside, place) in pages {
            let (at, piece) = (place.start, &mut content[place]);
            match self.is_awaited(number) {
                true => self.exchange_unread(number, piece, (name, at)),
                false => self.exchange_page(number, inside, piece),
            }
        }
        Ok(())
    }

    fn former(&mut self) -> Option<Former> {
        self.formers.pop_front()
    }

    fn settle_formers(&mut self) -> io::Result<()> {
        while self.owed > 0 {
            self.hands.wait();
            self.take_done();
        }
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    fn write(&mut self, offset_bytes: u64, content: &[u8]) -> io::Result<()> {
        check(self.size_bytes, offset_bytes, content.len() as u64)?;
        for (number, inside, place) in pieces(offset_bytes, content.len()) {
            let piece = &content[place];
            if piece.len() < BLOCK_BYTES {
                self.bring(number..number + 1)?;
            }
            let page = self.pages.bring(number).content.get_or_insert_with(zeros);
            page[inside..inside + piece.len()].copy_from_slice(piece);
            self.change(number);
        }
        Ok(())
    }

    fn clear(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        check(self.size_bytes, offset_bytes, length_bytes)?;
        self.can_clear.map_err(io::Error::from_raw_os_error)?;
        const BYTES: u64 = BLOCK_BYTES as u64;
        let end = offset_bytes + length_bytes;
        let whole = offset_bytes.div_ceil(BYTES)..end / BYTES;
        if whole.start >= whole.end {
            return self.write(offset_bytes, &vec![0; length_bytes as usize]);
        }
        let (head, tail) = (whole.start * BYTES, whole.end * BYTES);
        self.write(offset_bytes, &vec![0; (head - offset_bytes) as usize])?;
        self.write(tail, &vec![0; (end - tail) as usize])?;
        self.clear_pages(whole);
        Ok(())
    }

    fn want(&mut self, need: &Need) {
        for range in self.needed(need) {
            let mut run = range.start..range.start;
            for number in range {
                let is_cleared = self.is_cleared(number);
                let page = self.pages.bring(number);
                page.wanted += 1;
                if page.content.is_none() && is_cleared {
                    page.content = Some(zeros());
                }
                if page.content.is_some() || page.is_fetched {
                    continue;
                }
                page.is_fetched = true;
                if run.end != number || run.end - run.start == PAGES_MAX {
                    let full = std::mem::replace(&mut run, number..number);
                    if !full.is_empty() {
                        self.fetch(full);
                    }
                }
                run.end = number + 1;
            }
            if !run.is_empty() {
                self.fetch(run);
            }
        }
    }

    fn let_go(&mut self, need: &Need) {
        for range in self.needed(need) {
            self.pages
                .of_mut(range.clone())
                .for_each(|page| page.wanted -= 1);
            self.pages.tidy(range);
        }
    }

    fn is_at_hand(&self, need: &Need) -> bool {
        // What it held is told later.
        let purpose = match need.purpose {
            Purpose::Know => Purpose::Know,
            Purpose::Replace | Purpose::Exchange => Purpose::Replace,
        };
        let need = &Need { purpose, ..*need };
        let mut pages = self
            .needed(need)
            .into_iter()
            .flat_map(|range| self.pages.of(range));
        !pages.any(pages::Page::is_awaited)
    }

    fn has_room(&self) -> bool {
        self.changed.len() < UNWRITTEN_PAGES_MAX && self.clears.len() < CLEARS_MAX
    }

    fn collect(&mut self) -> io::Result<bool> {
        self.take_done();
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(std::mem::take(&mut self.has_news)),
        }
    }

    fn has_news(&self) -> bool {
        self.has_news
    }

    fn hand_on(&mut self, is_awaited: bool) {
        while self.give_oldest() {}
        let is_left = !self.changed.is_empty() || !self.clears.is_empty();
        self.hands.call(is_awaited || is_left);
    }

    fn finish(&mut self) -> io::Result<()> {
        loop {
            while self.give_oldest() {}
            if self.given == 0 && self.oldest().is_none() && self.clears.is_empty() {
                break;
            }
            self.hands.wait();
            self.take_done();
        }
        if self.is_complete {
            return Ok(());
        }
        let told = || io::Error::other("changes are missing in the file");
        Err(self.failure.take().unwrap_or_else(told))
    }
}

impl Drop for FileImage {
    fn drop(&mut self) {
        // Whoever wants to know why not calls it before.
        if self.finish().is_ok() {
            self.hands.leave();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
