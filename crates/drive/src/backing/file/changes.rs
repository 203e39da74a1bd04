//! How changes of an image reach its file: oldest first, several at once, and never two of one page.

use std::ops::Range;

use super::job::{Buffer, Job, Task, BLOCK_BYTES, PAGES_MAX};
use super::{zeros, FileImage};

/// As many jobs are in the hands of others; what is changed meanwhile is written together.
pub(super) const CHANGES_MAX: usize = 8;

/// Pages that are zero from a change on. The file does not know before everything that was being written then is.
pub(super) struct Clear {
    pub pages: Range<u64>,
    pub change: u64,
    pub is_given: bool,
}

impl FileImage {
    /// Notes that a page was changed.
    pub(super) fn change(&mut self, number: u64) {
        let page = self.pages.bring(number);
        if page.change.is_none() {
            self.changes += 1;
            page.change = Some(self.changes);
            self.changed.push_back((number, self.changes));
        }
    }

    /// The oldest change that waits to be written: page and change.
    pub(super) fn oldest(&mut self) -> Option<(u64, u64)> {
        while let Some(&(number, change)) = self.changed.front() {
            let page = self.pages.get(number);
            if page.is_some_and(|page| page.change == Some(change)) {
                return Some((number, change));
            }
            self.changed.pop_front();
        }
        None
    }

    /// Gives the oldest changes to others; false when they must wait.
    pub(super) fn give_oldest(&mut self) -> bool {
        let oldest = self.oldest();
        let until = self.clears.front().map_or(u64::MAX, |clear| clear.change);
        match oldest {
            Some((first, change)) if change < until => self.give_pages(first, until),
            _ => self.give_clear(),
        }
    }

    /// A range becomes zero when nothing is being written, and nothing is written before it is: a page that was written
    /// after it must not become zero, one that was written before it must. What is owed of the file is read before, too.
    fn give_clear(&mut self) -> bool {
        let clear = self.clears.front_mut();
        let Some(clear) =
            clear.filter(|clear| !clear.is_given && self.given == 0 && self.owed == 0)
        else {
            return false;
        };
        clear.is_given = true;
        let (first, pages) = (clear.pages.start, clear.pages.end - clear.pages.start);
        self.given += 1;
        self.hands
            .give(Job::new(Task::Clear, first, pages, Buffer::default()));
        true
    }

    /// Gives a page, and those behind it that were changed before the change `until` as well.
    fn give_pages(&mut self, first: u64, until: u64) -> bool {
        let is_due = |number: &u64| {
            let page = self.pages.get(*number);
            let change = page
                .filter(|page| page.may_be_put())
                .and_then(|page| page.change);
            change.is_some_and(|at| at < until)
        };
        let count = (first..first + PAGES_MAX).take_while(is_due).count() as u64;
        if self.given >= CHANGES_MAX || count == 0 {
            return false;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        let numbers = first..first + count;
        for (number, target) in numbers.zip(buffer.bytes(count).chunks_mut(BLOCK_BYTES)) {
            let page = self.pages.bring(number);
            page.is_put = true;
            page.change = None;
            if let Some(content) = &page.content {
                target.copy_from_slice(&content[..]);
            }
        }
        self.given += 1;
        self.hands.give(Job::new(Task::Put, first, count, buffer));
        true
    }

    /// Makes whole pages zero.
    pub(super) fn clear_pages(&mut self, pages: Range<u64>) {
        for page in self.pages.of_mut(pages.clone()) {
            page.content = Some(zeros());
            page.change = None;
        }
        self.pages.tidy(pages.clone());
        self.changes += 1;
        self.clears.push_back(Clear {
            pages,
            change: self.changes,
            is_given: false,
        });
    }
}
