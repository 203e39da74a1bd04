//! A FUSE file system that is attached to no folder: whoever holds the mount reaches it, nobody else, and
//! it goes with its last holder.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::protocol::NAME_BEGIN;

const SET_FLAG_CREATE: libc::c_uint = 6; // FSCONFIG_CMD_CREATE of linux/mount.h
const SET_STRING: libc::c_uint = 1; // FSCONFIG_SET_STRING
const CLOSE_ON_EXEC: libc::c_uint = 1; // FSOPEN_CLOEXEC and FSMOUNT_CLOEXEC

/// A mounted file system with one file.
pub struct Mount {
    root: OwnedFd,
}

impl Mount {
    /// Opens the file for direct I/O, by a name that no other drive's has. Waits until the session answers.
    pub fn open_file(&self) -> io::Result<File> {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAME_BEGIN}{}-{number}", std::process::id());
        let name = CString::new(name).map_err(io::Error::other)?;
        let flags = libc::O_RDWR | libc::O_DIRECT | libc::O_CLOEXEC;
        // SAFETY: the name is a C string that outlives the call; the result is checked before use.
        let file = unsafe { libc::openat(self.root.as_raw_fd(), name.as_ptr(), flags) };
        owned(i64::from(file)).map(File::from)
    }
}

/// Mounts a file system that `device`, an opened `/dev/fuse`, serves. Needs root.
pub fn attach(device: &File) -> io::Result<Mount> {
    // SAFETY: the name is a C string; the result is checked before use.
    let context =
        owned(unsafe { libc::syscall(libc::SYS_fsopen, c"fuse".as_ptr(), CLOSE_ON_EXEC) })?;
    let descriptor = device.as_raw_fd().to_string();
    for (key, value) in [
        (c"fd", descriptor.as_str()),
        (c"rootmode", "40000"),
        (c"user_id", "0"),
        (c"group_id", "0"),
        (c"source", "stithy-drive"),
    ] {
        set_text(context.as_raw_fd(), key, value)?;
    }
    let null = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes no key and no value.
    let made = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            SET_FLAG_CREATE,
            null,
            null,
            0,
        )
    };
    succeeded(made)?;
    // SAFETY: the call takes numbers only; the result is checked before use.
    let root =
        owned(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOSE_ON_EXEC, 0) })?;
    Ok(Mount { root })
}

fn set_text(context: RawFd, key: &CStr, value: &str) -> io::Result<()> {
    let value = CString::new(value).map_err(io::Error::other)?;
    // SAFETY: key and value are C strings that outlive the call.
    let set = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context,
            SET_STRING,
            key.as_ptr(),
            value.as_ptr(),
            0,
        )
    };
    succeeded(set)
}

fn succeeded(result: libc::c_long) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    succeeded(result)?;
    // SAFETY: the system has just made this descriptor, and nobody else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(result as RawFd) })
}
