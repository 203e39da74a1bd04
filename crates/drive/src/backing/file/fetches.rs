//! How what an image needs comes from its file, and what others did with the file is taken.

use std::io;
use std::ops::Range;

use super::changes::CHANGES_MAX;
use super::job::{Job, Task, BLOCK_BYTES, PAGES_MAX};
use super::pages::Page;
use super::{copied, zeros, FileImage, Former};

impl FileImage {
    /// Takes what others have done.
    pub(super) fn take_done(&mut self) {
        let mut done = std::mem::take(&mut self.done);
        self.hands.take(&mut done);
        for job in done.drain(..) {
            self.has_news = true;
            self.settle(job);
        }
        self.done = done;
    }

    pub(super) fn settle(&mut self, mut job: Job) {
        let pages = job.first..job.first + job.pages;
        match job.task {
            Task::Fetch => self.fetched(&mut job),
            Task::Put => {
                let written = self.pages.of_mut(pages.clone());
                written.for_each(|page| page.is_put = false);
                self.note_outcome(job.outcome);
            }
            Task::Clear => {
                self.clears.pop_front();
                self.note_outcome(job.outcome);
            }
        }
        self.pages.tidy(pages);
        if self.spare.len() < CHANGES_MAX {
            self.spare.push(job.buffer);
        }
    }

    /// A change has been made, or cannot be.
    pub(super) fn note_outcome(&mut self, outcome: io::Result<()>) {
        self.given -= 1;
        if let Err(e) = outcome {
            self.fail(e);
        }
    }

    pub(super) fn fail(&mut self, cause: io::Error) {
        self.is_complete = false;
        self.failure.get_or_insert(cause);
    }

    /// What cannot be read is read again by whoever needs it, who has the error himself; but where it was replaced already
    /// nobody can.
    pub(super) fn fetched(&mut self, job: &mut Job) {
        let outcome = std::mem::replace(&mut job.outcome, Ok(()));
        let is_read = outcome.is_ok();
        let mut is_lost = false;
        let numbers = job.first..job.first + job.pages;
        for (number, bytes) in numbers.zip(job.buffer.bytes(job.pages).chunks(BLOCK_BYTES)) {
            let Some(page) = self.pages.get_mut(number) else {
                continue;
            };
            page.is_fetched = false;
            let owed = page.owed.take();
            self.owed -= usize::from(owed.is_some());
            is_lost |= owed.is_some() && !is_read;
            let Some(content) = copied(bytes).filter(|_| is_read) else {
                continue;
            };
            if let Some((name, at)) = owed {
                self.formers.push_back(Former { name, at, content });
            } else {
                page.content.get_or_insert(content);
            }
        }
        if let (Err(e), true) = (outcome, is_lost) {
            self.fail(e);
        }
    }

    /// Sees to it that pages are here; waits for what is being read, and reads what nobody wanted.
    pub(super) fn bring(&mut self, range: Range<u64>) -> io::Result<()> {
        while self.pages.of(range.clone()).any(Page::is_awaited) {
            self.hands.wait();
            self.take_done();
        }
        self.bring_away(range)
    }

    /// Reads those of a range that nobody wanted.
    pub(super) fn bring_away(&mut self, range: Range<u64>) -> io::Result<()> {
        let mut at = range.start;
        while at < range.end {
            if self.is_cleared(at) {
                self.pages.bring(at).content.get_or_insert_with(zeros);
            }
            let run = (at..range.end.min(at + PAGES_MAX)).take_while(|&page| self.is_away(page));
            let count = run.count() as u64;
            if count > 0 {
                self.read(at, count)?;
            }
            at += count.max(1);
        }
        Ok(())
    }

    /// Whether only the file knows what a page holds, and nobody reads it.
    pub(super) fn is_away(&self, number: u64) -> bool {
        let page = self.pages.get(number);
        let is_here = page.is_some_and(|page| page.content.is_some() || page.is_fetched);
        !is_here && !self.is_cleared(number)
    }

    pub(super) fn read(&mut self, first: u64, count: u64) -> io::Result<()> {
        let buffer = self.spare.pop().unwrap_or_default();
        let mut job = Job::new(Task::Fetch, first, count, buffer);
        self.hands.perform(&mut job);
        if job.outcome.is_ok() {
            (first..first + count).for_each(|page| _ = self.pages.bring(page));
            self.fetched(&mut job);
        }
        self.spare.push(job.buffer);
        job.outcome
    }

    /// Reads pages that are not here to where they are shown.
    pub(super) fn read_out(&mut self, first: u64, count: u64) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.outgoing);
        let mut job = Job::new(Task::Fetch, first, count, buffer);
        self.hands.perform(&mut job);
        self.outgoing = job.buffer;
        job.outcome
    }

    /// Copies pages, wherever they are, to where they are shown.
    pub(super) fn gather(&mut self, range: Range<u64>) -> io::Result<()> {
        self.bring(range.clone())?;
        let target = self.outgoing.bytes(range.end - range.start);
        for (number, target) in range.clone().zip(target.chunks_mut(BLOCK_BYTES)) {
            let page = self.pages.get(number);
            if let Some(content) = page.and_then(|page| page.content.as_ref()) {
                target.copy_from_slice(&content[..]);
            }
        }
        self.pages.tidy(range);
        Ok(())
    }
}
