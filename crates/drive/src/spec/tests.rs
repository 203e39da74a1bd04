//! What is asked for and what it comes to.

use stithy_wire::DriveBacking;

use super::*;
use crate::profile::CATALOGUE;

fn spec() -> DriveSpec {
    DriveSpec {
        name: "d".to_string(),
        size_bytes: 1 << 30,
        sector_bytes: 4096,
        backing: DriveBacking::Memory,
        volatile: DriveVolatile::FromProfile,
        profile: None,
        scale: 1.0,
        seed: 1,
        transport_s: None,
        spin_s: None,
        hlog_stem: None,
    }
}

fn shipped(name: &str, scale: f64) -> DriveSpec {
    let text = CATALOGUE.iter().find(|each| each.name == name);
    DriveSpec {
        profile: Some(text.expect("it is shipped").text.to_string()),
        scale,
        ..spec()
    }
}

fn refused(spec: &DriveSpec) -> (&'static str, String, u8) {
    let error = resolve(spec, Timing::default()).expect_err("it is impossible");
    (error.code, error.place.clone(), error.exit())
}

/// A power cut takes what the profile's cache may lose: nothing where it is protected or there is none, and
/// nothing of a drive without a profile.
#[test]
fn what_is_volatile_follows_from_the_profile() {
    let resolved = |spec: &DriveSpec| resolve(spec, Timing::default()).expect("it is possible");
    let volatile_bytes = |spec: &DriveSpec| resolved(spec).volatile_bytes;
    let profile = resolved(&shipped("generic-7200", 1.0)).profile;
    let cache = profile.and_then(|profile| profile.cache);
    let cache_bytes = cache.expect("it has a cache").size_bytes;
    let held = volatile_bytes(&shipped("generic-7200", 1.0));
    assert_eq!(Some(cache_bytes), held);
    assert_eq!(None, volatile_bytes(&shipped("generic-nvme", 1.0)));
    assert_eq!(None, volatile_bytes(&shipped("gp3", 1.0)));
    assert_eq!(None, volatile_bytes(&spec()));
    let mut asked = shipped("generic-7200", 1.0);
    asked.volatile = DriveVolatile::Bytes { limit_bytes: 9 };
    assert_eq!(Some(9), volatile_bytes(&asked));
    asked.volatile = DriveVolatile::Protected;
    assert_eq!(None, volatile_bytes(&asked));
}

/// A scale divides capacity and rates; what cannot be divided is reported.
#[test]
fn a_scale_divides_the_profile() {
    let whole = resolve(&shipped("generic-nvme", 1.0), Timing::default()).expect("it is possible");
    let eighth = resolve(&shipped("generic-nvme", 8.0), Timing::default()).expect("it is possible");
    let capacity = |resolved: &Resolved| resolved.profile.as_ref().map(|it| it.capacity_bytes);
    assert_eq!(capacity(&whole).map(|bytes| bytes / 8), capacity(&eighth));
    let scale = "scale".to_string();
    assert_eq!(
        ("scale-invalid", scale.clone(), 2),
        refused(&shipped("generic-7200", 8.0))
    );
    assert_eq!(
        ("scale-invalid", scale.clone(), 2),
        refused(&shipped("generic-nvme", 0.5))
    );
    let unscaled = DriveSpec {
        scale: 8.0,
        ..spec()
    };
    assert_eq!(("drive-invalid", scale, 2), refused(&unscaled));
}

/// Every impossible value is refused with its key.
#[test]
fn impossible_values_are_refused_with_their_key() {
    type Change = fn(&mut DriveSpec);
    let cases: [(&str, Change); 9] = [
        ("name", |spec| spec.name = String::new()),
        ("name", |spec| spec.name = "d".repeat(64)),
        ("name", |spec| spec.name = "d\0".to_string()),
        ("sector_bytes", |spec| spec.sector_bytes = 1024),
        ("size_bytes", |spec| spec.size_bytes = 0),
        ("size_bytes", |spec| spec.size_bytes = 4097),
        ("transport_s", |spec| spec.transport_s = Some(-1e-6)),
        ("spin_s", |spec| spec.spin_s = Some(f64::NAN)),
        ("scale", |spec| spec.scale = 0.0),
    ];
    for (key, change) in cases {
        let mut asked = spec();
        change(&mut asked);
        assert_eq!(("drive-invalid", key.to_string(), 2), refused(&asked));
    }
    let mut large = shipped("x25-e-32", 4.0);
    large.size_bytes = 16 << 30;
    assert_eq!(
        ("drive-invalid", "size_bytes".to_string(), 2),
        refused(&large)
    );
}

/// What is not given stays.
#[test]
fn timing_changes_where_it_is_given() {
    let timing = Timing {
        transport: TransportLatency::constant(Duration::from_micros(12)),
        beside: Some(Duration::from_micros(3)),
        spin: Duration::from_micros(20),
    };
    let changed = timing.changed(None, Some(3e-5)).expect("it is possible");
    let spin = Duration::from_micros(30);
    assert_eq!(Timing { spin, ..timing }, changed);
    let told = timing.changed(Some(5e-6), None).expect("it is possible");
    assert_eq!(
        None, told.beside,
        "whoever tells it wants that and no other"
    );
}
