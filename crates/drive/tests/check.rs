//! Proof that it is a disk: eight lanes of unique patterns, mixed sizes, flushes and discards, with and
//! without power cuts; and proof that the check can fail.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod support;

use stithy_drive::device::Device;
use stithy_drive::drive::FaultOutcome;
use stithy_drive::random::Rng;
use stithy_wire::{DriveBacking, DriveFault};
use support::checker::{open_image, Findings, Lane};
use support::{open_direct, spec};

const LANES: u64 = 8;
const LANE_BYTES: u64 = 1 << 20;

/// A drive over a file that goes with it, and its lanes.
struct Bench {
    device: Device,
    lanes: Vec<Lane>,
    image: Image,
}

struct Image(PathBuf);

impl Drop for Image {
    fn drop(&mut self) {
        // A file that is gone already is as good.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Bench {
    fn new(name: &str, seed: u64) -> Self {
        let image =
            Image(std::env::temp_dir().join(format!("stithy-{name}-{}", std::process::id())));
        let mut spec = spec(name, LANES * LANE_BYTES);
        spec.backing = DriveBacking::File {
            path: image.0.display().to_string(),
        };
        let lanes = (0..LANES)
            .map(|lane| Lane::new(lane, LANE_BYTES, seed))
            .collect();
        Bench {
            device: Device::up(&spec).expect("root, FUSE and a loop device"),
            lanes,
            image,
        }
    }

    /// Loads the drive until its power is cut; gives how many writes were torn or lost.
    fn load_and_cut(&mut self, fault: &DriveFault, load: Duration) -> u64 {
        let path = self.device.ready().device.clone();
        std::thread::scope(|scope| {
            let loads: Vec<_> = self
                .lanes
                .iter_mut()
                .map(|lane| scope.spawn(|| lane.load(&path)))
                .collect();
            std::thread::sleep(load);
            let outcome = self.device.fault(fault.clone()).expect("it has power");
            for load in loads {
                let error = load.join().expect("what it read back was the newest");
                assert_eq!(Some(libc::EIO), error.raw_os_error());
            }
            match outcome {
                FaultOutcome::Cut(counts) => counts.torn + counts.lost,
                FaultOutcome::Set => panic!("the power was not cut"),
            }
        })
    }

    /// What is wrong after a cut. The image is read past the drive first, and must be the same when the
    /// power is back: nothing reached it since the cut.
    fn verify_after_cut(&mut self) -> Findings {
        let before = std::fs::read(&self.image.0).expect("the image is a file");
        self.device.fault(DriveFault::PowerOn).expect("it was off");
        let file = open_direct(&self.device.ready().device);
        let mut findings = Findings::default();
        for lane in &mut self.lanes {
            let found = lane.verify_after_cut(&file).expect("it has power");
            findings.lost += found.lost;
            findings.foreign += found.foreign;
        }
        let after = std::fs::read(&self.image.0).expect("the image is a file");
        assert!(before == after, "something reached the drive after the cut");
        findings
    }

    fn stale(&self, source: &File) -> usize {
        let stale = |lane: &Lane| lane.count_stale(source).expect("it is read");
        self.lanes.iter().map(stale).sum()
    }

    fn down(self) {
        self.device.down().expect("nobody uses it");
    }
}

fn cut(seed: u64) -> DriveFault {
    DriveFault::PowerCut {
        seed,
        lost_share: 0.3,
        torn_share: 0.4,
        unit_bytes: if seed % 2 == 0 { 512 } else { 4096 },
    }
}

/// Without faults every lane reads back what it wrote last, through the drive and from its image.
#[test]
fn the_newest_write_is_read_everywhere() {
    if !support::drives_are_possible() {
        return;
    }
    let mut bench = Bench::new("newest", 1);
    let path = bench.device.ready().device.clone();
    std::thread::scope(|scope| {
        for lane in &mut bench.lanes {
            scope.spawn(|| lane.load_steps(&path, 400));
        }
    });
    assert_eq!(0, bench.stale(&open_direct(&path)));
    assert_eq!(0, bench.stale(&open_image(Path::new(&bench.image.0))));
    bench.down();
}

/// After each of ten seeded power cuts under load, what was flushed is there and whole, and nothing
/// appears that was never written.
#[test]
fn power_cuts_take_nothing_that_was_flushed() {
    if !support::drives_are_possible() {
        return;
    }
    let mut bench = Bench::new("cuts", 2);
    let mut rng = Rng::new(2, 1);
    let mut harmed = 0;
    for seed in 0..10 {
        let load = Duration::from_millis(50 + rng.below(100));
        harmed += bench.load_and_cut(&cut(seed), load);
        assert_eq!(Findings::default(), bench.verify_after_cut(), "cut {seed}");
    }
    assert!(harmed > 0, "no cut harmed anything: they prove nothing");
    bench.down();
}

/// Two hundred cuts, the seed of each told where it fails: for a machine with minutes to spare.
#[test]
#[ignore = "takes a minute: cargo test --release --test check -- --ignored"]
fn two_hundred_power_cuts_take_nothing_that_was_flushed() {
    if !support::drives_are_possible() {
        return;
    }
    let mut harmed = 0;
    for group in 0..20 {
        let mut bench = Bench::new(&format!("many-{group}"), 100 + group);
        let mut rng = Rng::new(group, 2);
        for number in 0..10 {
            let seed = group * 10 + number;
            let load = Duration::from_millis(20 + rng.below(300));
            harmed += u64::from(bench.load_and_cut(&cut(seed), load) > 0);
            assert_eq!(Findings::default(), bench.verify_after_cut(), "cut {seed}");
        }
        bench.down();
    }
    assert!(harmed > 150, "only {harmed} of 200 cuts harmed anything");
}

/// With flushes that lie the same check finds losses: it can fail.
#[test]
fn lying_flushes_are_found() {
    if !support::drives_are_possible() {
        return;
    }
    let mut bench = Bench::new("lies", 3);
    bench
        .device
        .fault(DriveFault::LyingFlush)
        .expect("it is possible");
    bench.load_and_cut(&cut(4), Duration::from_millis(300));
    let findings = bench.verify_after_cut();
    assert!(findings.lost > 0, "{findings:?}");
    assert_eq!(0, findings.foreign);
    bench.down();
}

/// Flipped bits are found: the check sees content that was never written.
#[test]
fn corrupt_bits_are_found() {
    if !support::drives_are_possible() {
        return;
    }
    let mut bench = Bench::new("bits", 4);
    let path = bench.device.ready().device.clone();
    bench.lanes[0].load_steps(&path, 100);
    let fault = DriveFault::Corrupt {
        offset_bytes: 0,
        length_bytes: LANE_BYTES,
        bits: 3,
        seed: 1,
    };
    bench.device.fault(fault).expect("the range is inside");
    let stale = bench.stale(&open_direct(&path));
    assert!((1..=3).contains(&stale), "{stale}");
    bench.down();
}
