//! The file of a trace and the thread that writes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver};
use std::sync::Arc;
use std::thread::JoinHandle;

use stithy_wire::TraceCounts;

use super::record::{end, Head, RECORD_BYTES};
use super::tracer::{Tracer, BATCHES};

/// A trace that is being written.
pub struct Trace {
    drive: String,
    path: String,
    lost: Arc<AtomicU64>,
    thread: JoinHandle<(u64, io::Result<()>)>,
}

impl Trace {
    /// Begins a file that must not be there yet, and gives the end for the drive.
    ///
    /// Errors: the file system's.
    pub fn begin(path: &str, head: &Head) -> io::Result<(Self, Tracer)> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(&head.bytes())?;
        let (sender, batches) = sync_channel(BATCHES);
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let thread = std::thread::Builder::new()
            .name("trace".to_string())
            .spawn(move || write(file, &batches, &count))?;
        let tracer = Tracer::new(sender, Arc::clone(&lost));
        let trace = Trace {
            drive: head.drive.clone(),
            path: path.to_string(),
            lost,
            thread,
        };
        Ok((trace, tracer))
    }

    /// The file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Requests lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until all is in the file; the tracer must be gone. Gives also why the file could not be written to the end.
    pub fn finish(self) -> (TraceCounts, Option<io::Error>) {
        let ended = self.thread.join();
        // Its thread does not panic; if it did, nothing is known to be written.
        let panicked = || (0, Err(io::Error::other("its thread has panicked")));
        let (written, result) = ended.unwrap_or_else(|_| panicked());
        let counts = TraceCounts {
            drive: self.drive,
            path: self.path,
            written,
            lost: self.lost.load(Ordering::Relaxed),
        };
        (counts, result.err())
    }
}

/// Writes batches until there are no more, then the end; gives how many requests are in the file.
fn write(mut file: File, batches: &Receiver<Vec<u8>>, lost: &AtomicU64) -> (u64, io::Result<()>) {
    let mut written = 0;
    let mut result = Ok(());
    for batch in batches {
        let requests = requests_in(&batch);
        // Nothing can come after a batch that is there in part.
        if result.is_ok() {
            result = file.write_all(&batch);
        }
        match result {
            Ok(()) => written += requests,
            Err(_) => _ = lost.fetch_add(requests, Ordering::Relaxed),
        }
    }
    if result.is_ok() {
        result = file.write_all(&end(written, lost.load(Ordering::Relaxed)));
    }
    (written, result)
}

/// Records of a batch that are requests.
fn requests_in(batch: &[u8]) -> u64 {
    const OPERATION: usize = 30;
    let operations = batch.chunks_exact(RECORD_BYTES).map(|each| each[OPERATION]);
    operations.filter(|operation| *operation < 4).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Operation, Request};
    use crate::trace::Record;
    use stithy_measure::Moment;

    fn head() -> Head {
        Head {
            drive: "d".to_string(),
            sector_bytes: 512,
            size_bytes: 1 << 20,
            unix_start_ns: 1,
        }
    }

    fn record() -> Record {
        Record {
            arrived: Moment(9),
            request: Request {
                operation: Operation::Flush,
                offset_bytes: 0,
                length_bytes: 0,
            },
            latency_ns: 5,
            depth: 1,
            flags: 0,
        }
    }

    /// A file holds its head, what was recorded, and the end with its number; one that is there is left alone.
    #[test]
    fn a_trace_holds_what_was_recorded() {
        let path = std::env::temp_dir().join(format!("stithy-trace-{}", std::process::id()));
        let text = path.display().to_string();
        let (trace, mut tracer) = Trace::begin(&text, &head()).expect("a temporary file");
        (0..5_000).for_each(|_| tracer.record(&record()));
        drop(tracer);
        let (counts, failure) = trace.finish();
        let bytes = std::fs::read(&path).expect("it is there");
        let again = Trace::begin(&text, &head()).map(|_| ()).unwrap_err();
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!((5_000, 0), (counts.written, counts.lost));
        assert!(failure.is_none());
        assert_eq!(128 + 5_001 * RECORD_BYTES, bytes.len());
        assert_eq!(head().bytes(), bytes[..128]);
        assert_eq!(record().bytes(), bytes[128..160]);
        assert_eq!(end(5_000, 0), bytes[bytes.len() - RECORD_BYTES..]);
        assert_eq!(io::ErrorKind::AlreadyExists, again.kind());
    }

    /// A full file system costs what comes after, and is reported.
    #[test]
    fn a_file_that_cannot_be_written_is_told() {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let (sender, batches) = sync_channel(2);
        let batch: Vec<u8> = [record().bytes(), record().bytes()].concat();
        sender.send(batch.clone()).expect("it has room");
        sender.send(batch).expect("it has room");
        drop(sender);
        let lost = AtomicU64::new(3);
        let (written, result) = write(full.expect("a device of every Linux"), &batches, &lost);
        assert_eq!((0, 7), (written, lost.load(Ordering::Relaxed)));
        assert_eq!(Some(libc::ENOSPC), result.unwrap_err().raw_os_error());
    }
}
