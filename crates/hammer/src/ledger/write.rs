//! Writing a ledger: users leave entries and go on; a thread of its own syncs them in groups.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stithy_measure::locked;
use stithy_wire::LedgerWritten;

use super::frame::{framed, MARK};
use super::{Entry, Head, Kept, Stage};
use crate::error::HammerError;

/// Entries of so much time are synced together: often enough that little is missing after a loss of
/// power, seldom enough not to cost the machine anything.
const GROUP_TIME: Duration = Duration::from_millis(50);
/// A ledger whose disk stands still gives up when so much waits, rather than hold up users.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// A ledger being written.
#[derive(Debug)]
pub struct Ledger {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    path: PathBuf,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    waiting: Group,
    closed: bool,
    written: LedgerWritten,
}

/// Entries that are synced together.
#[derive(Debug, Default)]
struct Group {
    bytes: Vec<u8>,
    /// How many of them are acknowledgements.
    acknowledged: u64,
}

impl Ledger {
    /// Makes the file, with its head synced.
    ///
    /// Errors (precondition): `ledger-exists`, `ledger-failed`.
    pub fn create(path: &Path, head: &Head) -> Result<Self, HammerError> {
        let tail = create_file(path, head).map_err(|e| refused(path, e))?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                waiting: Group::default(),
                closed: false,
                written: LedgerWritten {
                    acknowledged: 0,
                    size_bytes: 0,
                    syncs: 0,
                    slowest_sync_s: None,
                    problem: None,
                },
            }),
            changed: Condvar::new(),
        });
        let writing = shared.clone();
        let writer = std::thread::spawn(move || writing.write_until_closed(tail));
        Ok(Ledger {
            shared,
            writer: Mutex::new(Some(writer)),
            path: path.into(),
        })
    }

    /// Leaves an entry; false when the ledger has failed and nothing more should be sent.
    pub fn note<K: Kept>(&self, stage: Stage, kept: K) -> bool {
        let mut state = locked(&self.shared.state);
        if state.written.problem.is_some() {
            return false;
        }
        if state.waiting.bytes.len() >= WAITING_BYTES_MAX {
            state.written.problem = Some("its disk stands still".into());
            return false;
        }
        let first = state.waiting.bytes.is_empty();
        Entry { stage, kept }.write(&mut state.waiting.bytes);
        state.waiting.acknowledged += u64::from(stage == Stage::Acknowledged);
        drop(state);
        if first {
            self.shared.changed.notify_one();
        }
        true
    }

    /// Syncs what is left and tells what was written.
    pub fn finish(&self) -> LedgerWritten {
        locked(&self.shared.state).closed = true;
        self.shared.changed.notify_one();
        let writer = locked(&self.writer).take();
        let panicked = writer.is_some_and(|writer| writer.join().is_err());
        let mut written = locked(&self.shared.state).written.clone();
        if panicked {
            written.problem = Some("its thread panicked".into());
        }
        written
    }
}

impl Drop for Ledger {
    /// A run that failed leaves no thread behind, and one that never began no file.
    fn drop(&mut self) {
        let written = self.finish();
        if written.syncs == 0 && written.problem.is_none() {
            // Whoever wants to write there again is told where it cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Shared {
    fn write_until_closed(&self, mut tail: Tail) {
        while let Some(group) = self.next_group() {
            let start = Instant::now();
            let done = tail.append(&framed(&group.bytes));
            let mut state = locked(&self.state);
            match done {
                Ok(()) => add(&mut state.written, &group, start.elapsed()),
                Err(e) => {
                    state.written.problem = Some(e.to_string());
                    return;
                }
            }
        }
        // Room that cannot be given back is zeros, which a reader takes for room.
        let _ = tail.close();
    }

    /// The entries that came together; None when there will be no more.
    fn next_group(&self) -> Option<Group> {
        let idle = |state: &mut State| state.waiting.bytes.is_empty() && !state.closed;
        let open = |state: &mut State| !state.closed;
        let state = self.changed.wait_while(locked(&self.state), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let gathered = self.changed.wait_timeout_while(state, GROUP_TIME, open);
        let (mut state, _) = gathered.unwrap_or_else(PoisonError::into_inner);
        let group = std::mem::take(&mut state.waiting);
        (!group.bytes.is_empty()).then_some(group)
    }
}

/// Adds what became of a group.
fn add(written: &mut LedgerWritten, group: &Group, took: Duration) {
    written.acknowledged += group.acknowledged;
    written.size_bytes += group.bytes.len() as u64;
    written.syncs += 1;
    let slowest_s = written.slowest_sync_s.unwrap_or(0.0);
    written.slowest_sync_s = Some(slowest_s.max(took.as_secs_f64()));
}

/// The file with its head, both of them durable.
fn create_file(path: &Path, head: &Head) -> io::Result<Tail> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let start = [&MARK[..], &framed(&serde_json::to_vec(head)?)].concat();
    file.write_all(&start)?;
    file.sync_all()?;
    // A name is durable when its folder is.
    File::open(folder_of(path))?.sync_all()?;
    Ok(Tail::new(file, start.len() as u64))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.into(),
        _ => ".".into(),
    }
}

fn refused(path: &Path, e: io::Error) -> HammerError {
    let place = path.display().to_string();
    let (code, problem, remedy) = match e.kind() {
        io::ErrorKind::AlreadyExists => (
            "ledger-exists",
            "the ledger's file exists already".into(),
            "name a file that does not exist: a ledger belongs to one run",
        ),
        _ => (
            "ledger-failed",
            format!("the ledger cannot be written: {e}"),
            "name a file in a folder that exists and can be written to",
        ),
    };
    HammerError::precondition(code, problem, place, remedy).caused_by(e)
}

/// The file is filled with zeros so far ahead. Syncing a file that grows also syncs the file
/// system's own books, which would hold up a database on the same file system.
const AHEAD_BYTES: usize = 1 << 20;

/// Where the next batch goes, and the room that is ready for it.
#[derive(Debug)]
struct Tail {
    file: File,
    end: u64,
    room_end: u64,
}

impl Tail {
    /// The end of a file that holds `end` bytes.
    fn new(file: File, end: u64) -> Self {
        Tail {
            file,
            end,
            room_end: end,
        }
    }

    /// Writes a batch and syncs it; it is durable when this returns.
    fn append(&mut self, batch: &[u8]) -> io::Result<()> {
        let end = self.end + batch.len() as u64;
        if end > self.room_end {
            let zeros = vec![0; batch.len() + AHEAD_BYTES];
            self.file.write_all_at(&zeros, self.end)?;
            self.file.sync_all()?;
            self.room_end = self.end + zeros.len() as u64;
        }
        self.file.write_all_at(batch, self.end)?;
        self.file.sync_data()?;
        self.end = end;
        Ok(())
    }

    /// Gives back the room that was not needed.
    fn close(self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::Contents;
    use super::super::tests::{entry, Thing};
    use super::*;

    fn place(name: &str) -> PathBuf {
        let name = format!("stithy-test-{}-{name}.ledger", std::process::id());
        std::env::temp_dir().join(name)
    }

    fn head() -> Head {
        Head {
            workload: "things".into(),
            loaded: serde_json::Map::new(),
            run_seed: 2,
        }
    }

    fn created(path: &Path) -> Ledger {
        Ledger::create(path, &head()).unwrap()
    }

    fn noted(ledger: &Ledger, stage: Stage, key: i64) -> bool {
        ledger.note(stage, entry(stage, key).kept)
    }

    /// Many users at once: every entry is in the file, those of one user in their order.
    #[test]
    fn every_entry_is_kept_in_the_order_of_its_user() {
        let path = place("kept");
        let ledger = created(&path);
        std::thread::scope(|scope| {
            for user in 0..4 {
                let ledger = &ledger;
                scope.spawn(move || {
                    for number in 0..5_000 {
                        let key = user * 1_000_000 + number;
                        assert!(noted(ledger, Stage::Sent, key));
                        assert!(noted(ledger, Stage::Acknowledged, key));
                    }
                });
            }
        });
        let written = ledger.finish();
        drop(ledger);
        let contents = Contents::<Thing>::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            (20_000, 40_000),
            (written.acknowledged, contents.entries.len())
        );
        assert_eq!((head(), 0), (contents.head, contents.torn_bytes));
        for user in 0..4 {
            let keys = contents.entries.iter().map(|entry| entry.kept.key);
            let own = keys.filter(|key| key / 1_000_000 == user);
            assert!(own.is_sorted(), "user {user}");
        }
    }

    /// A run that never began leaves no file in the way of the next one.
    #[test]
    fn a_ledger_without_entries_is_removed() {
        let path = place("unused");
        drop(created(&path));
        assert!(!path.exists());
    }

    /// A ledger that cannot be written says so instead of taking more.
    #[test]
    fn a_ledger_that_cannot_be_written_takes_nothing_more() {
        let path = place("failing");
        let ledger = created(&path);
        locked(&ledger.shared.state).written.problem = Some("no space left".into());
        assert!(!noted(&ledger, Stage::Sent, 1));
        assert_eq!(Some("no space left"), ledger.finish().problem.as_deref());
        std::fs::remove_file(&path).unwrap();
    }
}
