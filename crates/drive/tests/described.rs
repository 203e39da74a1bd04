//! A described drive as the kernel sees it: it takes its time, and what cannot be described is refused.

use std::os::unix::fs::FileExt;

mod support;

use std::sync::Arc;
use std::time::Duration;

use stithy_drive::device::{Device, Surroundings};
use stithy_drive::fleet::Fleet;
use stithy_drive::profile::CATALOGUE;
use stithy_drive::serve::Timing;
use stithy_drive::wakefulness::Wakefulness;
use support::{open_direct, spec, Page};

/// 5 ms a read, 2 ms a write, 3 ms a flush; writes are on the medium when they are answered.
const SLOW: &str = r#"
version = 1
name = "slow"
title = "A slow drive"
capacity_bytes = 16_777_216
channels = 1
read = { p50_us = 5_000, p99_us = 5_000, bytes_per_s = 1e9 }
write = { p50_us = 2_000, p99_us = 2_000, bytes_per_s = 1e9 }
flush = { cost_us = 3_000 }
[provenance]
assumed = ["capacity_bytes", "channels", "read", "write", "flush"]
"#;

/// Each request takes at least the time of the profile.
#[test]
fn a_described_drive_takes_its_time() {
    if !support::drives_are_possible() {
        return;
    }
    let mut described = spec("described", 16 << 20);
    described.profile = Some(SLOW.to_string());
    let device = Device::up(&described).expect("root, FUSE and a loop device");
    let file = open_direct(&device.ready().device);
    let mut page = Page::filled(7);
    for n in 0..5 {
        file.write_all_at(page.bytes(), n * 4096).unwrap();
        file.read_exact_at(page.bytes_mut(), n * 4096).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    let counters = device.down().expect("nobody uses it");
    for (name, least_s) in [("read", 5e-3), ("write", 2e-3), ("flush", 3e-3)] {
        let each = counters.operations.iter().find(|each| each.name == name);
        let counted = each.expect("every operation is told");
        let p50_s = counted.latency.p50_s.expect("some were answered");
        // A histogram of three digits rounds by a thousandth.
        assert!(p50_s >= 0.999 * least_s, "{name}: {p50_s} s");
    }
}

/// A drive that is told nothing of the transport's time finds by the kernel's counters that there is some, and answers
/// earlier by it.
#[test]
fn a_drive_makes_up_for_what_the_kernel_adds() {
    if !support::drives_are_possible() {
        return;
    }
    let mut compensated = spec("compensated", 16 << 20);
    compensated.profile = Some(SLOW.replace("5_000", "500"));
    (compensated.transport_s, compensated.spin_s) = (None, None);
    let surroundings = Surroundings {
        timing: Timing {
            beside: Some(Duration::ZERO),
            ..Timing::default()
        },
        awake: Arc::new(Wakefulness::default()),
        ..Surroundings::default()
    };
    let device =
        Device::up_beside(&compensated, surroundings).expect("root, FUSE and a loop device");
    let file = open_direct(&device.ready().device);
    let mut page = Page::filled(0);
    for _ in 0..2_000 {
        file.read_exact_at(page.bytes_mut(), 0).unwrap();
    }
    drop(file);
    let counters = device.down().expect("nobody uses it");
    let read = &counters.operations[0];
    // Somebody else may look at a new device, and requests wait for each other.
    assert!(read.given_mean_s >= Some(500e-6), "{read:?}");
    let earlier_s = read.earlier_mean_s.expect("some were answered");
    assert!(earlier_s > 1e-6, "{earlier_s} s: none was answered earlier");
}

/// A drive larger than its profile, and a profile that is wrong, are refused before anything is made.
#[test]
fn what_cannot_be_described_is_refused() {
    let mut drive = spec("refused", 32 << 20);
    drive.profile = Some(SLOW.to_string());
    let error = Device::up(&drive).err().expect("it is too large");
    assert_eq!(("drive-invalid", "size_bytes"), (error.code, &*error.place));
    drive.profile = Some(SLOW.replace("channels = 1", "channels = 0"));
    let error = Device::up(&drive).err().expect("it has no channel");
    assert_eq!("profile-invalid", error.code);
    assert!(error.problem.contains("profile:6: channels = 0"), "{error}");
}

/// Every shipped drive comes up, small, and serves.
#[test]
fn every_shipped_drive_comes_up() {
    if !support::drives_are_possible() {
        return;
    }
    for shipped in CATALOGUE {
        let mut drive = spec(shipped.name, 16 << 20);
        drive.profile = Some(shipped.text.to_string());
        let device = Device::up(&drive).expect("root, FUSE and a loop device");
        let file = open_direct(&device.ready().device);
        let (written, mut seen) = (Page::filled(3), Page::filled(0));
        file.write_all_at(written.bytes(), 4096).unwrap();
        file.sync_all().unwrap();
        file.read_exact_at(seen.bytes_mut(), 4096).unwrap();
        assert!(written == seen, "{}", shipped.name);
        drop(file);
        device.down().expect("nobody uses it");
    }
}

/// How the machine's drives are to wait is measured once, and drives without a setting wait so; one
/// with a setting of its own follows it.
#[test]
fn a_drive_that_is_not_told_waits_as_the_machine_needs() {
    if !support::drives_are_possible() {
        return;
    }
    let fleet = Fleet::new(Box::new(|_| ()), Wakefulness::default());
    let up = |name: &str, transport_s: Option<f64>, spin_s: Option<f64>| {
        let mut drive = spec(name, 16 << 20);
        drive.profile = Some(SLOW.to_string());
        (drive.transport_s, drive.spin_s) = (transport_s, spin_s);
        let ready = fleet.up(&drive).expect("root, FUSE and a loop device");
        (ready.transport_s, ready.spin_s)
    };
    assert_eq!((1e-5, 0.0), up("told", Some(1e-5), Some(0.0)));
    let (transport_s, spin_s) = up("untold", None, None);
    // Nothing is known of the machine but that a request takes some time, and an alarm too.
    assert!(
        transport_s > 1e-6 && spin_s > 1e-7,
        "{transport_s} s, {spin_s} s"
    );
    assert_eq!((transport_s, spin_s), up("next", None, None));
    assert_eq!((transport_s, 1e-6), up("half", None, Some(1e-6)));
    fleet.abandon();
}
