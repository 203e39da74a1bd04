//! What a drive holds: an image, and which of its writes a power cut may still take away.
//!
//! [`Image`] is where bytes lie: memory, or a sparse file. [`Store`] adds the semantics of a disk with
//! a volatile cache on top. Times and faults of answers are not known here.

mod file;
mod image;
mod log;
mod memory;
mod store;

pub use file::{FileImage, OpenedImage};
pub use image::{Former, Image, Need, Purpose};
pub use log::Mark;
pub use memory::MemoryImage;
pub use store::{Store, Write};

#[cfg(test)]
pub(crate) use file::tests::slow;
