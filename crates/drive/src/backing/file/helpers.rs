//! The threads that read and write the file of an image, so that the drive's own does not wait for it.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use stithy_measure::{locked, priority, this_thread};

use super::job::{Job, Task};
use super::open;
use crate::wake::Bell;

/// Who does jobs. A seam: tests put somebody slow here.
pub trait Hands: Send {
    /// Has a job done, in any order with others.
    fn give(&mut self, job: Job);

    /// Does a job at once.
    fn perform(&mut self, job: &mut Job);

    /// Takes what was done since.
    fn take(&mut self, done: &mut Vec<Job>);

    /// Waits until something is done that nobody has taken.
    fn wait(&mut self);

    /// Whether to ring when something is done, and at once if something is.
    fn call(&mut self, is_wanted: bool);

    /// Everything is done, and nothing more will come.
    fn leave(&mut self);
}

/// As many jobs are done at once. Own: a fast disk reads and writes four pages at once as quickly as one, and a database
/// that waits for more than three reads at once waits for its drive.
const HELPERS: usize = 4;
/// One is kept for reads: requests wait for these.
const CHANGING_MAX: usize = HELPERS - 1;

#[derive(Default)]
struct State {
    fetches: VecDeque<Job>,
    changes: VecDeque<Job>,
    /// Changes that are being done.
    changing: usize,
    done: Vec<Job>,
    is_called: bool,
    has_ended: bool,
}

impl State {
    /// The next job: reads first.
    fn next(&mut self) -> Option<Job> {
        if let Some(job) = self.fetches.pop_front() {
            return Some(job);
        }
        if self.changing == CHANGING_MAX {
            return None;
        }
        let job = self.changes.pop_front()?;
        self.changing += 1;
        Some(job)
    }
}

struct Shared {
    file: File,
    bell: Arc<Bell>,
    state: Mutex<State>,
    /// Whether `state` has something that was done: asked far more often than it is so.
    has_done: AtomicBool,
    work: Condvar,
    done: Condvar,
}

impl Shared {
    fn work(&self) {
        let mut state = locked(&self.state);
        loop {
            if let Some(mut job) = state.next() {
                drop(state);
                job.perform(&self.file);
                state = self.hand_back(job);
            } else if state.has_ended {
                return;
            } else {
                state = self.work.wait(state).unwrap_or_else(|e| e.into_inner());
            }
        }
    }

    fn hand_back(&self, job: Job) -> MutexGuard<'_, State> {
        let mut state = locked(&self.state);
        if job.task != Task::Fetch {
            state.changing -= 1;
        }
        state.done.push(job);
        self.has_done.store(true, Ordering::Release);
        self.done.notify_one();
        if state.is_called {
            self.bell.ring();
        }
        state
    }
}

/// Helping threads; they end with this value, and what was given to them is done before.
pub struct Helpers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    is_called: bool,
}

impl Helpers {
    /// Starts them for a file; `bell` wakes whoever gives them work. Gives their numbers as well.
    pub fn start(file: File, bell: Arc<Bell>, before_all: bool) -> io::Result<(Self, Vec<i32>)> {
        let shared = Arc::new(Shared {
            file,
            bell,
            state: Mutex::default(),
            has_done: AtomicBool::new(false),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let mut helpers = Helpers {
            shared,
            threads: Vec::new(),
            is_called: false,
        };
        let (sender, numbers) = std::sync::mpsc::channel();
        for _ in 0..HELPERS {
            let (shared, sender) = (Arc::clone(&helpers.shared), sender.clone());
            let helping = move || {
                if before_all {
                    priority::before_all();
                }
                let _ = sender.send(this_thread());
                drop(sender);
                shared.work();
            };
            let thread = std::thread::Builder::new().name("drive image".into());
            helpers.threads.push(thread.spawn(helping)?);
        }
        drop(sender);
        Ok((helpers, numbers.iter().collect()))
    }
}

impl Hands for Helpers {
    fn give(&mut self, job: Job) {
        let mut state = locked(&self.shared.state);
        match job.task {
            Task::Fetch => state.fetches.push_back(job),
            Task::Put | Task::Clear => state.changes.push_back(job),
        }
        drop(state);
        self.shared.work.notify_one();
    }

    fn perform(&mut self, job: &mut Job) {
        job.perform(&self.shared.file);
    }

    fn take(&mut self, done: &mut Vec<Job>) {
        if self.shared.has_done.load(Ordering::Acquire) {
            let mut state = locked(&self.shared.state);
            done.append(&mut state.done);
            self.shared.has_done.store(false, Ordering::Release);
        }
    }

    fn wait(&mut self) {
        let mut state = locked(&self.shared.state);
        while state.done.is_empty() {
            let waited = self.shared.done.wait(state);
            state = waited.unwrap_or_else(|e| e.into_inner());
        }
    }

    fn call(&mut self, is_wanted: bool) {
        if !is_wanted && !self.is_called {
            return;
        }
        self.is_called = is_wanted;
        let mut state = locked(&self.shared.state);
        state.is_called = is_wanted;
        if is_wanted && !state.done.is_empty() {
            self.shared.bell.ring();
        }
    }

    fn leave(&mut self) {
        open::leave(&self.shared.file);
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        locked(&self.shared.state).has_ended = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // One that panicked has told so.
            let _ = thread.join();
        }
    }
}
