//! The FUSE protocol over `/dev/fuse`: one file, the size of the drive, in a file system that no folder
//! shows.
//!
//! The file is opened through the mount itself and handed to a loop device. When the process ends, even
//! killed, the kernel answers everything with I/O errors and nothing stays behind.

/// Its name in messages.
pub const NAME: &str = "fuse";

mod mount;
mod protocol;
mod session;

pub use mount::Mount;
pub use session::{open, Session};
