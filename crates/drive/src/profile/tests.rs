//! Profiles, right and wrong.

use super::*;

const SOLID: &str = r#"
version = 1
name = "a-drive"
title = "A drive"
capacity_bytes = 1_000_000_000_000
channels = 16

[read]
p50_us = 80
p99_us = 160
bytes_per_s = 1e9

[write]
quantiles_us = [[0, 10], [0.5, 20], [1, 500.5]]
bytes_per_s = 0.5e9

[cap]
read_iops = 400_000
write_iops = 100_000
write_bytes_per_s = 2_000_000_000
total_iops = 450_000

[flush]
cost_us = 15

[cache]
size_bytes = 67_108_864
drain_bytes_per_s = 1_000_000_000
protected = true

[sustained]
after_bytes = 10_000_000_000
write_iops = 30_000
recovery_bytes_per_s = 100_000_000

[provenance]
assumed = ["channels", "read.p99_us", "read.bytes_per_s", "write", "cache", "sustained", "flush"]
note = "of a test"

[[provenance.source]]
text = "a data sheet"
keys = ["capacity_bytes", "read.p50_us", "cap"]
"#;

const DISK: &str = r#"
version = 1
name = "a-disk"
title = "A disk"
capacity_bytes = 1_000_000_000_000
flush = { cost_us = 100 }
cache = { size_bytes = 1_000_000, protected = false }
[disk]
rpm = 7200
seek_track_ms = 0.6
seek_average_ms = 8.2
seek_full_ms = 17
write_settle_ms = 0.5
overhead_us = 100
queue_depth = 32
read_ahead_bytes = 1_000_000
zones = [[0.5, 175e6], [0.5, 83e6]]
[provenance]
assumed = ["capacity_bytes", "flush", "cache", "disk"]
"#;

/// The problems of a text in which something was replaced.
fn problems(text: &str, changes: &[(&str, &str)]) -> Vec<ProfileProblem> {
    let changed = changes.iter().fold(text.to_string(), |text, (old, new)| {
        assert!(text.contains(old), "{old} is not there");
        text.replace(old, new)
    });
    Profile::check(&changed).err().unwrap_or_default()
}

fn keys(problems: &[ProfileProblem]) -> Vec<&str> {
    problems
        .iter()
        .map(|problem| problem.key.as_str())
        .collect()
}

/// Every value comes out in seconds and bytes.
#[test]
fn a_profile_is_read() {
    let profile = Profile::parse("a.toml", SOLID).expect("it is right");
    assert_eq!(("a-drive", "A drive"), (&*profile.name, &*profile.title));
    assert_eq!(1_000_000_000_000, profile.capacity_bytes);
    let Medium::Solid(solid) = &profile.medium else {
        panic!("it does not spin");
    };
    assert_eq!(16, solid.channels);
    let (p50_s, p99_s) = (80.0 * 1e-6, 160.0 * 1e-6);
    assert_eq!(Latency::Lognormal { p50_s, p99_s }, solid.read.latency);
    let Latency::Quantiles(points) = &solid.write.latency else {
        panic!("it is a table");
    };
    assert_eq!((1.0, 500.5 * 1e-6), points[2]);
    assert_eq!(Some(400_000.0), profile.caps.read.iops);
    assert_eq!(None, profile.caps.read.bytes_per_s);
    assert!(profile.cache.is_some_and(|cache| cache.protected));
    assert_eq!(Some("of a test"), profile.provenance.note.as_deref());
    assert!(matches!(
        Profile::check(DISK).expect("it is right").medium,
        Medium::Disk(disk) if disk.zones.len() == 2 && disk.seek_full_s == 17.0 * 1e-3
    ));
}

/// Everything that is wrong is reported at once, each with its line, its value and the remedy.
#[test]
fn all_problems_are_told_at_once() {
    let changes = [
        ("p99_us = 160", "p99_us = 60"),
        ("channels = 16\n", "channels = 0\nchanels = 3\n"),
        ("read_iops = 400_000", "read_iops = 0"),
        ("cost_us = 15", "cost_us = -1"),
        ("size_bytes = 67_108_864", "size_bytes = 2_000_000_000_000"),
        ("title = \"A drive\"\n", ""),
    ];
    let changed = changes
        .iter()
        .fold(SOLID.to_string(), |text, (old, new)| text.replace(old, new));
    let error = Profile::parse("wrong.toml", &changed).expect_err("it is wrong");
    assert_eq!("profile-invalid", error.code);
    let expected = "\
wrong.toml:1: title is missing; give text: description of the drive
wrong.toml:5: channels = 0 is impossible; give a whole number of at least 1
wrong.toml:6: chanels is not a key of a profile; perhaps channels is meant
wrong.toml:9: read.p50_us = 80 is above read.p99_us = 60; give at most 60
wrong.toml:18: cap.read_iops = 0 is impossible; give a number above 0
wrong.toml:24: flush.cost_us = -1 is impossible; give a number of at least 0
wrong.toml:27: cache.size_bytes = 2_000_000_000_000 is above capacity_bytes = 1000000000000; \
give at most 1000000000000";
    let marks = "provenance names channels, which is no number of this profile; \
                 name a key or a table that is there";
    let told: Vec<&str> = error
        .problem
        .lines()
        .filter(|line| !line.contains("provenance"))
        .collect();
    assert_eq!(expected, told.join("\n"));
    assert!(error.problem.contains(marks), "{}", error.problem);
}

/// Each impossible value is found where it is.
#[test]
fn each_impossible_value_is_found() {
    let cases: &[(&str, &str, &str)] = &[
        ("version = 1", "version = 2", "version"),
        ("\"a-drive\"", "\"A drive\"", "name"),
        (
            "capacity_bytes = 1_000_000_000_000",
            "capacity_bytes = -1",
            "capacity_bytes",
        ),
        ("p50_us = 80", "p50_us = nan", "read.p50_us"),
        ("p50_us = 80", "p50_us = \"80\"", "read.p50_us"),
        ("p50_us = 80", "p50_us = -80", "read.p50_us"),
        ("[0, 10]", "[0, -10]", "write.quantiles_us"),
        (
            "cost_us = 15",
            "cost_us = 15\nquantiles_us = [[0.5, 10]]",
            "flush.quantiles_us",
        ),
        ("[0, 10]", "[0.1, 10]", "write.quantiles_us"),
        ("[0.5, 20]", "[0.5, 5]", "write.quantiles_us"),
        ("[0.5, 20]", "[0.5, 20, 3]", "write.quantiles_us"),
        (
            "write_iops = 30_000",
            "write_iops = 300_000",
            "sustained.write_iops",
        ),
        ("write_iops = 30_000\n", "", "sustained"),
        (
            "read_iops = 400_000",
            "read_iops = 500_000",
            "cap.read_iops",
        ),
        ("protected = true", "protected = 1", "cache.protected"),
        (
            "drain_bytes_per_s = 1_000_000_000\n",
            "",
            "cache.drain_bytes_per_s",
        ),
        ("p50_us = 80\n", "", "read"),
    ];
    for (old, new, key) in cases {
        let found = problems(SOLID, &[(old, new)]);
        assert!(keys(&found).contains(key), "{new}: {found:?}");
    }
}

/// Each impossible value of times under load is found where it is.
#[test]
fn each_impossible_value_under_load_is_found() {
    let rows = "[[4096, 1, 50, 90], [4096, 8, 60, 99], [8192, 1, 70, 99]]";
    let load = |shares: &str, rows: &str| {
        let times = format!("load_shares = {shares}\nload_us = {rows}\n");
        let changes = [
            ("p50_us = 80\n", times.as_str()),
            ("p99_us = 160\n", ""),
            ("\"read.p50_us\"", "\"read.load_us\""),
            ("\"read.p99_us\"", "\"read.load_shares\""),
        ];
        problems(SOLID, &changes)
    };
    let cases = [
        ("[0, 1]", "[[4096, 1, 50]]", "read.load_us"),
        ("[0, 1]", "[]", "read.load_us"),
        ("[0, 1]", "[[4096, 0, 50, 90]]", "read.load_us"),
        ("[0, 1]", "[[4096, 1, 90, 50]]", "read.load_us"),
        (
            "[0, 1]",
            "[[4096, 8, 50, 90], [4096, 1, 50, 90]]",
            "read.load_us",
        ),
        ("[0, 1]", "[[4096, 1, \"a\", 90]]", "read.load_us"),
        ("[0.1, 1]", rows, "read.load_shares"),
        ("[1, 0]", rows, "read.load_shares"),
        ("[0]", rows, "read.load_shares"),
    ];
    for (shares, rows, key) in cases {
        let found = load(shares, rows);
        assert!(keys(&found).contains(&key), "{shares} {rows}: {found:?}");
    }
    let found = load("[0, 1]", rows);
    assert!(found.is_empty(), "{found:?}");
}

/// Each impossible value of a disk is found where it is.
#[test]
fn each_impossible_value_of_a_disk_is_found() {
    let of_disks: &[(&str, &str, &str)] = &[
        ("rpm = 7200", "rpm = 0", "disk.rpm"),
        ("rpm = 7200\n", "", "disk.rpm"),
        (
            "seek_track_ms = 0.6",
            "seek_track_ms = 9",
            "disk.seek_track_ms",
        ),
        (
            "seek_average_ms = 8.2",
            "seek_average_ms = 2",
            "disk.seek_average_ms",
        ),
        (
            "seek_full_ms = 17",
            "seek_full_ms = 8",
            "disk.seek_average_ms",
        ),
        ("[0.5, 83e6]", "[0.4, 83e6]", "disk.zones"),
        ("[0.5, 83e6]", "[0.5, -83e6]", "disk.zones"),
        ("queue_depth = 32", "queue_depth = 0", "disk.queue_depth"),
        (
            "protected = false",
            "protected = false, drain_bytes_per_s = 1",
            "cache.drain_bytes_per_s",
        ),
        ("[disk]", "channels = 4\n[disk]", "channels"),
        ("[disk]", "cap = { read_iops = 9 }\n[disk]", "cap"),
    ];
    for (old, new, key) in of_disks {
        let found = problems(DISK, &[(old, new)]);
        assert!(keys(&found).contains(key), "{new}: {found:?}");
    }
}

/// A number without a source, with two, and a mark for a number that is not there are refused.
#[test]
fn every_number_has_one_source() {
    let unsourced = problems(SOLID, &[("\"read.p50_us\", ", "")]);
    assert_eq!(vec!["read.p50_us"], keys(&unsourced));
    let twice = problems(
        SOLID,
        &[("\"read.p50_us\", ", "\"read.p50_us\", \"write\", ")],
    );
    assert_eq!(
        vec!["write.quantiles_us", "write.bytes_per_s"],
        keys(&twice)
    );
    let nothing = problems(
        SOLID,
        &[("\"read.p50_us\", ", "\"read.p50_us\", \"disk\", ")],
    );
    assert_eq!(vec!["provenance"], keys(&nothing));
    let strange = problems(
        SOLID,
        &[("text = \"a data sheet\"", "txt = \"a data sheet\"")],
    );
    assert!(keys(&strange).contains(&"provenance.source"));
}

/// What is not TOML at all is reported with its line.
#[test]
fn broken_text_is_told_with_its_line() {
    let found = Profile::check("version = 1\nname = \n").expect_err("it is broken");
    assert_eq!((1, Some(2)), (found.len(), found[0].line), "{found:?}");
}

/// A scaled drive has less of everything but time.
#[test]
fn scaling_divides_rates_and_keeps_latencies() {
    let profile = Profile::check(SOLID).expect("it is right");
    let eighth = profile.scaled(8.0).expect("it can be scaled");
    assert_eq!(125_000_000_000, eighth.capacity_bytes);
    assert_eq!(profile.medium, eighth.medium);
    assert_eq!(Some(50_000.0), eighth.caps.read.iops);
    // 16 channels of 1 GB/s, where no cap was given.
    assert_eq!(Some(2e9), eighth.caps.read.bytes_per_s);
    assert_eq!(Some(0.25e9), eighth.caps.write.bytes_per_s);
    let cache = eighth.cache.expect("it has one");
    assert_eq!(
        (8 << 20, Some(0.125e9)),
        (cache.size_bytes, cache.drain_bytes_per_s)
    );
    let sustained = eighth.sustained.expect("it slows down");
    assert_eq!(
        (1_250_000_000, 12_500_000.0),
        (sustained.after_bytes, sustained.recovery_bytes_per_s)
    );
    let power =
        "[power]\nidle_w = 2\nread_w = 8\nwrite_w = 16\n\n[provenance]\nassumed = [\"power\", ";
    let powered = SOLID.replace("[provenance]\nassumed = [", power);
    let powered = Profile::check(&powered).expect("it is right").scaled(8.0);
    let expected = Power {
        idle_w: 0.25,
        read_w: 1.0,
        write_w: 2.0,
    };
    assert_eq!(Some(expected), powered.expect("it can be scaled").power);
    assert_eq!(None, eighth.power);
    assert!(profile.scaled(0.5).is_err() && profile.scaled(f64::NAN).is_err());
    let disk = Profile::check(DISK).expect("it is right");
    assert_eq!(Ok(&disk), disk.scaled(1.0).as_ref().map_err(|e| e.code));
    assert_eq!(
        "scale-invalid",
        disk.scaled(8.0).expect_err("it spins").code
    );
}

/// Every shipped profile is right, has the name of its file, and no file is forgotten.
#[test]
fn every_shipped_profile_is_right() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").file_name())
        .map(|name| name.to_string_lossy().trim_end_matches(".toml").to_string())
        .collect();
    files.sort_unstable();
    let names: Vec<&str> = CATALOGUE.iter().map(|shipped| shipped.name).collect();
    assert_eq!(files, names);
    for shipped in CATALOGUE {
        let profile = Profile::check(shipped.text);
        let profile = profile.unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(shipped.name, profile.name);
    }
}
