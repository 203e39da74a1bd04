//! The program as others see it: a job in, drives up, lines out, a socket that answers, and nothing left
//! behind, however it ends.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

mod program;
#[path = "../../drive/tests/support/mod.rs"]
mod support;

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::Duration;

use program::{down, eventually, Program, MIB};
use stithy_wire::{
    CheckProfileJob, ControlAnswer, ControlRequest, DriveFault, DriveJob, DriveMessage, DriveSpec,
    DriveUpJob, WIRE_VERSION,
};
use support::{open_direct, spec, Attachment, Page};

/// Drives come up, are listed, counted, joined by others, and go; the socket is for its owner only.
#[test]
fn a_program_serves_until_it_is_told_to_stop() {
    if !support::drives_are_possible() {
        return;
    }
    let (program, ready) = Program::serving("serves", &["first", "second"]);
    let attached = Attachment::of(&ready[0].device);
    let mode = std::fs::metadata(&program.control)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(0o600, mode & 0o777);
    let file = open_direct(&ready[0].device);
    file.write_all_at(Page::filled(1).bytes(), 0).unwrap();
    drop(file);
    let drive = "first".to_string();
    let ControlAnswer::Stats(counters) = program.ask(&ControlRequest::Stats { drive }) else {
        panic!("no counters");
    };
    assert_eq!(1, counters.operations[1].answered);
    let third = Box::new(spec("third", MIB));
    assert!(matches!(
        program.ask(&ControlRequest::Up { spec: third }),
        ControlAnswer::Up(_)
    ));
    assert_eq!(ControlAnswer::Done, program.ask(&down(Some("second"))));
    let ControlAnswer::List { drives } = program.ask(&ControlRequest::List) else {
        panic!("no list");
    };
    let names: Vec<&str> = drives.iter().map(|each| each.drive.as_str()).collect();
    assert_eq!(vec!["first", "third"], names);
    assert_eq!(ControlAnswer::Done, program.ask(&down(None)));
    let control = program.control.clone();
    let (messages, status) = program.end();
    assert_eq!(Some(0), status.code());
    let summaries = messages
        .iter()
        .filter(|each| matches!(each, DriveMessage::DriveSummary(_)));
    assert_eq!(3, summaries.count());
    let mut refused: Vec<_> = messages
        .iter()
        .filter(|each| matches!(each, DriveMessage::Warning(_)))
        .collect();
    refused.dedup();
    let warnings = messages
        .iter()
        .filter(|each| matches!(each, DriveMessage::Warning(_)));
    // What the machine refuses the program, such as to be an I/O flusher, is reported once, not for each drive.
    assert_eq!(refused.len(), warnings.count());
    assert!(!control.exists() && !attached.is_there());
}

/// SIGTERM takes the drives down, whether they are in use or not.
#[test]
fn a_signal_takes_the_drives_down() {
    if !support::drives_are_possible() {
        return;
    }
    let (program, ready) = Program::serving("signal", &["held", "free"]);
    let attached = Attachment::of(&ready[0].device);
    let file = support::open_exclusively(&ready[0].device);
    let refused = program.ask(&down(None));
    assert!(matches!(refused, ControlAnswer::Failure(failure) if failure.code == "device-in-use"));
    program.signal(libc::SIGTERM);
    let (messages, status) = program.end();
    assert_eq!(Some(0), status.code());
    let told = messages.iter().any(
        |each| matches!(each, DriveMessage::Warning(warning) if warning.code == "device-in-use"),
    );
    assert!(told, "{messages:?}");
    let mut seen = Page::filled(0);
    assert!(file.read_exact_at(seen.bytes_mut(), 4 * MIB).is_err());
    drop(file);
    eventually("the device is let go", || !attached.is_there());
}

/// A reader that stands still holds up neither the drives nor the end of the program.
#[test]
fn nobody_need_read_what_is_told() {
    if !support::drives_are_possible() {
        return;
    }
    let (program, ready) = Program::serving("unread", &["unread"]);
    let attached = Attachment::of(&ready[0].device);
    // More than a pipe holds, and none of it is read.
    let stats = ControlRequest::Stats {
        drive: "unread".to_string(),
    };
    for n in 0..200 {
        let spec = Box::new(spec(&format!("unread-{n}"), MIB));
        assert!(matches!(
            program.ask(&ControlRequest::Up { spec }),
            ControlAnswer::Up(_)
        ));
        let name = format!("unread-{n}");
        assert_eq!(ControlAnswer::Done, program.ask(&down(Some(&name))));
    }
    assert!(matches!(program.ask(&stats), ControlAnswer::Stats(_)));
    assert_eq!(ControlAnswer::Done, program.ask(&down(None)));
    eventually("the device is let go", || !attached.is_there());
    let (_, status) = program.end();
    assert_eq!(Some(0), status.code());
}

/// A program that is killed under load leaves I/O errors, never a hang, and no device; one that was
/// stopped before, and one whose answers are held back, too.
#[test]
fn a_killed_program_leaves_errors_and_nothing_else() {
    if !support::drives_are_possible() {
        return;
    }
    for case in ["running", "stopped", "stalled"] {
        let (program, ready) = Program::serving(case, &[case]);
        let device = ready[0].device.clone();
        let attached = Attachment::of(&device);
        let load: Vec<_> = (0..4)
            .map(|lane| {
                std::thread::spawn({
                    let device = device.clone();
                    move || load_until_it_fails(&device, lane * MIB)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(200));
        match case {
            "stopped" => program.signal(libc::SIGSTOP),
            "stalled" => {
                let fault = DriveFault::Stall { duration_s: 3600.0 };
                let drive = case.to_string();
                let answer = program.ask(&ControlRequest::Fault { drive, fault });
                assert_eq!(ControlAnswer::Done, answer);
            }
            _ => {}
        }
        program.signal(libc::SIGKILL);
        eventually("the load ends", || {
            load.iter().all(|lane| lane.is_finished())
        });
        for lane in load {
            assert_eq!(Some(libc::EIO), lane.join().unwrap(), "{case}");
        }
        drop(program);
        eventually("the device is let go", || !attached.is_there());
    }
}

/// A program that is killed while it measures its own transport ends as well: its thread that asks the
/// drive must not keep the drive's files open.
#[test]
fn a_program_killed_while_it_measures_itself_ends() {
    if !support::drives_are_possible() {
        return;
    }
    for after_ms in [5, 10, 20, 40, 60, 80, 120, 160] {
        let control = std::env::temp_dir().join(format!("stithy-self-{}", std::process::id()));
        let drive = DriveSpec {
            transport_s: None,
            spin_s: None,
            profile: Some(include_str!("../../drive/profiles/generic-nvme.toml").into()),
            ..spec("self", 16 * MIB)
        };
        let job = DriveJob::DriveUp(DriveUpJob {
            wire: WIRE_VERSION,
            control: control.display().to_string(),
            drives: vec![drive],
            hold_off_idle: false,
        });
        let mut program = Program::start(control, &serde_json::to_string(&job).unwrap());
        std::thread::sleep(Duration::from_millis(after_ms));
        program.signal(libc::SIGKILL);
        eventually("the program is gone", || program.has_ended());
    }
}

/// Writes and reads until an error; gives its number.
fn load_until_it_fails(device: &str, offset_bytes: u64) -> Option<i32> {
    let file = open_direct(device);
    let mut page = Page::filled(5);
    loop {
        let done = file
            .write_all_at(page.bytes(), offset_bytes)
            .and_then(|()| file.read_exact_at(page.bytes_mut(), offset_bytes));
        if let Err(e) = done {
            return e.raw_os_error();
        }
    }
}

/// Without root or FUSE, the program tells what is shipped and judges a profile.
#[test]
fn profiles_are_told_and_judged() {
    let catalogue = DriveJob::Catalogue(stithy_wire::CatalogueJob { wire: WIRE_VERSION });
    let (messages, status) = Program::of(&catalogue).end();
    assert_eq!(Some(0), status.code());
    let names: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            DriveMessage::ShippedProfile(shipped) => Some(shipped.facts.name.as_str()),
            DriveMessage::ShippedSchedule(shipped) => Some(shipped.name.as_str()),
            _ => None,
        })
        .collect();
    assert!(["generic-nvme", "increasing"]
        .iter()
        .all(|name| names.contains(name)));
    let Some(DriveMessage::CatalogueSummary(summary)) = messages.last() else {
        panic!("no summary: {messages:?}");
    };
    assert_eq!(names.len() as u64, summary.profiles + summary.schedules);
    let check = DriveJob::CheckProfile(CheckProfileJob {
        wire: WIRE_VERSION,
        file: "mine.toml".to_string(),
        text: "version = 1\nchannels = 0\n".to_string(),
        scale: 1.0,
    });
    let (messages, status) = Program::of(&check).end();
    assert_eq!(Some(0), status.code());
    let Some(DriveMessage::CheckProfileSummary(summary)) = messages.last() else {
        panic!("no summary: {messages:?}");
    };
    assert!(
        summary.facts.is_none() && summary.problems.len() > 1,
        "{summary:?}"
    );
}

/// Each way to a drive is one line, with whether it is used.
#[test]
fn the_ways_to_a_drive_are_told() {
    let told = std::process::Command::new(env!("CARGO_BIN_EXE_stithy-drive"))
        .arg("--transports")
        .output()
        .expect("the program starts");
    let text = String::from_utf8(told.stdout).expect("it is text");
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(vec!["fuse", "fuse-uring", "ublk"], names);
}
