//! An image in memory: pages come to be when they are first written.

use std::io;
use std::ptr::NonNull;

use super::image::{check, Image};

/// A private anonymous mapping. Bytes never written take no memory.
pub struct MemoryImage {
    base: NonNull<u8>,
    size_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and has no thread affinity.
unsafe impl Send for MemoryImage {}

impl MemoryImage {
    /// Maps `size_bytes` bytes of zeros, at least one.
    pub fn new(size_bytes: u64) -> io::Result<Self> {
        let size_bytes = usize::try_from(size_bytes).map_err(io::Error::other)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), size_bytes, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        // Without this a locked process would take all pages at once; the advice alone may be refused.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(address, size_bytes, libc::MADV_DONTDUMP) };
        Ok(MemoryImage { base, size_bytes })
    }

    fn range(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<&mut [u8]> {
        check(self.size_bytes as u64, offset_bytes, length_bytes as u64)?;
        // SAFETY: `check` keeps the range inside the mapping, and `&mut self` is the only way to it.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(
                self.base.as_ptr().add(offset_bytes as usize),
                length_bytes,
            )
        })
    }

    /// Gives whole pages back to the kernel, which reads them as zeros from then on.
    ///
    /// Only where no advice is taken they are written: that takes memory for bytes that nobody wrote, all of it
    /// when a file system is made, which begins by discarding the whole drive.
    fn drop_pages(&mut self, start: usize, end: usize) -> io::Result<()> {
        // The first is of Linux 5.18; the other one refuses locked pages.
        let dropped = [libc::MADV_DONTNEED_LOCKED, libc::MADV_DONTNEED]
            .into_iter()
            .any(|advice| self.advise(start, end, advice));
        if !dropped {
            self.range(start as u64, end - start)?.fill(0);
        }
        Ok(())
    }

    fn advise(&mut self, start: usize, end: usize, advice: libc::c_int) -> bool {
        // SAFETY: the caller's range lies inside the mapping, and starts and ends with a page.
        unsafe { libc::madvise(self.base.as_ptr().add(start).cast(), end - start, advice) == 0 }
    }
}

impl Drop for MemoryImage {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size_bytes) };
    }
}

impl Image for MemoryImage {
    fn size_bytes(&self) -> u64 {
        self.size_bytes as u64
    }

    fn view(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<&[u8]> {
        self.range(offset_bytes, length_bytes).map(|range| &*range)
    }

    fn exchange(&mut self, offset_bytes: u64, content: &mut [u8]) -> io::Result<()> {
        self.range(offset_bytes, content.len())?
            .swap_with_slice(content);
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, content: &[u8]) -> io::Result<()> {
        self.range(offset_bytes, content.len())?
            .copy_from_slice(content);
        Ok(())
    }

    fn clear(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        const PAGE_BYTES: usize = 4096;
        check(self.size_bytes as u64, offset_bytes, length_bytes)?;
        let (start, end) = (
            offset_bytes as usize,
            (offset_bytes + length_bytes) as usize,
        );
        let (first, last) = (
            start.next_multiple_of(PAGE_BYTES),
            end / PAGE_BYTES * PAGE_BYTES,
        );
        if first >= last {
            self.range(offset_bytes, end - start)?.fill(0);
            return Ok(());
        }
        self.range(offset_bytes, first - start)?.fill(0);
        self.range(last as u64, end - last)?.fill(0);
        self.drop_pages(first, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was never written is zero, and what was cleared is zero again, also in parts of pages.
    #[test]
    fn unwritten_and_cleared_bytes_are_zero() {
        let mut image = MemoryImage::new(5 * 4096).expect("memory");
        assert!(image
            .view(0, 5 * 4096)
            .unwrap()
            .iter()
            .all(|&byte| byte == 0));
        image.write(0, &[7; 5 * 4096]).unwrap();
        image.clear(512, 3 * 4096).unwrap();
        image.clear(4 * 4096, 512).unwrap();
        let seen: Vec<usize> = image
            .view(0, 5 * 4096)
            .unwrap()
            .chunks(512)
            .map(|chunk| chunk.iter().filter(|&&byte| byte == 7).count())
            .collect();
        let zeros: Vec<usize> = (0..40).filter(|&unit| seen[unit] == 0).collect();
        let expected: Vec<usize> = (1..25).chain([32]).collect();
        assert_eq!(expected, zeros);
    }

    /// Making a file system discards the whole drive: that must not take the memory of all of it, though a
    /// drive's memory is locked.
    #[test]
    fn clearing_what_was_never_written_takes_no_memory() {
        const PAGES: usize = 8; // any user may lock so few
        let mut image = MemoryImage::new((PAGES * 4096) as u64).expect("memory");
        let base = image.base.as_ptr();
        // SAFETY: the range is the mapping just made.
        let locked = unsafe { libc::mlock2(base.cast(), PAGES * 4096, libc::MLOCK_ONFAULT) };
        assert_eq!(0, locked, "{}", io::Error::last_os_error());
        image.write(4096, &[7; 4096]).unwrap();
        image.clear(0, (PAGES * 4096) as u64).unwrap();
        let mut resident = [0_u8; PAGES];
        // SAFETY: the range is the mapping, and there is a byte for each of its pages.
        let told = unsafe { libc::mincore(base.cast(), PAGES * 4096, resident.as_mut_ptr()) };
        assert_eq!(0, told, "{}", io::Error::last_os_error());
        assert_eq!(0, resident.iter().filter(|&&page| page & 1 == 1).count());
        assert_eq!([0; 4096], image.view(4096, 4096).unwrap());
    }

    /// A range that begins inside and ends outside touches nothing.
    #[test]
    fn a_range_beyond_the_end_is_refused() {
        let mut image = MemoryImage::new(4096).expect("memory");
        assert!(image.write(4000, &[1; 97]).is_err());
        assert!(image.view(u64::MAX, 2).is_err());
        assert!(image.view(0, 4096).unwrap().iter().all(|&byte| byte == 0));
    }

    /// The buffer that brought the new content takes the old one away.
    #[test]
    fn exchange_gives_what_was_there() {
        let mut image = MemoryImage::new(4096).expect("memory");
        image.write(0, b"former").unwrap();
        let mut content = *b"latter";
        image.exchange(0, &mut content).unwrap();
        assert_eq!(
            (b"former", &b"latter"[..]),
            (&content, image.view(0, 6).unwrap())
        );
    }
}
