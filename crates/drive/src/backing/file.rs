//! An image in a sparse file, past the page cache: what the drive holds is not held twice, and the
//! drive does not wait for the machine's own writeback.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{
    fallocate, fgetxattr_query, flock, fsetxattr, FallocateFlags, FlockOperation, XattrFlags,
};
use rustix::io::Errno;

use super::image::{check, Image};

/// Direct I/O wants addresses, offsets and lengths in multiples of this.
const ALIGNMENT_BYTES: usize = 4096;
/// As much as moves at once.
const CHUNK_BYTES: usize = 1 << 20;
/// As much as a range that begins and ends within pages can lie in.
const BUFFER_BYTES: usize = CHUNK_BYTES + 2 * ALIGNMENT_BYTES;

#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; ALIGNMENT_BYTES]);

/// A buffer that starts at a page.
struct Aligned(Vec<Page>);

impl Aligned {
    fn new() -> Self {
        Aligned(vec![
            Page([0; ALIGNMENT_BYTES]);
            BUFFER_BYTES / ALIGNMENT_BYTES
        ])
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: pages are plain bytes without padding, one after the other.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), BUFFER_BYTES) }
    }
}

/// A file of the size of the drive, which takes the space of what was written.
pub struct FileImage {
    file: File,
    size_bytes: u64,
    incoming: Aligned,
    outgoing: Aligned,
}

impl FileImage {
    /// Opens `path`, or makes it, with `size_bytes` bytes; what it holds already stays. A file that has
    /// something and was not made here is not touched.
    ///
    /// Errors: `InvalidInput` where the file system knows no direct I/O, or the file has another size or is
    /// no image; `WouldBlock` where another drive has it.
    pub fn open(path: &Path, size_bytes: u64) -> io::Result<Self> {
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
                mark(&file);
                file.set_len(size_bytes)?;
            }
            other if other != size_bytes => {
                let problem = format!("the file has {other} bytes, the drive {size_bytes}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
            _ if !is_marked(&file) => {
                let problem = "the file is there and is not the image of a drive";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
            _ => {}
        }
        Ok(FileImage {
            file,
            size_bytes,
            incoming: Aligned::new(),
            outgoing: Aligned::new(),
        })
    }

    fn read_aligned(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<()> {
        let target = &mut self.outgoing.bytes()[..length_bytes];
        self.file.read_exact_at(target, offset_bytes)
    }
}

/// The smallest range of whole pages around a range: offset, and bytes before it.
fn around(offset_bytes: u64) -> (u64, usize) {
    let before = offset_bytes % ALIGNMENT_BYTES as u64;
    (offset_bytes - before, before as usize)
}

impl Image for FileImage {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn view(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<&[u8]> {
        check(self.size_bytes, offset_bytes, length_bytes as u64)?;
        let (start, before) = around(offset_bytes);
        let whole = (before + length_bytes).next_multiple_of(ALIGNMENT_BYTES);
        if whole > BUFFER_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "read in one piece",
            ));
        }
        self.read_aligned(start, whole)?;
        Ok(&self.outgoing.bytes()[before..before + length_bytes])
    }

    fn exchange(&mut self, offset_bytes: u64, content: &mut [u8]) -> io::Result<()> {
        check(self.size_bytes, offset_bytes, content.len() as u64)?;
        let mut at = offset_bytes;
        for piece in content.chunks_mut(CHUNK_BYTES) {
            let (start, before) = around(at);
            let whole = (before + piece.len()).next_multiple_of(ALIGNMENT_BYTES);
            self.read_aligned(start, whole)?;
            let former = &self.outgoing.bytes()[..whole];
            let incoming = &mut self.incoming.bytes()[..whole];
            incoming.copy_from_slice(former);
            incoming[before..before + piece.len()].copy_from_slice(piece);
            self.file.write_all_at(incoming, start)?;
            piece.copy_from_slice(&former[before..before + piece.len()]);
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, content: &[u8]) -> io::Result<()> {
        let is_whole = around(offset_bytes).1 == 0 && content.len() % ALIGNMENT_BYTES == 0;
        if !is_whole {
            return self.exchange(offset_bytes, &mut content.to_vec());
        }
        check(self.size_bytes, offset_bytes, content.len() as u64)?;
        let mut at = offset_bytes;
        for piece in content.chunks(CHUNK_BYTES) {
            let incoming = &mut self.incoming.bytes()[..piece.len()];
            incoming.copy_from_slice(piece);
            self.file.write_all_at(incoming, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn clear(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        check(self.size_bytes, offset_bytes, length_bytes)?;
        if length_bytes == 0 {
            return Ok(());
        }
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, mode, offset_bytes, length_bytes)?)
    }
}

/// An extended attribute of every image; its value says nothing.
const MARK: &str = "user.stithy.image";

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

/// Says of a new file that it is an image. Where the file system cannot keep that, the file serves once.
fn mark(file: &File) {
    let _ = fsetxattr(file, MARK, b"1", XattrFlags::empty());
}

/// Whether a file was made as an image.
fn is_marked(file: &File) -> bool {
    fgetxattr_query(file, MARK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backing::MemoryImage;
    use stithy_measure::Rng;

    /// The same writes, exchanges and clears give the same bytes in a file as in memory, and another
    /// opening finds them.
    #[test]
    fn a_file_holds_what_memory_holds() {
        const SIZE: u64 = 64 * 4096;
        let path = std::env::temp_dir().join(format!("stithy-image-{}", std::process::id()));
        let mut file = FileImage::open(&path, SIZE).expect("a file with direct I/O");
        let mut memory = MemoryImage::new(SIZE).expect("memory");
        let mut rng = Rng::new(1, 1);
        for step in 0..200_u64 {
            let offset = rng.below(SIZE / 512) * 512;
            let length = (1 + rng.below(20)) * 512;
            let length = length.min(SIZE - offset);
            if rng.chance(0.2) {
                file.clear(offset, length).unwrap();
                memory.clear(offset, length).unwrap();
            } else {
                let mut first = vec![step as u8; length as usize];
                let mut second = first.clone();
                file.exchange(offset, &mut first).unwrap();
                memory.exchange(offset, &mut second).unwrap();
                assert_eq!(second, first);
            }
        }
        drop(file);
        let mut file = FileImage::open(&path, SIZE).expect("it is there");
        let same = file.view(0, SIZE as usize).unwrap() == memory.view(0, SIZE as usize).unwrap();
        let other_size = FileImage::open(&path, SIZE * 2).is_err();
        std::fs::remove_file(&path).unwrap();
        assert!(same && other_size);
    }

    /// Ranges of the largest request are read and written wherever they begin.
    #[test]
    fn large_ranges_may_begin_anywhere() {
        const SIZE: u64 = 4 << 20;
        let path = std::env::temp_dir().join(format!("stithy-anywhere-{}", std::process::id()));
        let mut file = FileImage::open(&path, SIZE).expect("a file with direct I/O");
        let done: io::Result<()> = [0, 512, 4096 - 512, 4096].iter().try_for_each(|&offset| {
            let content: Vec<u8> = (0..1 << 20).map(|n| (n / 512 + offset) as u8).collect();
            file.write(offset, &content)?;
            assert!(file.view(offset, 1 << 20)? == content, "at {offset}");
            Ok(())
        });
        std::fs::remove_file(&path).unwrap();
        done.expect("it is inside the file");
    }

    /// A file has one drive at a time, and a person's file is none of an image.
    #[test]
    fn a_file_that_is_anothers_is_left_alone() {
        const SIZE: u64 = 16 * 4096;
        let path = std::env::temp_dir().join(format!("stithy-anothers-{}", std::process::id()));
        let refused = || FileImage::open(&path, SIZE).err().map(|e| e.kind());
        let first = FileImage::open(&path, SIZE).expect("a file with direct I/O");
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
}
