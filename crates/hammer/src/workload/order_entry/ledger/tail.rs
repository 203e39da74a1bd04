//! The growing end of a ledger's file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The file is filled with zeros so far ahead. Syncing a file that grows also syncs the file
/// system's own books, which would hold up a database on the same file system.
const AHEAD_BYTES: usize = 1 << 20;

/// Where the next batch goes, and the room that is ready for it.
#[derive(Debug)]
pub struct Tail {
    file: File,
    end: u64,
    room_end: u64,
}

impl Tail {
    /// The end of a file that holds `end` bytes.
    pub fn new(file: File, end: u64) -> Self {
        Tail {
            file,
            end,
            room_end: end,
        }
    }

    /// Writes a batch and syncs it; it is durable when this returns.
    pub fn append(&mut self, batch: &[u8]) -> io::Result<()> {
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
    pub fn close(self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.sync_all()
    }
}
