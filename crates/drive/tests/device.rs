//! A drive as the kernel sees it: a block device that is read, written, flushed, discarded and broken.

use std::io;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

mod support;

use stithy_drive::device::Device;
use stithy_wire::DriveFault;
use support::{open_direct, spec, Page};

const MIB: u64 = 1 << 20;

/// What is written is read, a discarded range is zero, and the drive leaves nothing behind.
#[test]
fn a_device_keeps_what_is_written() {
    if !support::drives_are_possible() {
        return;
    }
    let device = Device::up(&spec("keeps", 64 * MIB)).expect("root, FUSE and a loop device");
    let attached = support::Attachment::of(&device.ready().device);
    let file = open_direct(&device.ready().device);
    let page = Page::filled(7);
    file.write_all_at(page.bytes(), 8 * MIB).unwrap();
    file.sync_all().unwrap();
    let mut seen = Page::filled(0);
    file.read_exact_at(seen.bytes_mut(), 8 * MIB).unwrap();
    assert!(page == seen);
    support::discard(&file, 8 * MIB, MIB).unwrap();
    file.read_exact_at(seen.bytes_mut(), 8 * MIB).unwrap();
    assert!(Page::filled(0) == seen);
    drop(file);
    let counters = device.down().expect("nobody uses it");
    let answered: Vec<u64> = counters
        .operations
        .iter()
        .map(|each| each.answered)
        .collect();
    assert!(answered.iter().all(|&count| count > 0), "{answered:?}");
    assert!(!attached.is_there());
}

/// A drive without power fails; when it is back, what was flushed is there and what was not is lost.
#[test]
fn a_power_cut_takes_what_was_not_flushed() {
    if !support::drives_are_possible() {
        return;
    }
    let device = Device::up(&spec("cut", 16 * MIB)).expect("root, FUSE and a loop device");
    let file = open_direct(&device.ready().device);
    file.write_all_at(Page::filled(1).bytes(), 0).unwrap();
    file.sync_all().unwrap();
    file.write_all_at(Page::filled(2).bytes(), 0).unwrap();
    file.write_all_at(Page::filled(3).bytes(), 4096).unwrap();
    device.fault(support::lose_all(1)).expect("it is possible");
    let mut seen = Page::filled(9);
    let failed = file.read_exact_at(seen.bytes_mut(), 0).unwrap_err();
    assert_eq!(Some(libc::EIO), failed.raw_os_error());
    assert!(file.write_all_at(Page::filled(4).bytes(), 0).is_err());
    device.fault(DriveFault::PowerOn).expect("it was off");
    file.read_exact_at(seen.bytes_mut(), 0).unwrap();
    assert!(Page::filled(1) == seen);
    file.read_exact_at(seen.bytes_mut(), 4096).unwrap();
    assert!(Page::filled(0) == seen);
    drop(file);
    device.down().expect("nobody uses it");
}

/// What was only in the machine's memory goes with the power: it is neither read nor written afterwards.
#[test]
fn what_the_kernel_cached_goes_with_the_power() {
    if !support::drives_are_possible() {
        return;
    }
    let device = Device::up(&spec("cached", 16 * MIB)).expect("root, FUSE and a loop device");
    let path = device.ready().device.clone();
    let cached = support::open_cached(&path);
    cached.write_all_at(Page::filled(5).bytes(), 0).unwrap();
    device.fault(support::lose_all(1)).expect("it has power");
    device.fault(DriveFault::PowerOn).expect("it was off");
    let mut seen = Page::filled(9);
    cached.read_exact_at(seen.bytes_mut(), 0).unwrap();
    assert!(Page::filled(0) == seen);
    // The kernel tells once that it could not write.
    let _ = cached.sync_all();
    let direct = open_direct(&path);
    direct.read_exact_at(seen.bytes_mut(), 0).unwrap();
    assert!(Page::filled(0) == seen);
    drop((cached, direct));
    device.down().expect("nobody uses it");
}

/// A drive that somebody has open is described, and ends when that lets go; a moment is waited for.
#[test]
fn a_device_in_use_is_told_of() {
    if !support::drives_are_possible() {
        return;
    }
    let device = Device::up(&spec("held", 16 * MIB)).expect("root, FUSE and a loop device");
    let attached = support::Attachment::of(&device.ready().device);
    assert!(!device.is_held());
    let passing = support::open_exclusively(&device.ready().device);
    assert!(device.is_held());
    let letting_go = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        drop(passing);
    });
    assert!(
        device.refuse_held("").is_ok(),
        "it is held for a moment only"
    );
    letting_go.join().unwrap();
    let file = support::open_exclusively(&device.ready().device);
    assert!(device.is_held());
    assert!(device.refuse_held("").is_err());
    let error = device.down().expect_err("it is in use");
    assert_eq!("device-in-use", error.code);
    drop(file);
    assert!(!attached.is_there());
}

/// Requests of every size are answered whole, with sectors of both sizes.
#[test]
fn requests_of_every_size_are_answered() -> io::Result<()> {
    if !support::drives_are_possible() {
        return Ok(());
    }
    for sector_bytes in [512, 4096] {
        let mut drive = spec("sizes", 64 * MIB);
        drive.sector_bytes = sector_bytes;
        let device = Device::up(&drive).expect("root, FUSE and a loop device");
        let file = open_direct(&device.ready().device);
        for pages in [1_usize, 2, 16, 128, 256, 700] {
            let written = support::Pages::patterned(pages, pages as u8);
            file.write_all_at(written.bytes(), MIB)?;
            let mut seen = support::Pages::patterned(pages, 0);
            file.read_exact_at(seen.bytes_mut(), MIB)?;
            assert!(written.bytes() == seen.bytes(), "{pages} pages");
        }
        let sector = support::Pages::patterned(1, 3);
        let sector = &sector.bytes()[..sector_bytes as usize];
        file.write_all_at(sector, u64::from(sector_bytes))?;
        drop(file);
        device.down().expect("nobody uses it");
    }
    Ok(())
}

/// Each drive is over a file of its own name: programs that compare names, such as mkfs.btrfs, would take two
/// drives for one, and a drive for mounted because another is.
#[test]
fn no_two_drives_are_over_files_of_one_name() {
    if !support::drives_are_possible() {
        return;
    }
    let up = |name: &str| Device::up(&spec(name, 16 * MIB)).expect("root, FUSE and a loop device");
    let (first, second) = (up("first"), up("second"));
    let names = [&first, &second].map(|device| support::backing_name(&device.ready().device));
    assert!(names.iter().all(Option::is_some), "{names:?}");
    assert_ne!(names[0], names[1]);
    first.down().expect("nobody uses it");
    second.down().expect("nobody uses it");
}

/// A loop device keeps the read-ahead that its last user set; a drive is read like a new device all the same.
#[test]
fn a_drive_is_read_ahead_as_far_as_a_new_device() {
    if !support::drives_are_possible() {
        return;
    }
    let up = || Device::up(&spec("ahead", 16 * MIB)).expect("root, FUSE and a loop device");
    let settings = |device: &Device| {
        let name = device.ready().device.replace("/dev/", "/sys/block/");
        std::path::PathBuf::from(name).join("queue/read_ahead_kb")
    };
    let mut left_by = Vec::new();
    for _ in 0..20 {
        let device = up();
        let place = settings(&device);
        assert_eq!("128\n", std::fs::read_to_string(&place).unwrap());
        std::fs::write(&place, "2560").unwrap();
        device.down().expect("nobody uses it");
        if left_by.contains(&place) {
            return;
        }
        left_by.push(place);
    }
    panic!("no loop device was had twice: {left_by:?}");
}
