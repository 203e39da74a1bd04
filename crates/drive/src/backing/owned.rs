//! Whose a file is: one drive at a time has it, and only a file that was made as an image is one.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// An extended attribute of every image; its value says nothing.
const MARK: &CStr = c"user.stithy.image";

/// Takes a file for this drive, until it is closed.
///
/// Errors: `WouldBlock` where another drive has it.
pub(super) fn lock(file: &File) -> io::Result<()> {
    // SAFETY: the call takes numbers only, and the file is open.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(());
    }
    let cause = io::Error::last_os_error();
    match cause.kind() {
        io::ErrorKind::WouldBlock => {
            let problem = "another drive that is up has the file";
            Err(io::Error::new(io::ErrorKind::WouldBlock, problem))
        }
        _ => Err(cause),
    }
}

/// Says of a new file that it is an image. Where the file system cannot keep that, the file serves once.
pub(super) fn mark(file: &File) {
    let value = c"1";
    // SAFETY: name and value are constants, and the length is the value's.
    unsafe { libc::fsetxattr(file.as_raw_fd(), MARK.as_ptr(), value.as_ptr().cast(), 1, 0) };
}

/// Whether a file was made as an image.
pub(super) fn is_marked(file: &File) -> bool {
    // SAFETY: the name is a constant; without a buffer only the length is asked for.
    let length =
        unsafe { libc::fgetxattr(file.as_raw_fd(), MARK.as_ptr(), std::ptr::null_mut(), 0) };
    length >= 0
}
