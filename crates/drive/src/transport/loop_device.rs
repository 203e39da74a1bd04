//! A loop device over the file of a drive: what makes it a block device.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::DriveError;

const CONTROL: &str = "/dev/loop-control";
const GET_FREE: libc::c_ulong = 0x4C82; // LOOP_CTL_GET_FREE of linux/loop.h
const CONFIGURE: libc::c_ulong = 0x4C0A; // LOOP_CONFIGURE
const GET_STATUS: libc::c_ulong = 0x4C05; // LOOP_GET_STATUS64
const FLUSH_BUFFERS: libc::c_ulong = 0x1261; // BLKFLSBUF of linux/fs.h
const SET_READ_AHEAD: libc::c_ulong = 0x1262; // BLKRASET of linux/fs.h
const GET_READ_AHEAD: libc::c_ulong = 0x1263; // BLKRAGET of linux/fs.h
const AUTOCLEAR: u32 = 4;
const DIRECT_IO: u32 = 16;
/// How long something may hold a device and let go by itself: a probe of a new device, or a new mount namespace,
/// which has a copy of every mount until it drops them.
const PASSING: Duration = Duration::from_secs(1);

/// How far the kernel reads ahead on a new block device, 128 KiB in sectors of 512 bytes: `VM_READAHEAD_PAGES` of
/// linux/mm.h. A loop device keeps what it had before, which may be 20 times as much; two drives of one profile would
/// then be read by requests of different sizes.
const READ_AHEAD_SECTORS: libc::c_ulong = 256;

/// Of `struct loop_info64` of linux/loop.h, 232 bytes, the flags alone are of interest.
#[repr(C)]
struct Info {
    before: [u64; 5],
    number: u32,
    encrypt_type: u32,
    encrypt_key_bytes: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
struct Config {
    file: u32,
    block_bytes: u32,
    info: Info,
    reserved: [u64; 8],
}

/// A loop device of one's own. The kernel detaches it when its last user lets go, this process included,
/// even when that is killed.
pub struct LoopDevice {
    path: String,
    device: File,
}

impl LoopDevice {
    /// Puts a free loop device over `file`, with direct I/O and sectors of `sector_bytes` bytes.
    ///
    /// Another process may take the free device first: then the next one is tried.
    pub fn attach(file: &File, sector_bytes: u32, name: &str) -> Result<Self, DriveError> {
        let mut last = None;
        for _ in 0..32 {
            let path = free_device().map_err(unavailable)?;
            match Self::try_attach(&path, file, sector_bytes, name) {
                Ok(device) => return Ok(device),
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => last = Some(e),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    return Err(without_node(&path, e))
                }
                Err(e) => return Err(unavailable(e)),
            }
        }
        Err(unavailable(last.unwrap_or_else(|| {
            io::Error::from_raw_os_error(libc::EBUSY)
        })))
    }

    fn try_attach(path: &str, file: &File, sector_bytes: u32, name: &str) -> io::Result<Self> {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)?;
        configure(&device, file, sector_bytes, name)?;
        let attached = LoopDevice {
            path: path.to_string(),
            device,
        };
        if attached.flags()? & DIRECT_IO == 0 {
            return Err(io::Error::other("the kernel refused direct I/O"));
        }
        attached.set_read_ahead()?;
        Ok(attached)
    }

    /// The device's path, such as `/dev/loop3`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is held for longer than a moment, which is waited for.
    pub fn stays_held(&self) -> bool {
        let until = Instant::now() + PASSING;
        while self.is_held() {
            if Instant::now() >= until {
                return true;
            }
            sleep(Duration::from_millis(20));
        }
        false
    }

    /// Whether a file system on it is mounted, or something else holds it for itself.
    pub fn is_held(&self) -> bool {
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_EXCL | libc::O_CLOEXEC)
            .open(&self.path);
        matches!(opened, Err(e) if e.raw_os_error() == Some(libc::EBUSY))
    }

    /// Drops what the kernel has cached of the device; dirty pages are written to it first.
    pub fn drop_cache(&self) {
        // A drive without power fails these writes, which is what they are to do.
        // SAFETY: the call takes no argument.
        unsafe { libc::ioctl(self.device.as_raw_fd(), FLUSH_BUFFERS, 0) };
    }

    fn set_read_ahead(&self) -> io::Result<()> {
        let device = self.device.as_raw_fd();
        let mut found: libc::c_ulong = 0;
        // SAFETY: the first call takes a number; the second writes one, which outlives it.
        let done = unsafe {
            libc::ioctl(device, SET_READ_AHEAD, READ_AHEAD_SECTORS) == 0
                && libc::ioctl(device, GET_READ_AHEAD, &mut found) == 0
        };
        match done {
            true if found == READ_AHEAD_SECTORS => Ok(()),
            true => Err(io::Error::other("the kernel kept another read-ahead")),
            false => Err(io::Error::last_os_error()),
        }
    }

    fn flags(&self) -> io::Result<u32> {
        let mut info = empty_info();
        // SAFETY: the structure is as large as the kernel's, and outlives the call.
        match unsafe { libc::ioctl(self.device.as_raw_fd(), GET_STATUS, &mut info) } {
            0 => Ok(info.flags),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn unavailable(cause: io::Error) -> DriveError {
    let remedy =
        "run as root on a kernel with loop devices (modprobe loop), and look at `losetup -a`";
    let problem = format!("no loop device can be had: {cause}");
    DriveError::precondition("no-loop-device", problem, CONTROL, remedy).caused_by(cause)
}

/// In a container the kernel may have a loop device for which the container has no file.
fn without_node(path: &str, cause: io::Error) -> DriveError {
    const MAJOR: u32 = 7; // LOOP_MAJOR of linux/major.h
    let number = path.trim_start_matches("/dev/loop");
    let remedy = format!("make it: mknod {path} b {MAJOR} {number}");
    let problem = "the kernel has this loop device free, and there is no file for it";
    DriveError::precondition("no-loop-device", problem, path, remedy).caused_by(cause)
}

fn free_device() -> io::Result<String> {
    let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
    // SAFETY: the call takes no argument.
    match unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE) } {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(format!("/dev/loop{number}")),
    }
}

fn configure(device: &File, file: &File, sector_bytes: u32, name: &str) -> io::Result<()> {
    let mut info = empty_info();
    info.flags = AUTOCLEAR | DIRECT_IO;
    // The kernel wants a zero at the end.
    for (target, byte) in info.file_name[..63].iter_mut().zip(name.bytes()) {
        *target = byte;
    }
    let config = Config {
        file: file.as_raw_fd() as u32,
        block_bytes: sector_bytes,
        info,
        reserved: [0; 8],
    };
    // SAFETY: the structure is as large as the kernel's, and outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), CONFIGURE, &config) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn empty_info() -> Info {
    Info {
        before: [0; 5],
        number: 0,
        encrypt_type: 0,
        encrypt_key_bytes: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel reads and writes as many bytes as its own structures have.
    #[test]
    fn structures_have_the_sizes_of_the_kernels() {
        assert_eq!(232, size_of::<Info>());
        assert_eq!(304, size_of::<Config>());
    }
}
