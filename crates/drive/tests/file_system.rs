//! A file system on a drive whose power is cut: what was synced is there, what was not may be gone, and
//! nothing that the machine still had in memory reaches the drive afterwards.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

mod support;

use stithy_drive::device::Device;
use stithy_wire::{DriveBacking, DriveFault};
use support::{lose_all, spec};

/// A folder that goes with everything in it, unmounted first.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stithy-{test}-{}", std::process::id()));
        fs::create_dir_all(folder.join("mount")).expect("a temporary folder");
        Place(folder)
    }

    fn image(&self) -> PathBuf {
        self.0.join("image")
    }

    fn folder(&self) -> PathBuf {
        self.0.join("mount")
    }

    fn mount(&self, device: &str) {
        let (device, folder) = (text(Path::new(device)), text(&self.folder()));
        // SAFETY: all strings outlive the call; there are no options.
        let result = unsafe {
            libc::mount(
                device.as_ptr(),
                folder.as_ptr(),
                c"ext4".as_ptr(),
                0,
                std::ptr::null(),
            )
        };
        assert_eq!(0, result, "{}", io::Error::last_os_error());
    }

    fn unmount(&self) {
        // SAFETY: the string outlives the call.
        let result = unsafe { libc::umount2(text(&self.folder()).as_ptr(), 0) };
        assert_eq!(0, result, "{}", io::Error::last_os_error());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // After a failed test the file system may still be there.
        // SAFETY: the string outlives the call.
        unsafe { libc::umount2(text(&self.folder()).as_ptr(), libc::MNT_DETACH) };
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(path: &Path) -> CString {
    CString::new(path.display().to_string()).expect("a path without zeros")
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}: install e2fsprogs"));
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {told}{errors}");
}

fn write(path: &Path, value: u8, sync: bool) {
    let mut file = File::create(path).expect("the file system works");
    file.write_all(&[value; 100_000])
        .expect("the file system works");
    if sync {
        file.sync_all().expect("the file system works");
        let folder = File::open(path.parent().expect("it lies in a folder")).expect("it is there");
        folder.sync_all().expect("the file system works");
    }
}

/// Ends a file system as if the machine had lost its power: without another write.
fn shut_down(folder: &Path) {
    const SHUTDOWN: libc::c_ulong = 0x8004_587D; // EXT4_IOC_SHUTDOWN, as XFS_IOC_GOINGDOWN
    const WITHOUT_LOG: u32 = 2; // EXT4_GOING_FLAGS_NOLOGFLUSH
    let root = File::open(folder).expect("it is mounted");
    // SAFETY: the call reads one number, which outlives it.
    let result = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &WITHOUT_LOG) };
    assert_eq!(0, result, "{}", io::Error::last_os_error());
}

/// Three cuts: each time what was synced is there and clean, and what was only in memory is gone.
#[test]
fn a_file_system_survives_power_cuts() {
    if !support::drives_are_possible() {
        return;
    }
    let place = Place::new("ext4");
    let mut drive = spec("ext4", 128 << 20);
    drive.backing = DriveBacking::File {
        path: place.image().display().to_string(),
    };
    let device = Device::up(&drive).expect("root, FUSE and a loop device");
    let path = device.ready().device.clone();
    run("mkfs.ext4", &["-q", "-F", &path]);
    for round in 1..=3 {
        place.mount(&path);
        for earlier in 1..round {
            let content = fs::read(place.folder().join(format!("synced-{earlier}")));
            assert_eq!(Some(vec![earlier; 100_000]), content.ok(), "round {round}");
            assert!(!place.folder().join(format!("unsynced-{earlier}")).exists());
        }
        write(&place.folder().join(format!("synced-{round}")), round, true);
        write(
            &place.folder().join(format!("unsynced-{round}")),
            round,
            false,
        );
        device
            .fault(lose_all(u64::from(round)))
            .expect("it has power");
        let mounted = device
            .fault(DriveFault::PowerOn)
            .expect_err("it is mounted");
        assert_eq!("device-in-use", mounted.code);
        let before = fs::read(place.image()).expect("the image is a file");
        shut_down(&place.folder());
        place.unmount();
        device
            .fault(DriveFault::PowerOn)
            .expect("nothing is mounted");
        let after = fs::read(place.image()).expect("the image is a file");
        assert!(before == after, "something reached the drive after the cut");
    }
    place.mount(&path);
    place.unmount();
    run("fsck.ext4", &["-f", "-n", &path]);
    device.down().expect("nobody uses it");
}
