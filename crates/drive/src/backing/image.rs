//! Where the bytes of a drive lie. A seam: memory, and a sparse file.

use std::io;

/// Bytes from 0 to `size_bytes` - 1; what was never written is zero. Ranges beyond the end are refused
/// with an error of kind `InvalidInput`.
pub trait Image: Send {
    /// How many bytes there are.
    fn size_bytes(&self) -> u64;

    /// The bytes of a range, valid until the next call.
    fn view(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<&[u8]>;

    /// Puts `content` in place and gives what was there, in the same buffer: no third copy is needed to
    /// be able to take a write back.
    fn exchange(&mut self, offset_bytes: u64, content: &mut [u8]) -> io::Result<()>;

    /// Puts `content` in place.
    fn write(&mut self, offset_bytes: u64, content: &[u8]) -> io::Result<()>;

    /// Makes a range zero and gives its space back.
    fn clear(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;
}

/// Refuses a range that is not inside an image of `size_bytes`.
pub(super) fn check(size_bytes: u64, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    match offset_bytes.checked_add(length_bytes) {
        Some(end) if end <= size_bytes => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{length_bytes} bytes at {offset_bytes} are not inside {size_bytes} bytes"),
        )),
    }
}
