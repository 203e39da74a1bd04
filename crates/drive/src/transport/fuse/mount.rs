//! A FUSE file system that is attached to no folder: whoever holds the mount reaches it, nobody else, and
//! it goes with its last holder.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{openat, Mode, OFlags};
use rustix::mount::{
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, FsMountFlags, FsOpenFlags,
    MountAttrFlags,
};

use super::protocol::NAME_BEGIN;

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
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        Ok(openat(&self.root, name, flags, Mode::empty())?.into())
    }
}

/// Mounts a file system that `device`, an opened `/dev/fuse`, serves. Needs root.
pub fn attach(device: &File) -> io::Result<Mount> {
    let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let descriptor = device.as_raw_fd().to_string();
    for (key, value) in [
        ("fd", descriptor.as_str()),
        ("rootmode", "40000"),
        ("user_id", "0"),
        ("group_id", "0"),
        ("source", "stithy-drive"),
    ] {
        fsconfig_set_string(&context, key, value)?;
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::empty();
    let root = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    Ok(Mount { root })
}
