//! The long proofs that a drive is a disk; one JSON line tells what was done and what was wrong.
//!
//! `prove checker FOLDER SEED SECONDS` loads a drive and compares everything. `prove cut FOLDER SEED honest`
//! cuts the power of one under load, compares, and goes on using it; with `lying` its flushes lie, and
//! something must be wrong. FOLDER is for images. `benches/prove.py` calls it and keeps what it prints.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program's output is its purpose

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[path = "../tests/support/mod.rs"]
mod support;

use serde_json::json;
use stithy_measure::Rng;
use stithy_wire::DriveFault;
use support::checker::bench::{Bench, Shape, LANES};
use support::checker::{Findings, Work};

const CHECKED_LANE_BYTES: u64 = 16 << 20;
const CUT_LANE_BYTES: u64 = 4 << 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let sound = match words[..] {
        ["checker", folder, seed, seconds] => {
            checker(&PathBuf::from(folder), number(seed), number(seconds))
        }
        ["cut", folder, seed, kind] => cut(&PathBuf::from(folder), number(seed), kind == "lying"),
        _ => {
            eprintln!("prove checker FOLDER SEED SECONDS | prove cut FOLDER SEED honest|lying");
            return ExitCode::from(2);
        }
    };
    // 5: what was measured is not as it must be.
    if sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(5)
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn checker(folder: &Path, seed: u64, seconds: u64) -> bool {
    let shape = Shape::of_seed(seed, CHECKED_LANE_BYTES);
    let mut bench = Bench::new(folder, shape);
    let (online, work) = bench.check(Duration::from_secs(seconds));
    let image = bench.down();
    println!(
        "{}",
        json!({
            "seed": seed, "duration_s": seconds, "shape": told(shape), "work": done(work),
            "wrong": wrong(online), "wrong_in_image": wrong(image),
        })
    );
    online.and(image) == Findings::default()
}

/// One cut; a drive must be right after it, too.
fn cut(folder: &Path, seed: u64, is_lying: bool) -> bool {
    let mut shape = Shape::of_seed(seed, CUT_LANE_BYTES);
    if is_lying {
        // Much that was promised must be volatile still: what a small cache drops is durable, lie or not.
        shape = Shape {
            cache_bytes: 1 << 30,
            flush_share: 0.1,
            ..shape
        };
    }
    let mut bench = Bench::new(folder, shape);
    if is_lying {
        bench.fault(DriveFault::LyingFlush);
    }
    let mut rng = Rng::new(seed, 2);
    let load_s = 0.02 + 0.5 * rng.share();
    let account = bench.cut(Duration::from_secs_f64(load_s), seed);
    // Not after lies: what was lost is not what the lanes remember.
    let (again, image) = if is_lying {
        (Findings::default(), Findings::default())
    } else {
        (bench.check(Duration::from_millis(100)).0, bench.down())
    };
    let counts = account.counts;
    println!(
        "{}",
        json!({
            "seed": seed, "lying": is_lying, "load_s": load_s, "shape": told(shape),
            "work": done(account.work), "kept": counts.kept, "torn": counts.torn, "lost": counts.lost,
            "wrong": wrong(account.findings), "wrong_afterwards": wrong(again.and(image)),
        })
    );
    account.findings.and(again).and(image) == Findings::default()
}

fn told(shape: Shape) -> serde_json::Value {
    json!({
        "size_bytes": LANES * shape.lane_bytes, "sector_bytes": shape.sector_bytes,
        "backing": if shape.is_file { "file" } else { "memory" }, "cache_bytes": shape.cache_bytes,
        "unsteady": shape.is_unsteady, "flush_share": shape.flush_share, "alone": shape.is_alone, "whole_bytes": shape.whole_bytes,
    })
}

fn done(work: Work) -> serde_json::Value {
    json!({
        "reads": work.reads, "writes": work.writes, "flushes": work.flushes,
        "discards": work.discards, "read_bytes": work.read_bytes, "written_bytes": work.written_bytes,
    })
}

fn wrong(findings: Findings) -> serde_json::Value {
    json!({
        "lost": findings.lost, "foreign": findings.foreign, "late": findings.late, "ragged": findings.ragged,
    })
}
