//! The examples in `wire/examples/` are read and written again unchanged.
//!
//! The Python side reads the same files; together the two tests hold the two definitions together.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{de::DeserializeOwned, Serialize};
use serde_json::Value;
use stithy_wire::{Job, Message, WIRE_VERSION};

fn examples(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wire/examples");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(kind)
        })
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn rewritten<T: DeserializeOwned + Serialize>(path: &Path) -> Value {
    let parsed: T = serde_json::from_value(read(path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::to_value(parsed).unwrap()
}

/// The names that the examples of one kind carry, in the file's name and inside.
fn names(kind: &str) -> BTreeSet<String> {
    examples(&format!("{kind}."))
        .iter()
        .map(|path| {
            let inside = read(path)[kind].as_str().unwrap().to_owned();
            let file = path.file_name().unwrap().to_str().unwrap();
            assert_eq!(file.split('.').nth(1), Some(inside.as_str()), "{file}");
            inside
        })
        .collect()
}

/// What a program reads it can write again: same keys, same values.
#[test]
fn every_job_example_is_rewritten_unchanged() {
    for path in examples("job.") {
        assert_eq!(read(&path), rewritten::<Job>(&path), "{}", path.display());
    }
}

/// What a program writes can be read: same keys, same values.
#[test]
fn every_message_example_is_rewritten_unchanged() {
    for path in examples("message.") {
        assert_eq!(
            read(&path),
            rewritten::<Message>(&path),
            "{}",
            path.display()
        );
    }
}

/// A new variant without an example would escape the other language's test.
#[test]
fn every_job_and_message_has_an_example() {
    let jobs = [
        "calibrate",
        "baseline",
        "check",
        "prepare",
        "run",
        "verify-ledger",
        "warm-up",
    ];
    let messages = [
        "calibrate-summary",
        "baseline-summary",
        "check-summary",
        "condition",
        "failure",
        "ledger-finding",
        "ledger-summary",
        "prepare-summary",
        "progress",
        "run-summary",
        "second",
        "started",
        "warm-up-summary",
        "warning",
    ];
    assert_eq!(BTreeSet::from(jobs.map(String::from)), names("job"));
    assert_eq!(BTreeSet::from(messages.map(String::from)), names("message"));
}

/// The examples speak the version that this build speaks.
#[test]
fn the_examples_speak_the_current_version() {
    for path in examples("job.") {
        assert_eq!(Some(u64::from(WIRE_VERSION)), read(&path)["wire"].as_u64());
    }
}

/// A misspelt key must not be dropped silently.
#[test]
fn a_job_with_an_unknown_key_is_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wire/examples");
    let mut job = read(&folder.join("job.run.json"));
    job["user"] = Value::from(4);
    let error = serde_json::from_value::<Job>(job).unwrap_err().to_string();
    assert!(error.contains("unknown field `user`"), "{error}");
}
