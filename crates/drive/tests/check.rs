//! Proof that it is a disk: eight lanes of unique patterns, mixed sizes, flushes and discards, and readers of
//! what they write at the same moment, with and without power cuts; and proof that the check can fail.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

mod support;

use stithy_measure::Rng;
use stithy_wire::DriveFault;
use support::checker::bench::{Bench, Shape};
use support::checker::flawed::{Flaw, Flawed, FLAWS};
use support::checker::lane::{Lane, Plan};
use support::checker::wanderer::{wander, LaneView};
use support::checker::Findings;

const LANE_BYTES: u64 = 2 << 20;

fn folder() -> PathBuf {
    std::env::temp_dir()
}

/// Without faults every reader sees the newest, while the drive works and afterwards, through the drive
/// and past it.
fn the_newest_is_read_everywhere(seeds: impl IntoIterator<Item = u64>, each: Duration) {
    if !support::drives_are_possible() {
        return;
    }
    for seed in seeds {
        let mut bench = Bench::new(&folder(), Shape::of_seed(seed, LANE_BYTES));
        let (findings, work) = bench.check(each);
        assert_eq!(Findings::default(), findings, "seed {seed}");
        assert!(work.reads > 0 && work.discards > 0 && work.flushes > 0);
        assert_eq!(Findings::default(), bench.down(), "seed {seed}, its image");
    }
}

/// Of each kind of cache, sector, image and drive one.
#[test]
fn the_newest_write_is_read_everywhere() {
    the_newest_is_read_everywhere([0, 3, 5, 8], Duration::from_secs(2));
}

/// Of every shape, three minutes in all. An hour of it is a part of `make prove`.
#[test]
#[ignore = "three minutes long: a part of make test-all"]
fn the_newest_write_is_read_everywhere_for_long() {
    the_newest_is_read_everywhere(0..12, Duration::from_secs(15));
}

/// After each of a number of seeded power cuts under load, what was flushed is there and whole, and
/// nothing appears that was never written.
fn cuts_take_nothing_flushed(groups: impl IntoIterator<Item = u64>, cuts: impl Fn(u64) -> u64) {
    if !support::drives_are_possible() {
        return;
    }
    let mut harmed = 0;
    for group in groups {
        let shape = Shape::of_seed(group, LANE_BYTES);
        let mut bench = Bench::new(&folder(), shape);
        let mut rng = Rng::new(group, 2);
        for seed in 4 * group..4 * group + cuts(group) {
            let load = Duration::from_millis(50 + rng.below(150));
            let account = bench.cut(load, seed);
            assert_eq!(Findings::default(), account.findings, "cut {seed}");
            harmed += account.counts.torn + account.counts.lost;
        }
        assert_eq!(
            Findings::default(),
            bench.down(),
            "group {group}, its image"
        );
    }
    assert!(harmed > 0, "no cut harmed anything: they prove nothing");
}

/// Fourteen of them.
#[test]
fn power_cuts_take_nothing_that_was_flushed() {
    let cuts = |group| if group > 8 { 4 } else { 2 };
    cuts_take_nothing_flushed([0, 3, 8, 12, 13], cuts);
}

/// Sixty of them, with every shape. Two hundred are a part of `make prove`.
#[test]
#[ignore = "a minute long: a part of make test-all"]
fn many_power_cuts_take_nothing_that_was_flushed() {
    cuts_take_nothing_flushed(0..15, |_| 4);
}

/// With flushes that lie the same check finds losses: it can fail.
#[test]
fn lying_flushes_are_found() {
    if !support::drives_are_possible() {
        return;
    }
    let shape = Shape::of_seed(0, LANE_BYTES);
    let mut bench = Bench::new(&folder(), shape);
    bench.fault(DriveFault::LyingFlush);
    let found = bench.cut(Duration::from_millis(500), 4).findings;
    assert!(found.lost > 0, "{found:?}");
    assert_eq!((0, 0), (found.foreign, found.late));
    bench.down();
}

/// Flipped bits are found: the check sees content that was never written.
#[test]
fn corrupt_bits_are_found() {
    if !support::drives_are_possible() {
        return;
    }
    let mut bench = Bench::new(&folder(), Shape::of_seed(0, LANE_BYTES));
    assert_eq!(
        Findings::default(),
        bench.check(Duration::from_millis(100)).0
    );
    bench.fault(DriveFault::Corrupt {
        offset_bytes: 0,
        length_bytes: LANE_BYTES,
        bits: 3,
        seed: 1,
    });
    let found = bench.down();
    assert!((1..=3).contains(&found.foreign), "{found:?}");
}

/// Checks a disk in memory as a drive is checked, by one lane and one wanderer, with a cut at the end; gives
/// what was found before it, and after it.
fn checked(flaw: Flaw, seed: u64) -> (Findings, Findings) {
    let disk = Flawed::new(flaw, 1 << 18);
    let plan = Plan {
        lane_bytes: 1 << 18,
        sector_bytes: 512,
        flush_share: 0.05,
        seed,
    };
    let mut lane = Lane::new(0, plan, Arc::default());
    let views = [LaneView::of(&lane)];
    let stop = AtomicBool::new(false);
    let before = std::thread::scope(|scope| {
        let walk = scope.spawn(|| wander(&disk, &views, 512, seed, &stop));
        for _ in 0..600 {
            lane.step(&disk).expect("it has power");
        }
        stop.store(true, Ordering::Relaxed);
        walk.join().expect("it ends").1 .0
    });
    let before = before.and(lane.take_account().0);
    let before = before.and(lane.verify(&disk).expect("it has power"));
    disk.cut();
    // Its answer is the flaw's affair.
    let _ = lane.write_into_the_dark(&disk);
    disk.power_on();
    let after = lane.verify_after_cut(&disk, 512).expect("it has power");
    (before, after)
}

/// A disk without a flaw has nothing to be found, with many seeds.
#[test]
fn a_sound_disk_is_found_sound() {
    for seed in 0..10 {
        let nothing = (Findings::default(), Findings::default());
        assert_eq!(nothing, checked(Flaw::Sound, seed), "seed {seed}");
    }
}

/// Every planted fault is found, with every seed: stale, torn, lost, swapped, misplaced and mixed
/// units, discards and flushes that did nothing, a write that came after the cut.
#[test]
fn every_planted_fault_is_found() {
    for (flaw, is_seen_after_cut) in FLAWS {
        for seed in 0..5 {
            let (before, after) = checked(*flaw, seed);
            if *is_seen_after_cut {
                assert_eq!(Findings::default(), before, "{flaw:?}, seed {seed}");
                assert_ne!(Findings::default(), after, "{flaw:?}, seed {seed}");
            } else {
                assert_ne!(Findings::default(), before, "{flaw:?}, seed {seed}");
            }
        }
    }
}
