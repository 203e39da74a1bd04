//! A file that is read and written when a test says so, in an order of the test's choice.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use stithy_measure::Rng;

use super::{Buffer, FileImage, Hands, Job, BLOCK_BYTES, PAGES_MAX};
pub(crate) use crate::backing::file::Task;

#[derive(Default)]
pub(crate) struct Slow {
    pub content: Vec<u8>,
    pub waiting: Vec<Job>,
    done: Vec<Job>,
    /// Every change fails from now on.
    pub is_full: bool,
    pub is_called: bool,
    pub has_left: bool,
    rng: Option<Rng>,
}

/// The test's end of it.
#[derive(Clone)]
pub(crate) struct SlowFile(Arc<Mutex<Slow>>);

impl SlowFile {
    /// A file of so many pages of zeros; `seed` decides what is done first.
    pub fn new(pages: usize, seed: u64) -> Self {
        let slow = Slow {
            content: vec![0; pages * BLOCK_BYTES],
            rng: Some(Rng::new(seed, 3)),
            ..Slow::default()
        };
        SlowFile(Arc::new(Mutex::new(slow)))
    }

    /// An image over it.
    pub fn image(&self) -> FileImage {
        let size_bytes = self.lock().content.len() as u64;
        FileImage::of(Box::new(self.clone()), size_bytes, Ok(()))
    }

    pub fn lock(&self) -> MutexGuard<'_, Slow> {
        self.0.lock().expect("nobody panicked with it")
    }

    /// Does one of the jobs that wait, if one does.
    pub fn step(&self) {
        self.lock().step();
    }

    /// Does all of them.
    pub fn run(&self) {
        let mut slow = self.lock();
        while !slow.waiting.is_empty() {
            slow.step();
        }
    }

    /// How many jobs of a kind wait.
    pub fn waiting(&self, task: Task) -> usize {
        let slow = self.lock();
        slow.waiting.iter().filter(|job| job.task == task).count()
    }
}

impl Slow {
    fn step(&mut self) {
        let count = self.waiting.len() as u64;
        let chosen = self.rng.as_mut().map(|rng| rng.below(count.max(1)));
        if let (Some(chosen), true) = (chosen, count > 0) {
            let mut job = self.waiting.swap_remove(chosen as usize);
            self.perform(&mut job);
            self.done.push(job);
        }
    }

    fn perform(&mut self, job: &mut Job) {
        let start = job.first as usize * BLOCK_BYTES;
        let bytes = &mut self.content[start..start + job.pages as usize * BLOCK_BYTES];
        if self.is_full && job.task != Task::Fetch {
            job.outcome = Err(io::ErrorKind::StorageFull.into());
            return;
        }
        match job.task {
            Task::Fetch => job.buffer.bytes(job.pages).copy_from_slice(bytes),
            Task::Put => bytes.copy_from_slice(job.buffer.bytes(job.pages)),
            Task::Clear => bytes.fill(0),
        }
    }
}

impl Hands for SlowFile {
    fn give(&mut self, job: Job) {
        let mut slow = self.lock();
        let is_change = |job: &Job| job.task != Task::Fetch;
        let overlaps = |other: &Job| {
            other.first < job.first + job.pages && job.first < other.first + other.pages
        };
        assert!(job.pages <= PAGES_MAX || job.task == Task::Clear);
        let mut changes = slow.waiting.iter().filter(|job| is_change(job));
        // Two changes of one page could be done in the wrong order.
        assert!(!is_change(&job) || !changes.any(overlaps));
        slow.waiting.push(job);
    }

    fn perform(&mut self, job: &mut Job) {
        self.lock().perform(job);
    }

    fn take(&mut self, done: &mut Vec<Job>) {
        done.append(&mut self.lock().done);
    }

    fn wait(&mut self) {
        let mut slow = self.lock();
        if slow.done.is_empty() {
            assert!(!slow.waiting.is_empty(), "it would wait for ever");
            slow.step();
        }
    }

    fn call(&mut self, is_wanted: bool) {
        self.lock().is_called = is_wanted;
    }

    fn leave(&mut self) {
        self.lock().has_left = true;
    }
}

/// What a buffer is made from must be all of it.
#[test]
fn a_buffer_grows_and_keeps_its_pages_aligned() {
    let mut buffer = Buffer::default();
    assert_eq!(BLOCK_BYTES, buffer.bytes(1).len());
    buffer.bytes(3).fill(7);
    assert_eq!(0, buffer.bytes(3).as_ptr() as usize % BLOCK_BYTES);
    assert!(buffer.bytes(2).iter().all(|&byte| byte == 7));
}
