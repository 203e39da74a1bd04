//! Where the bytes of a drive lie. A seam: memory, and a sparse file.
//!
//! What lies far away is brought to hand while a request takes its time. Of an image in memory everything is at hand.

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

    /// As [`Image::exchange`], without waiting: what is not at hand of what was there is given by [`Image::former`] under
    /// `name`, and its place in `content` holds nothing of interest until then.
    fn exchange_early(
        &mut self,
        offset_bytes: u64,
        content: &mut [u8],
        _name: u64,
    ) -> io::Result<()> {
        self.exchange(offset_bytes, content)
    }

    /// Something that was there, once.
    fn former(&mut self) -> Option<Former> {
        None
    }

    /// Waits until [`Image::former`] has everything to give.
    fn settle_formers(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Puts `content` in place.
    fn write(&mut self, offset_bytes: u64, content: &[u8]) -> io::Result<()>;

    /// Makes a range zero and gives its space back.
    fn clear(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;

    /// Begins to bring to hand what a request will need; it stays there until [`Image::let_go`].
    fn want(&mut self, _need: &Need) {}

    /// A request that was wanted for has been done, or will not be.
    fn let_go(&mut self, _need: &Need) {}

    /// Whether a request could be done now without waiting.
    fn is_at_hand(&self, _need: &Need) -> bool {
        true
    }

    /// Whether more may be changed before what was changed is where it belongs.
    fn has_room(&self) -> bool {
        true
    }

    /// Takes what was done meanwhile; true when something was: a request may be done now that could not before.
    ///
    /// Errors: what was changed cannot be brought where it belongs.
    fn collect(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    /// Whether [`Image::collect`] would give true, as far as is known without asking.
    fn has_news(&self) -> bool {
        false
    }

    /// Begins to bring changes where they belong. Where requests wait for that, or for what they need, they are called
    /// when to [`Image::collect`].
    fn hand_on(&mut self, _is_awaited: bool) {}

    /// Waits until every change is where it belongs.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a request will need of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Where its range begins.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
    /// What it wants to know of it.
    pub purpose: Purpose,
}

/// What a request wants to know of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// What it holds.
    Know,
    /// Nothing: it replaces that.
    Replace,
    /// What it held, when it has replaced that and was answered.
    Exchange,
}

/// What a range held that was exchanged by [`Image::exchange_early`].
#[derive(Debug)]
pub struct Former {
    /// The name of that call.
    pub name: u64,
    /// Where in its content this belongs.
    pub at: usize,
    /// What was there.
    pub content: Box<[u8; 4096]>,
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
