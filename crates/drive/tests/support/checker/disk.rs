//! What is checked. A seam: a block device, an image file, and disks with planted faults.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::support::discard;

/// Something that should behave as a disk.
pub trait Disk: Sync {
    fn read(&self, offset_bytes: u64, content: &mut [u8]) -> io::Result<()>;
    fn write(&self, offset_bytes: u64, content: &[u8]) -> io::Result<()>;
    fn discard(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;
    fn flush(&self) -> io::Result<()>;
}

/// A block device, opened for direct I/O; of an image file only the reads are used.
impl Disk for File {
    fn read(&self, offset_bytes: u64, content: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(content, offset_bytes)
    }

    fn write(&self, offset_bytes: u64, content: &[u8]) -> io::Result<()> {
        self.write_all_at(content, offset_bytes)
    }

    fn discard(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        discard(self, offset_bytes, length_bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.sync_data()
    }
}
