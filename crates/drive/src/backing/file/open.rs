//! The file of an image: opened past the page cache, for one drive at a time, and none that is somebody else's.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{
    fallocate, fgetxattr_query, flock, fremovexattr, fsetxattr, FallocateFlags, FlockOperation,
    XattrFlags,
};
use rustix::io::Errno;

use super::job::BLOCK_BYTES;

/// An extended attribute of every image; its value says nothing.
const MARK: &str = "user.stithy.image";
/// One of an image that a drive has open. It is left behind by a program that was killed.
const IN_USE: &str = "user.stithy.in-use";

/// What was opened.
pub(super) struct Opened {
    pub file: File,
    /// The program that had it last was killed: what it had answered in its last moments may be missing.
    pub was_left: bool,
}

/// Opens `path`, or makes it, with `size_bytes` bytes; what it holds already stays. A file that has
/// something and was not made here is not touched.
///
/// Errors: `InvalidInput` where the file system knows no direct I/O, or the file has another size or is
/// no image; `WouldBlock` where another drive has it.
pub(super) fn open(path: &Path, size_bytes: u64) -> io::Result<Opened> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_DIRECT | libc::O_CLOEXEC)
        .open(path)?;
    lock(&file)?;
    match file.metadata()?.len() {
        0 => {
            mark(&file, MARK);
            file.set_len(size_bytes)?;
        }
        other if other != size_bytes => {
            let problem = format!("the file has {other} bytes, the drive {size_bytes}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        _ if !is_marked(&file, MARK) => {
            let problem = "the file is there and is not the image of a drive";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        _ => {}
    }
    let was_left = is_marked(&file, IN_USE);
    mark(&file, IN_USE);
    Ok(Opened { file, was_left })
}

/// Says that everything is in the file.
pub(super) fn leave(file: &File) {
    // Where marks cannot be kept there is none.
    let _ = fremovexattr(file, IN_USE);
}

/// Whether the file system gives back the space of a range; the error where it does not. Tried beyond the end, where
/// there is nothing.
pub(super) fn can_clear(file: &File, size_bytes: u64) -> Result<(), i32> {
    let beyond = size_bytes.next_multiple_of(BLOCK_BYTES as u64);
    clear(file, beyond, BLOCK_BYTES as u64).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
}

/// Makes a range zero and gives its space back.
pub(super) fn clear(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(file, mode, offset_bytes, length_bytes)?)
}

/// Takes a file for this drive, until it is closed.
///
/// Errors: `WouldBlock` where another drive has it.
fn lock(file: &File) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            let problem = "another drive that is up has the file";
            Err(io::Error::new(io::ErrorKind::WouldBlock, problem))
        }
        locked => Ok(locked?),
    }
}

/// Says something of a file. Where the file system cannot keep that, an image serves once.
fn mark(file: &File, name: &str) {
    let _ = fsetxattr(file, name, b"1", XattrFlags::empty());
}

/// Whether something was said of a file.
fn is_marked(file: &File, name: &str) -> bool {
    fgetxattr_query(file, name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 16 * 4096;

    fn path(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("stithy-{name}-{}", std::process::id()))
    }

    /// A file has one drive at a time, and a person's file is none of an image.
    #[test]
    fn a_file_that_is_anothers_is_left_alone() {
        let path = path("anothers");
        let refused = || open(&path, SIZE).err().map(|e| e.kind());
        let first = open(&path, SIZE).expect("a file with direct I/O");
        let held = refused();
        drop(first);
        let again = refused();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, vec![7; SIZE as usize]).unwrap();
        let persons = refused();
        let content = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Some(io::ErrorKind::WouldBlock), held);
        assert_eq!(None, again);
        assert_eq!(Some(io::ErrorKind::InvalidInput), persons);
        assert!(content.iter().all(|&byte| byte == 7));
    }

    /// An image that nobody took his leave of was that of a killed program; a new one is not.
    #[test]
    fn an_image_that_was_left_by_a_killed_program_is_known() {
        let path = path("left");
        let mut seen = Vec::new();
        for takes_leave in [true, false, true] {
            let opened = open(&path, SIZE).expect("a file with direct I/O");
            seen.push(opened.was_left);
            if takes_leave {
                leave(&opened.file);
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(vec![false, false, true], seen);
    }
}
