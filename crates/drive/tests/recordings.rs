//! What a real drive writes down: its trace and its interval log; and that loading data need not age it.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

mod support;

use stithy_drive::device::Device;
use support::{open_direct, spec, Page};

const MIB: u64 = 1 << 20;

/// 20 ms a write; after 16 of them a second each.
const AGEING: &str = r#"
version = 1
name = "ageing"
title = "A drive that slows down"
capacity_bytes = 16_777_216
channels = 8
read = { p50_us = 100, p99_us = 100, bytes_per_s = 1e9 }
write = { p50_us = 20_000, p99_us = 20_000, bytes_per_s = 1e9 }
flush = { cost_us = 0 }
cap = { write_iops = 10_000 }
sustained = { after_bytes = 65_536, write_iops = 1, recovery_bytes_per_s = 0 }
[provenance]
assumed = ["capacity_bytes", "channels", "read", "write", "flush", "cap", "sustained"]
"#;

/// Files that go with the test.
struct Files(PathBuf);

impl Files {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stithy-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Files(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A folder that is gone already is as good.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every request is in the trace, with its operation; the interval log holds the second and the total.
#[test]
fn requests_are_written_down() {
    if !support::drives_are_possible() {
        return;
    }
    let files = Files::new("recordings");
    let mut traced = spec("traced", 16 * MIB);
    traced.hlog_stem = Some(files.path("traced"));
    let mut device = Device::up(&traced).expect("root, FUSE and a loop device");
    let trace = files.path("trace");
    let begun = device.begin_trace(&trace).expect("the folder is there");
    assert_eq!((0, 0), (begun.written, begun.lost));
    let again = device.begin_trace(&files.path("other")).unwrap_err();
    assert_eq!("trace-exists", again.code);
    let file = open_direct(&device.ready().device);
    (0..100).for_each(|n| {
        file.write_all_at(Page::filled(1).bytes(), n * 4096)
            .unwrap()
    });
    file.sync_all().unwrap();
    support::discard(&file, 0, MIB).unwrap();
    drop(file);
    let second = device.take_second();
    let ended = device.end_trace().expect("it was begun");
    device.end_recordings();
    assert_eq!(Vec::<stithy_wire::Warning>::new(), device.take_warnings());
    device.down().expect("nobody uses it");
    let bytes = std::fs::read(&trace).expect("it was written");
    let records: Vec<&[u8]> = bytes[128..].chunks(32).collect();
    let of = |operation| records.iter().filter(|each| each[30] == operation).count();
    assert_eq!((100, 1, 1), (of(1), of(3), of(254)));
    assert!(of(2) >= 1, "a flush");
    assert_eq!((records.len() as u64 - 1, 0), (ended.written, ended.lost));
    let answered: u64 = second.operations.iter().map(|each| each.answered).sum();
    assert!(answered >= ended.written, "{answered} of {}", ended.written);
    for log in ["traced.latency.hlog", "traced.latency-total.hlog"] {
        let text = std::fs::read_to_string(files.path(log)).expect("it was written");
        assert!(text.contains("\nTag=write,"), "{text}");
    }
}

/// Data that is loaded unpaced takes no time and does not age the drive; what was kept is put back.
#[test]
fn loading_data_need_not_age_a_drive() {
    if !support::drives_are_possible() {
        return;
    }
    let mut ageing = spec("ageing", 16 * MIB);
    ageing.profile = Some(AGEING.to_string());
    let mut device = Device::up(&ageing).expect("root, FUSE and a loop device");
    let file = open_direct(&device.ready().device);
    let write = |count| {
        (0..count).for_each(|n| {
            file.write_all_at(Page::filled(1).bytes(), n * 4096)
                .unwrap()
        })
    };
    let fresh_writes = 16;
    device.set(None, None, Some(false)).expect("it is up");
    write(fresh_writes * 8);
    device.set(None, None, Some(true)).expect("it is up");
    assert!(device.snapshot().expect("it is up"), "nothing is under way");
    for round in 0..2 {
        let start = Instant::now();
        write(fresh_writes);
        // Each takes 20 ms while it is fresh, and a second after that.
        assert!(
            start.elapsed() >= Duration::from_millis(19) * 16,
            "round {round}"
        );
        let p50_s = device.take_second().operations[1].latency.p50_s;
        assert!(p50_s < Some(0.5), "round {round}: {p50_s:?}");
        assert!(
            device.restore().expect("it was kept"),
            "nothing is under way"
        );
    }
    drop(file);
    device.down().expect("nobody uses it");
}
