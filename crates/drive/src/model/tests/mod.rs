//! Whether the shipped drives give what is published of them, in simulated time. The numbers are those of the
//! four reports that Stithy is checked against, as they print them.

pub(super) mod bench;

use stithy_measure::Rng;

use self::bench::*;
use super::{of_profile, Model};
use crate::profile::{Profile, CATALOGUE};
use crate::request::{Operation, Request};

/// Random requests of one size, of which a share are reads.
fn mix(read_share: f64, length_bytes: u64) -> impl FnMut() -> Request {
    let (mut offset, mut rng) = (random_offsets(1, 1 << 34), Rng::new(1, 98));
    move || match rng.chance(read_share) {
        true => request(Operation::Read, offset(), length_bytes),
        false => request(Operation::Write, offset(), length_bytes),
    }
}

fn shipped(name: &str) -> Box<dyn Model> {
    let shipped = CATALOGUE.iter().find(|shipped| shipped.name == name);
    let profile = Profile::check(shipped.expect("it is shipped").text);
    of_profile(&profile.expect("it is right"), 1)
}

fn near(expected: f64, actual: f64, tolerance: f64) {
    let off = (actual / expected - 1.0).abs();
    assert!(off <= tolerance, "{actual} is not {expected}: off by {off}");
}

/// The data stores give the published IOPS at the published mean latency, with as many requests under way
/// as the two imply.
#[test]
fn the_data_stores_are_as_published() {
    let kib = 1024.0;
    let points = [
        // HCIBench, random 4 KiB, 70 % read.
        ("dc1500m-vsan", 0.7, 4 * 1024, 355_000.0, 0.4),
        ("micron-5200-vsan", 0.7, 4 * 1024, 178_000.0, 0.6),
        // HCIBench, 128 KiB, read, printed as 17.8 and 2.79 GB/s.
        ("dc1500m-vsan", 1.0, 128 * 1024, 17.8e9 / (128.0 * kib), 0.9),
        (
            "micron-5200-vsan",
            1.0,
            128 * 1024,
            2.79e9 / (128.0 * kib),
            4.4,
        ),
    ];
    for (name, read_share, length_bytes, iops, mean_ms) in points {
        let depth = (iops * mean_ms / 1e3_f64).round() as u64;
        let model = &mut *shipped(name);
        let samples = closed_loop(model, depth, S / 2, mix(read_share, length_bytes));
        near(iops, iops_of(&samples), 0.02);
        near(mean_ms * 1e6, mean_ns(&samples), 0.02);
    }
    // HCIBench, 128 KiB, written: 6.7 GB/s, and 5.9 times less.
    for (name, bytes_per_s) in [("dc1500m-vsan", 6.7e9), ("micron-5200-vsan", 6.7e9 / 5.9)] {
        let samples = closed_loop(&mut *shipped(name), 192, S / 2, mix(0.0, 128 * 1024));
        near(bytes_per_s, iops_of(&samples) * 128.0 * kib, 0.02);
    }
}

/// The single drives reach the specified random IOPS and sequential bandwidth, and no more.
#[test]
fn the_drives_reach_their_specification() {
    let points = [
        ("p4800x-375", 1.0, 550_000.0),
        ("p4800x-375", 0.0, 500_000.0),
        ("p4500-2000", 1.0, 490_000.0),
        ("p4500-2000", 0.0, 38_000.0),
        ("x25-e-32", 1.0, 35_000.0),
        ("x25-e-32", 0.0, 3_300.0),
        ("gp3", 0.5, 3_000.0),
        ("io2", 0.5, 16_000.0),
    ];
    for (name, read_share, iops) in points {
        let samples = closed_loop(&mut *shipped(name), 64, S, mix(read_share, 4096));
        near(iops, iops_of(&samples), 0.01);
    }
    for (name, read_share, mb_per_s) in [("p4500-2000", 1.0, 3_200.0), ("p4500-2000", 0.0, 1_050.0)]
    {
        let samples = closed_loop(&mut *shipped(name), 32, S, mix(read_share, 1 << 17));
        near(
            mb_per_s * 1e6,
            samples.len() as f64 * f64::from(1 << 17),
            0.01,
        );
    }
}

/// At queue depth 1 the P4800X takes the measured 8.9 µs for a read of 4 KiB, and 10 µs at the 99th
/// percentile; the P4500 the specified 85 µs.
#[test]
fn single_reads_take_as_long_as_published() {
    let samples = closed_loop(&mut *shipped("p4800x-375"), 1, S, mix(1.0, 4096));
    near(8.9e3, mean_ns(&samples), 0.03);
    near(10e3, quantile_ns(&samples, 0.99) as f64, 0.01);
    let samples = closed_loop(&mut *shipped("p4500-2000"), 1, S, mix(1.0, 4096));
    near(85e3, quantile_ns(&samples, 0.5) as f64, 0.01);
}

/// Every shipped drive serves every kind of request, and forgets all of it when its power is cut.
#[test]
fn every_shipped_drive_serves_everything() {
    for each in CATALOGUE {
        let model = &mut *shipped(each.name);
        let arrivals: Vec<_> = Operation::ALL
            .into_iter()
            .cycle()
            .take(40)
            .map(|operation| (MS, request(operation, 1 << 20, 8192)))
            .collect();
        let finished = open_loop(model, &arrivals);
        assert!(
            finished.iter().all(|at| *at >= MS),
            "{}: {finished:?}",
            each.name
        );
        for (id, (_, request)) in arrivals.iter().enumerate() {
            model.submit(stithy_measure::Moment(100 * S), id as u64, request, 1);
        }
        model.reset(stithy_measure::Moment(100 * S));
        assert_eq!(None, model.next_done(), "{}", each.name);
        assert!(model.cache_fill_bytes().unwrap_or(0) == 0, "{}", each.name);
    }
}
