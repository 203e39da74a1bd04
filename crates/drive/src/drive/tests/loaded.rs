//! A drive that was measured under load, and clients behind a transport whose way is never twice as long.

use stithy_measure::Rng;

use super::*;
use crate::model::of_profile;
use crate::profile::Profile;

/// Latencies by depth: 100 µs for one request, 150 µs for each of 4 at once, 500 µs of 16, with some spread.
const PROFILE: &str = r#"
version = 1
name = "loaded"
title = "measured under load"
capacity_bytes = 65_536
channels = 4
flush = { cost_us = 10 }
[read]
bytes_per_s = 1e9
load_shares = [0, 0.5, 1]
load_us = [[4096, 1, 90, 100, 110], [4096, 4, 130, 150, 170], [4096, 16, 400, 500, 600]]
[write]
bytes_per_s = 1e9
load_shares = [0, 1]
load_us = [[4096, 1, 100, 100]]
[provenance]
assumed = ["capacity_bytes", "channels", "read", "write", "flush"]
"#;

/// The way to the drive or back, nanoseconds: between nothing and twice its mean.
const WAY_NS: u64 = 10_000;

/// Mean latency that each of so many clients sees who waits for an answer before asking again, µs.
fn mean_us(clients: u64) -> f64 {
    let profile = Profile::parse("loaded.toml", PROFILE).expect("it is possible");
    let mut bench = Bench::with(Bench::memory(), of_profile(&profile, 1));
    let transport = TransportLatency::constant(Duration::from_nanos(2 * WAY_NS));
    bench.drive.compensate(transport);
    let mut rng = Rng::new(1, 2);
    let mut way = || rng.below(2 * WAY_NS);
    // Moment of arrival, and when it was sent.
    let mut coming: BinaryHeap<Reverse<(u64, u64)>> =
        (0..clients).map(|at| Reverse((at, at))).collect();
    let (mut sent_at, mut sum_ns, mut counted) = (HashMap::new(), 0, 0);
    let clock = ManualClock::default();
    while counted < 40_000 {
        let arrival = coming.peek().map(|Reverse((at, _))| Moment(*at));
        let due = bench.drive.next_due();
        if arrival.is_some_and(|at| due.is_none_or(|due| at < due)) {
            let Some(Reverse((at, sent))) = coming.pop() else {
                break;
            };
            bench.next += 1;
            sent_at.insert(bench.next, sent);
            bench.drive.arrive(Moment(at), read(bench.next));
            continue;
        }
        let now = due.expect("something is under way");
        clock.set(now);
        let served = bench.drive.complete(&clock, &mut bench.script);
        served.expect("the script takes everything");
        for (id, _) in bench.script.answers.drain(..) {
            let seen = now.0 + way();
            sum_ns += seen - sent_at.remove(&id).expect("it was sent");
            counted += 1;
            coming.push(Reverse((seen + way(), seen)));
        }
    }
    sum_ns as f64 / f64::from(counted) / 1e3
}

fn read(id: u64) -> Incoming {
    Incoming {
        id,
        request: Request {
            operation: Operation::Read,
            offset_bytes: 0,
            length_bytes: SECTOR,
        },
    }
}

/// The latency at a queue depth is that of the profile at this depth, which a closed loop of that depth was measured
/// to have.
#[test]
fn a_closed_loop_has_the_latency_of_its_depth() {
    for (clients, expected_us) in [(1, 100.0), (2, 122.5), (4, 149.7), (16, 498.3)] {
        let found_us = mean_us(clients);
        let off = found_us / expected_us - 1.0;
        assert!(off.abs() < 0.01, "{clients}: {found_us} µs");
    }
}
