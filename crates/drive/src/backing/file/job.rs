//! What is asked of the file of an image, in pages, and memory that direct I/O takes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::open;

/// A page of an image. Direct I/O wants addresses, offsets and lengths in multiples of this.
pub const BLOCK_BYTES: usize = 4096;
/// As many pages move at once: 1 MiB.
pub const PAGES_MAX: u64 = 256;

#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Block([u8; BLOCK_BYTES]);

/// A buffer that starts at a page; it grows and stays as large as it was.
#[derive(Default)]
pub struct Buffer(Vec<Block>);

impl Buffer {
    /// The first bytes of it, as long as so many pages.
    pub fn bytes(&mut self, pages: u64) -> &mut [u8] {
        let pages = pages as usize;
        if self.0.len() < pages {
            self.0.resize(pages, Block([0; BLOCK_BYTES]));
        }
        let start: *mut u8 = self.0.as_mut_ptr().cast();
        // SAFETY: there are as many pages, of plain bytes without padding, one after the other.
        unsafe { std::slice::from_raw_parts_mut(start, pages * BLOCK_BYTES) }
    }
}

/// What to do with pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Read them into the buffer.
    Fetch,
    /// Write them from the buffer.
    Put,
    /// Make them zero.
    Clear,
}

/// Something to do with pages that follow each other.
pub struct Job {
    /// What.
    pub task: Task,
    /// The first of the pages.
    pub first: u64,
    /// How many they are.
    pub pages: u64,
    /// What they hold; nothing for [`Task::Clear`].
    pub buffer: Buffer,
    /// What came of it.
    pub outcome: io::Result<()>,
}

impl Job {
    /// A job that nobody has done.
    pub fn new(task: Task, first: u64, pages: u64, buffer: Buffer) -> Self {
        Job {
            task,
            first,
            pages,
            buffer,
            outcome: Ok(()),
        }
    }

    /// Does it.
    pub(super) fn perform(&mut self, file: &File) {
        let start = self.first * BLOCK_BYTES as u64;
        self.outcome = match self.task {
            Task::Fetch => file.read_exact_at(self.buffer.bytes(self.pages), start),
            Task::Put => file.write_all_at(self.buffer.bytes(self.pages), start),
            Task::Clear => open::clear(file, start, self.pages * BLOCK_BYTES as u64),
        };
    }
}
