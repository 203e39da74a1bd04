//! What the program cannot do is reported in four parts, with the exit code of its kind, and leaves nothing.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

mod program;
#[path = "../../drive/tests/support/mod.rs"]
mod support;

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use program::{drive_up, Program, MIB, PROGRAM};
use stithy_wire::{
    ControlAnswer, ControlRequest, DriveBacking, DriveFault, DriveMessage, DriveSpec, Failure,
    FaultSchedule,
};
use support::spec;

/// A path of its own in the folder for temporary files.
fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("stithy-{name}-{}", std::process::id()))
}

/// How the program refuses drives, started by a command.
fn refused_by(command: &mut Command, control: &Path, drives: Vec<DriveSpec>) -> Failure {
    let job = serde_json::to_string(&drive_up(control, drives)).unwrap();
    let program = Program::start_as(PathBuf::from("/nowhere"), &job, command);
    let (messages, status) = program.end();
    let Some(DriveMessage::Failure(failure)) = messages.last() else {
        panic!("no failure: {messages:?}");
    };
    assert_eq!(Some(i32::from(failure.exit)), status.code());
    let parts = [&failure.problem, &failure.place, &failure.remedy];
    assert!(parts.iter().all(|part| !part.is_empty()), "{failure:?}");
    assert!(!control.exists() || control.is_file(), "a socket is left");
    failure.clone()
}

fn refused(drives: Vec<DriveSpec>) -> Failure {
    refused_by(&mut Command::new(PROGRAM), &place("refused.sock"), drives)
}

fn told(failure: &Failure) -> (&str, &str, u8) {
    (&failure.code, &failure.place, failure.exit)
}

/// A device of the system: its name, and its number in the kernel's list of devices.
type Node = (&'static str, u32);

const FUSE: Node = ("/dev/fuse", 229);
const LOOP_CONTROL: Node = ("/dev/loop-control", 237);

/// The program on a machine whose `/dev` holds nothing else than these.
fn with_devices(nodes: &[Node]) -> Command {
    let nodes: Vec<(CString, libc::dev_t)> = nodes
        .iter()
        .map(|(name, minor)| (CString::new(*name).unwrap(), libc::makedev(10, *minor)))
        .collect();
    let mut command = Command::new(PROGRAM);
    let prepare = move || {
        hide_devices()?;
        for (name, device) in &nodes {
            // SAFETY: the name is a C string that outlives the call.
            succeeded(unsafe { libc::mknod(name.as_ptr(), libc::S_IFCHR | 0o600, *device) })?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(prepare) };
    command
}

/// Puts an empty file system over `/dev`, for this process alone.
fn hide_devices() -> io::Result<()> {
    let null = std::ptr::null();
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: all strings are constants; the calls take nothing else.
    unsafe {
        succeeded(libc::unshare(libc::CLONE_NEWNS))?;
        succeeded(libc::mount(null, c"/".as_ptr(), null, private, null.cast()))?;
        let (tmpfs, dev) = (c"tmpfs".as_ptr(), c"/dev".as_ptr());
        succeeded(libc::mount(tmpfs, dev, tmpfs, 0, null.cast()))
    }
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Without FUSE, without loop devices or without a free one, the machine lacks something, and what that is.
#[test]
fn a_machine_that_lacks_something_is_told_what() {
    if !support::drives_are_possible() {
        return;
    }
    let control = place("lacking.sock");
    let lacking = |nodes: &[Node]| {
        let drives = vec![spec("lacking", MIB)];
        refused_by(&mut with_devices(nodes), &control, drives)
    };
    assert_eq!(("no-fuse", "/dev/fuse", 3), told(&lacking(&[])));
    let failure = lacking(&[FUSE]);
    assert_eq!(("no-loop-device", "/dev/loop-control", 3), told(&failure));
    // The kernel offers a loop device for which this machine, a container say, has no file.
    let failure = lacking(&[FUSE, LOOP_CONTROL]);
    assert_eq!(("no-loop-device", 3), (&*failure.code, failure.exit));
    assert!(failure.place.starts_with("/dev/loop"), "{failure:?}");
    assert!(failure.remedy.contains("mknod"), "{failure:?}");
}

/// Whoever is not root is told so.
#[test]
fn somebody_who_is_not_root_is_told() {
    if !support::drives_are_possible() {
        return;
    }
    const NOBODY: u32 = 65534;
    // Copied to where somebody else may start it.
    let program = place("as-nobody");
    std::fs::copy(PROGRAM, &program).unwrap();
    let mut command = Command::new(&program);
    command.uid(NOBODY).gid(NOBODY);
    let failure = refused_by(&mut command, &place("nobody.sock"), vec![spec("n", MIB)]);
    std::fs::remove_file(&program).unwrap();
    assert_eq!(("no-fuse", "/dev/fuse", 3), told(&failure));
    assert!(failure.remedy.contains("root"), "{failure:?}");
}

/// Drives larger than the free memory or disk, alone or together, are refused before they are made.
#[test]
fn a_drive_without_room_is_refused() {
    if !support::drives_are_possible() {
        return;
    }
    let large = spec("large", 1 << 50);
    assert_eq!(
        ("no-room", "memory", 3),
        told(&refused(vec![large.clone()]))
    );
    let image = place("large-image");
    let path = image.display().to_string();
    let in_file = DriveSpec {
        backing: DriveBacking::File { path: path.clone() },
        ..large
    };
    assert_eq!(("no-room", &*path, 3), told(&refused(vec![in_file])));
    assert!(!image.exists());
}

/// A profile is refused with the file's lines, all problems at once; an impossible spec with its key.
#[test]
fn a_drive_that_cannot_be_is_refused() {
    let described = |text: &str| DriveSpec {
        profile: Some(text.to_string()),
        ..spec("described", MIB)
    };
    let failure = refused(vec![described(
        "version = 1\nchannels = 0\nread.p50_us = -1\n",
    )]);
    assert_eq!(("profile-invalid", 2), (&*failure.code, failure.exit));
    for problem in [
        "profile:2: channels = 0",
        "profile:3: read.p50_us = -1",
        "flush",
    ] {
        assert!(failure.problem.contains(problem), "{problem}: {failure:?}");
    }
    let odd = spec("odd", 4097);
    assert_eq!(
        ("drive-invalid", "size_bytes", 2),
        told(&refused(vec![odd]))
    );
    let unlogged = DriveSpec {
        hlog_stem: Some("/no/such/folder/log".to_string()),
        ..spec("unlogged", MIB)
    };
    if support::drives_are_possible() {
        assert_eq!(("no-hlog", "hlog_stem", 3), told(&refused(vec![unlogged])));
    }
}

/// A control socket's path that is taken, or too long, is refused.
#[test]
fn a_control_socket_that_cannot_be_is_refused() {
    let taken = place("taken");
    std::fs::write(&taken, "").unwrap();
    let at = |path: &Path| refused_by(&mut Command::new(PROGRAM), path, Vec::new());
    let failure = at(&taken);
    std::fs::remove_file(&taken).unwrap();
    assert_eq!(("control-exists", 3), (&*failure.code, failure.exit));
    let failure = at(&std::env::temp_dir().join("s".repeat(120)));
    assert_eq!(("no-control", 3), (&*failure.code, failure.exit));
}

/// Two drives of one name, or with one interval log: the second is refused, and the first goes with the program.
#[test]
fn names_are_given_once() {
    if !support::drives_are_possible() {
        return;
    }
    let failure = refused(vec![spec("twice", MIB), spec("twice", MIB)]);
    assert_eq!(("drive-exists", "twice", 2), told(&failure));
    let stem = place("one-log").display().to_string();
    let logged = |name| DriveSpec {
        hlog_stem: Some(stem.clone()),
        ..spec(name, MIB)
    };
    let failure = refused(vec![logged("first"), logged("second")]);
    assert_eq!(("drive-invalid", "hlog_stem", 2), told(&failure));
    for log in ["latency", "latency-total"] {
        std::fs::remove_file(format!("{stem}.{log}.hlog")).unwrap();
    }
}

/// What a drive that is up cannot do is reported, and it goes on as before.
#[test]
fn requests_that_cannot_be_done_change_nothing() {
    if !support::drives_are_possible() {
        return;
    }
    let (program, ready) = Program::serving("requests", &["up"]);
    let there = place("there");
    std::fs::write(&there, "a person's").unwrap();
    let drive = || "up".to_string();
    let fault = |fault| ControlRequest::Fault {
        drive: drive(),
        fault,
    };
    let schedule = FaultSchedule::Shipped {
        name: "increased".to_string(),
    };
    let trace = |path: Option<&Path>| ControlRequest::Trace {
        drive: drive(),
        path: path.map(|path| path.display().to_string()),
    };
    let cases = [
        (
            "drive-exists",
            ControlRequest::Up {
                spec: Box::new(spec("up", MIB)),
            },
        ),
        (
            "drive-unknown",
            ControlRequest::Stats {
                drive: "down".to_string(),
            },
        ),
        (
            "drive-invalid",
            ControlRequest::Set {
                drive: drive(),
                transport_s: Some(2.0),
                spin_s: None,
                paced: Some(false),
            },
        ),
        ("no-snapshot", ControlRequest::Restore { drive: drive() }),
        (
            "fault-invalid",
            fault(DriveFault::Stall { duration_s: -1.0 }),
        ),
        ("fault-invalid", fault(DriveFault::Schedule { schedule })),
        ("no-trace", trace(None)),
        ("trace-exists", trace(Some(&there))),
        ("no-trace-file", trace(Some(Path::new("/no/such/folder/t")))),
    ];
    for (code, request) in cases {
        match program.ask(&request) {
            ControlAnswer::Failure(failure) => assert_eq!(code, failure.code, "{failure:?}"),
            other => panic!("{code}: {other:?}"),
        }
    }
    assert_eq!("a person's", std::fs::read_to_string(&there).unwrap());
    std::fs::remove_file(&there).unwrap();
    let drives = ready.clone();
    assert_eq!(
        ControlAnswer::List { drives },
        program.ask(&ControlRequest::List)
    );
}
