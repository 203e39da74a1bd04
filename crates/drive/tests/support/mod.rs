//! What the tests of a real device share: direct I/O from aligned memory, and specs of drives.
//!
//! They need root, /dev/fuse and loop devices. Without these they are skipped and say so, or fail where
//! `STITHY_REQUIRE` names `drive`, as `make test REQUIRE=drive` does.

#![allow(dead_code)] // each test program uses its own part of this module

pub mod checker;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use stithy_wire::{CutRule, DriveBacking, DriveFault, DriveSpec, DriveVolatile};

/// What is missing for a drive on this machine, really tried; None when it can be made.
pub fn missing() -> Option<String> {
    let made =
        stithy_drive::device::Device::up(&spec("probe", 1 << 20)).and_then(|device| device.down());
    made.err().map(|error| error.to_string())
}

/// Whether a test may go on; says why not, and fails where drives are required.
#[allow(clippy::print_stderr)] // a test that is skipped must not be silent about it
pub fn drives_are_possible() -> bool {
    static MISSING: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let Some(problem) = MISSING.get_or_init(missing) else {
        return true;
    };
    let required = std::env::var("STITHY_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|each| each == "drive"),
        "needs drive: {problem}"
    );
    let line = format!("skipped: needs drive: {problem}: crates/drive/tests");
    eprintln!("{line}");
    if let Some(file) = std::env::var_os("STITHY_LEFT_OUT") {
        let noted = OpenOptions::new().append(true).create(true).open(file);
        if let Err(error) = noted.and_then(|mut noted| writeln!(noted, "{line}")) {
            eprintln!("{error}");
        }
    }
    false
}

/// A page of memory that starts where a page starts.
#[repr(C, align(4096))]
#[derive(Clone, Copy, PartialEq)]
pub struct Page([u8; 4096]);

impl Page {
    pub fn filled(value: u8) -> Self {
        Page([value; 4096])
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Pages one after the other.
pub struct Pages(Vec<Page>);

impl Pages {
    /// Every page, and every byte of it, another value that follows from `seed`.
    pub fn patterned(pages: usize, seed: u8) -> Self {
        let mut all = Pages(vec![Page::filled(0); pages]);
        for (index, byte) in all.bytes_mut().iter_mut().enumerate() {
            *byte = (index / 512 + index) as u8 ^ seed;
        }
        all
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: pages are plain bytes without padding, one after the other.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 4096) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * 4096) }
    }
}

/// A drive in memory that takes no time and whose cache is volatile.
pub fn spec(name: &str, size_bytes: u64) -> DriveSpec {
    DriveSpec {
        name: name.to_string(),
        size_bytes,
        sector_bytes: 4096,
        backing: DriveBacking::Memory,
        volatile: DriveVolatile::Bytes {
            limit_bytes: 1 << 30,
        },
        profile: None,
        scale: 1.0,
        seed: 1,
        transport_s: Some(0.0),
        spin_s: Some(0.0),
        hlog_stem: None,
    }
}

/// A power cut that loses everything volatile.
pub fn lose_all(seed: u64) -> DriveFault {
    DriveFault::PowerCut(CutRule {
        seed,
        lost_share: 1.0,
        torn_share: 0.0,
        unit_bytes: 4096,
    })
}

pub fn open_direct(path: &str) -> File {
    open(path, libc::O_DIRECT)
}

pub fn open_exclusively(path: &str) -> File {
    open(path, libc::O_EXCL)
}

pub fn open_cached(path: &str) -> File {
    open(path, 0)
}

fn open(path: &str, flags: i32) -> File {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path);
    opened.unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Discards a range of a block device.
pub fn discard(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    const DISCARD: libc::c_ulong = 0x1277; // BLKDISCARD of linux/fs.h
    let range = [offset_bytes, length_bytes];
    // SAFETY: the call reads two numbers, which outlive it.
    match unsafe { libc::ioctl(file.as_raw_fd(), DISCARD, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The name of the file that a loop device is over; None where it has none.
pub fn backing_name(path: &str) -> Option<String> {
    let name = path.trim_start_matches("/dev/");
    std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()
}

/// A loop device over a file. Another drive may take the device when this one is gone.
pub struct Attachment {
    path: String,
    name: String,
}

impl Attachment {
    pub fn of(path: &str) -> Self {
        Attachment {
            path: path.to_string(),
            name: backing_name(path).expect("it has a file"),
        }
    }

    pub fn is_there(&self) -> bool {
        backing_name(&self.path).as_ref() == Some(&self.name)
    }
}
