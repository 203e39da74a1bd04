//! A drive without moving parts in simulated time.

use super::*;
use crate::model::of_profile;
use crate::model::tests::bench::*;
use crate::profile::Medium;

fn reads() -> impl FnMut() -> Request {
    let mut offset = random_offsets(1, 1 << 36);
    move || request(Operation::Read, offset(), 4096)
}

fn writes(length_bytes: u64) -> impl FnMut() -> Request {
    let mut offset = random_offsets(2, 1 << 36);
    move || request(Operation::Write, offset(), length_bytes)
}

fn near(expected: f64, actual: f64, tolerance: f64) {
    let off = (actual / expected - 1.0).abs();
    assert!(off <= tolerance, "{actual} is not {expected}: off by {off}");
}

/// At queue depth 1 a log-normal latency has the quantiles that were described.
#[test]
fn a_lognormal_latency_comes_out_as_described() {
    let profile = profile("read = { p50_us = 80, p99_us = 240, bytes_per_s = 1e9 }");
    let samples = closed_loop(&mut *of_profile(&profile, 1), 1, 10 * S, reads());
    near(80e3, quantile_ns(&samples, 0.5) as f64, 0.01);
    near(240e3, quantile_ns(&samples, 0.99) as f64, 0.03);
    let Medium::Solid(solid) = &profile.medium else {
        panic!("it does not spin");
    };
    let mean_ns_expected = crate::model::mean_s(&solid.read.latency) * 1e9;
    near(mean_ns_expected, mean_ns(&samples), 0.01);
}

/// At queue depth 1 a table of quantiles comes out point by point.
#[test]
fn a_table_of_quantiles_comes_out_point_by_point() {
    let points = "[[0, 50], [0.5, 80], [0.9, 100], [0.99, 400], [1, 2000]]";
    let line = format!("read = {{ quantiles_us = {points}, bytes_per_s = 1e9 }}");
    let samples = closed_loop(&mut *of_profile(&profile(&line), 3), 1, 10 * S, reads());
    for (share, time_us) in [(0.5, 80.0), (0.9, 100.0), (0.99, 400.0)] {
        near(time_us * 1e3, quantile_ns(&samples, share) as f64, 0.04);
    }
    assert!(samples
        .iter()
        .all(|s| (50 * US..=2 * MS).contains(&s.latency_ns())));
}

const LOADED: &str = "read = { load_shares = [0, 0.5, 0.99, 1], bytes_per_s = 1e9, load_us = [\
                      [4096, 1, 50, 80, 100, 400], [4096, 16, 100, 160, 400, 900], \
                      [65536, 1, 100, 160, 300, 400], [65536, 16, 700, 900, 1200, 2000]] }";

/// Measured under load, a drive gives the measured times and rates at each depth, without queueing.
#[test]
fn times_under_load_come_out_at_each_size_and_depth() {
    let profile = profile(LOADED);
    let Medium::Solid(solid) = &profile.medium else {
        panic!("it does not spin");
    };
    let crate::profile::Latency::Load(table) = &solid.read.latency else {
        panic!("it was measured under load");
    };
    for row in &table.rows {
        let mut offset = random_offsets(1, 1 << 36);
        let next = || request(Operation::Read, offset(), row.length_bytes as u64);
        let model = &mut *of_profile(&profile, 4);
        let samples = closed_loop(model, row.depth as u64, 4 * S, next);
        for (share, time_s) in table.shares.iter().zip(&row.times_s).skip(1).take(2) {
            near(time_s * 1e9, quantile_ns(&samples, *share) as f64, 0.06);
        }
        let mean_s = crate::model::points::row_mean_s(&table.shares, &row.times_s);
        near(row.depth / mean_s, iops_of(&samples), 0.01);
    }
    let (iops, bytes_per_s) = crate::model::rates_max(&solid.read, solid.channels);
    assert!((80e3..100e3).contains(&iops) && (1.0e9..1.3e9).contains(&bytes_per_s));
}

/// Between measured depths and sizes the times lie between, and beyond the greatest depth the drive gets
/// no faster.
#[test]
fn between_and_beyond_measured_loads_times_go_on() {
    let profile = profile(LOADED);
    let at = |length_bytes, depth| {
        let mut offset = random_offsets(1, 1 << 36);
        let next = || request(Operation::Read, offset(), length_bytes);
        let samples = closed_loop(&mut *of_profile(&profile, 4), depth, 2 * S, next);
        (quantile_ns(&samples, 0.5) as f64, iops_of(&samples))
    };
    near(113e3, at(4096, 4).0, 0.02);
    near(113e3, at(16384, 1).0, 0.02);
    near(at(4096, 16).1, at(4096, 64).1, 0.01);
    near(at(512, 1).0, at(4096, 1).0, 0.01);
    near(at(65536, 1).0 + 1e6, at(65536 + 1_000_000, 1).0, 0.01);
}

/// A cap holds requests back during their measured times, not before them.
#[test]
fn a_cap_counts_into_times_under_load() {
    let profile = profile(&format!("{LOADED}\n[cap]\nread_iops = 1000"));
    let arrivals = [(S, request(Operation::Read, 0, 4096)); 3];
    let finished = open_loop(&mut *of_profile(&profile, 1), &arrivals);
    assert!(
        finished[1] < S + MS && finished[2] == S + MS,
        "{finished:?}"
    );
}

/// Bytes beyond the first 4 KiB take the time that the bandwidth of one request gives.
#[test]
fn each_further_byte_takes_its_time() {
    let mut model = of_profile(&profile(""), 1);
    let arrivals = [
        (0, request(Operation::Read, 0, 512)),
        (S, request(Operation::Read, 0, 4096)),
        (2 * S, request(Operation::Read, 0, 4096 + 1_000_000)),
    ];
    let finished = open_loop(&mut *model, &arrivals);
    assert_eq!(vec![100 * US, S + 100 * US, 2 * S + 1_100 * US], finished);
}

/// The finishing times of a first-come queue for channels are those of a slow literal version.
#[test]
fn requests_queue_for_channels_as_in_a_literal_version() {
    let profile = profile("read = { p50_us = 100, p99_us = 900, bytes_per_s = 1e9 }");
    let Medium::Solid(medium) = &profile.medium else {
        panic!("it does not spin");
    };
    let mut gaps = Rng::new(5, 5);
    let mut at = 0.0;
    let arrivals: Vec<(u64, Request)> = (0..20_000)
        .map(|_| {
            // 80 % of what four channels of 155 µs on average can do.
            at += -(1.0 - gaps.share()).ln() * 48.5e3;
            (at as u64, request(Operation::Read, 0, 4096))
        })
        .collect();
    let finished = open_loop(&mut *of_profile(&profile, 7), &arrivals);

    let (mut rng, service) = (Rng::new(7, PURPOSE), Service::new(&medium.read));
    let mut free = [0_u64; 4];
    for ((arrived, _), finished) in arrivals.iter().zip(&finished) {
        let service_ns = service.draw_ns(4096, 1, &mut rng);
        let first = free.iter_mut().min().expect("there are four");
        let start = (*first).max(*arrived) as f64;
        *first = (start + service_ns) as u64;
        assert_eq!((start + service_ns).round() as u64, *finished);
    }
}

/// Latency rises with queue depth: flat up to the channels, then in proportion to the depth.
#[test]
fn latency_rises_with_queue_depth() {
    let mean_us = |depth| {
        let samples = closed_loop(&mut *of_profile(&profile(""), 1), depth, S, reads());
        mean_ns(&samples) / 1e3
    };
    near(100.0, mean_us(1), 0.001);
    near(100.0, mean_us(4), 0.001);
    near(400.0, mean_us(16), 0.01);
}

/// An IOPS cap holds to within 1 % over 10 s, and 99 % of slices of 100 ms to within 5 % or 2 requests.
#[test]
fn an_iops_cap_is_paced_evenly() {
    for (cap, depth) in [(3_000.0, 32), (137.0, 4), (20_000.0, 64)] {
        let more = format!(
            "read = {{ p50_us = 80, p99_us = 400, bytes_per_s = 1e9 }}\n[cap]\nread_iops = {cap}"
        );
        let samples = closed_loop(&mut *of_profile(&profile(&more), 1), depth, 10 * S, reads());
        near(cap * 10.0, samples.len() as f64, 0.01);
        let even = cap / 10.0;
        let counts = slices(&samples, 100 * MS);
        let off = |count: &&u64| (**count as f64 - even).abs() > (0.05 * even).max(2.0);
        let bad = counts.iter().filter(off).count();
        assert!(
            bad * 100 <= counts.len(),
            "{bad} of {} slices",
            counts.len()
        );
    }
}

/// After an idle time two requests begin together, and the third a step later.
#[test]
fn no_burst_is_longer_than_two_requests() {
    let mut model = of_profile(&profile("[cap]\ntotal_iops = 1000"), 1);
    let arrivals: Vec<_> = (0..4)
        .map(|_| (S, request(Operation::Read, 0, 4096)))
        .collect();
    let after: Vec<u64> = open_loop(&mut *model, &arrivals)
        .iter()
        .map(|at| at - S)
        .collect();
    let service = 100 * US;
    assert_eq!(
        vec![service, service, MS + service, 2 * MS + service],
        after
    );
}

/// A bandwidth cap holds to within 1 % over 10 s, for each size of request.
#[test]
fn a_bandwidth_cap_holds_for_each_size() {
    for length_bytes in [4096, 131_072, 1 << 20] {
        let profile = profile("[cap]\nwrite_bytes_per_s = 125_000_000");
        let model = &mut *of_profile(&profile, 1);
        let samples = closed_loop(model, 8, 10 * S, writes(length_bytes));
        let bytes = samples.len() as f64 * length_bytes as f64;
        near(1.25e9, bytes, 0.01);
    }
}

/// Writes that wait for their rate keep no read back.
#[test]
fn writes_that_are_held_back_do_not_delay_reads() {
    let profile = profile("[cap]\nwrite_iops = 10\ntotal_iops = 100_000");
    let mut arrivals: Vec<_> = (0..4)
        .map(|_| (0, request(Operation::Write, 0, 4096)))
        .collect();
    arrivals.push((MS, request(Operation::Read, 0, 4096)));
    let finished = open_loop(&mut *of_profile(&profile, 1), &arrivals);
    assert_eq!(MS + 100 * US, finished[4]);
    assert!(finished[3] > 100 * MS);
}

const CACHED: &str =
    "[cache]\nsize_bytes = 1_000_000\ndrain_bytes_per_s = 10_000_000\nprotected = ";

/// A cache takes writes at its own pace until it is full, then at that of the medium; a flush waits
/// until it is empty.
#[test]
fn a_volatile_cache_fills_and_drains() {
    let model = &mut *of_profile(&profile(&format!("{CACHED}false")), 1);
    let samples = closed_loop(model, 1, S, writes(100_000));
    let fast = samples.iter().take_while(|s| s.latency_ns() < MS).count();
    assert_eq!(10, fast, "what fits is answered at once");
    near(10.0 + 100.0, samples.len() as f64, 0.03);
    let last = Moment(samples.last().expect("some").done);
    assert!(model.cache_fill_bytes().expect("it has one") > 850_000);

    model.reset(last);
    assert_eq!(Some(0), model.cache_fill_bytes());
    let at = last.0;
    let arrivals = [
        (at, request(Operation::Write, 0, 500_000)),
        (at + MS, request(Operation::Flush, 0, 0)),
    ];
    let finished = open_loop(model, &arrivals);
    assert_eq!(
        at + 50 * MS + 10 * US,
        finished[1],
        "50 ms to drain, 10 µs of its own"
    );
}

/// A flush of a protected cache takes its own time only.
#[test]
fn a_protected_cache_is_not_waited_for() {
    let model = &mut *of_profile(&profile(&format!("{CACHED}true")), 1);
    let arrivals = [
        (0, request(Operation::Write, 0, 500_000)),
        (MS, request(Operation::Flush, 0, 0)),
    ];
    assert_eq!(MS + 10 * US, open_loop(model, &arrivals)[1]);
}

/// A flush takes a time of its own distribution, where it has one.
#[test]
fn the_time_of_a_flush_may_be_distributed() {
    let text = "[cache]\nsize_bytes = 4096\ndrain_bytes_per_s = 1e9\nprotected = true";
    let mut profile = profile(text);
    profile.flush_quantiles_s = Some(vec![(0.0, 50e-6), (0.5, 100e-6), (1.0, 900e-6)]);
    let samples = closed_loop(&mut *of_profile(&profile, 1), 1, 5 * S, || {
        request(Operation::Flush, 0, 0)
    });
    near(100e3, quantile_ns(&samples, 0.5) as f64, 0.03);
    near(300e3, quantile_ns(&samples, 0.75) as f64, 0.06);
}

const SUSTAINED: &str = "[cap]\nwrite_iops = 10_000\n[sustained]\nafter_bytes = 40_960_000\n\
                         write_iops = 1_000\nrecovery_bytes_per_s = 4_096_000";

/// Writing goes at the full rate for as much as is ready, then at the slower one, and faster again
/// after a rest.
#[test]
fn sustained_writing_slows_down_and_recovers() {
    let model = &mut *of_profile(&profile(SUSTAINED), 1);
    let samples = closed_loop(model, 8, 10 * S, writes(4096));
    let counts = slices(&samples, 500 * MS);
    near(5_000.0, counts[0] as f64, 0.01);
    near(5_000.0, counts[1] as f64, 0.01);
    for count in &counts[3..] {
        near(500.0, *count as f64, 0.02);
    }
    // A rest of 5 s makes 5,000 writes ready again.
    let start = 16 * S;
    let arrivals: Vec<_> = (0..6_000)
        .map(|n| (start + n * 100 * US, request(Operation::Write, 0, 4096)))
        .collect();
    model.take_done(Moment(start), &mut Vec::new());
    let finished = open_loop(model, &arrivals);
    let late = |n: usize| finished[n] - arrivals[n].0 > MS;
    let slow_from = (0..arrivals.len())
        .find(|n| late(*n))
        .expect("it slows down");
    assert!((5_000..6_000).contains(&slow_from), "{slow_from}");
}

/// A restored drive is as old as it was when its state was taken.
#[test]
fn restoring_does_not_age_a_drive() {
    let cache = "[cache]\nsize_bytes = 1_000_000\ndrain_bytes_per_s = 41e6\nprotected = false";
    let more = format!("{SUSTAINED}\n{cache}");
    let model = &mut *of_profile(&profile(&more), 1);
    let fresh = model.snapshot(Moment::START);
    closed_loop(model, 8, 3 * S, writes(4096));
    let worn = model.snapshot(Moment(3 * S));
    assert_eq!(Some(40_960_000), fresh.fresh_bytes);
    assert!(
        worn.fresh_bytes < Some(4096) && worn.cache_fill_bytes > 0,
        "{worn:?}"
    );
    model.restore(Moment(4 * S), &fresh);
    assert_eq!(fresh, model.snapshot(Moment(4 * S)));
    assert_eq!(None, model.next_done());
    model.restore(Moment(5 * S), &worn);
    assert_eq!(worn, model.snapshot(Moment(5 * S)));
}

/// The same seed gives the same times, another seed gives others.
#[test]
fn times_follow_from_the_seed() {
    let profile = profile("read = { p50_us = 80, p99_us = 240, bytes_per_s = 1e9 }");
    let times = |seed| -> Vec<u64> {
        let samples = closed_loop(&mut *of_profile(&profile, seed), 8, 10 * MS, reads());
        samples.iter().map(|sample| sample.done).collect()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}
