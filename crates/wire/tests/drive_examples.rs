//! The examples in `wire/examples/drive/` are read and written again unchanged, and there is one of each.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

use std::collections::BTreeSet;
use std::path::Path;

use serde::{de::DeserializeOwned, Serialize};
use serde_json::Value;
use stithy_wire::{ControlAnswer, ControlRequest, DriveJob, DriveMessage};

/// Every example of a kind, read and written again; gives the names they carry.
fn names<T: DeserializeOwned + Serialize>(kind: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wire/examples/drive");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut words = file.split('.');
        if words.next() != Some(kind) {
            continue;
        }
        let value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let parsed: T =
            serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(value, serde_json::to_value(parsed).unwrap(), "{file}");
        assert_eq!(words.next(), value[kind].as_str(), "{file}");
        names.insert(value[kind].as_str().unwrap().to_owned());
    }
    names
}

fn expected(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Jobs and messages of the drive program.
#[test]
fn jobs_and_messages_are_rewritten_unchanged() {
    let jobs = ["drive-up", "catalogue", "check-profile", "profile-figures"];
    assert_eq!(expected(&jobs), names::<DriveJob>("job"));
    let messages = [
        "started",
        "drive-ready",
        "serving",
        "drive-second",
        "warning",
        "failure",
        "drive-summary",
        "shipped-profile",
        "shipped-schedule",
        "catalogue-summary",
        "check-profile-summary",
        "profile-figures-summary",
    ];
    assert_eq!(expected(&messages), names::<DriveMessage>("message"));
}

/// What the control socket reads and answers.
#[test]
fn commands_and_answers_are_rewritten_unchanged() {
    let commands = [
        "up", "list", "stats", "set", "snapshot", "restore", "trace", "fault", "down",
    ];
    assert_eq!(expected(&commands), names::<ControlRequest>("command"));
    let answers = [
        "done",
        "up",
        "list",
        "stats",
        "power-cut",
        "trace",
        "failure",
    ];
    assert_eq!(expected(&answers), names::<ControlAnswer>("answer"));
}
