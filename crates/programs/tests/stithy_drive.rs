//! The program as others see it: a job in, drives up, lines out, a socket that answers, and nothing left
//! behind, however it ends.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

#[path = "../../drive/tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use stithy_wire::{
    ControlAnswer, ControlRequest, DriveFault, DriveJob, DriveMessage, DriveReady, DriveUpJob,
    WIRE_VERSION,
};
use support::{open_direct, spec, Page};

const MIB: u64 = 1 << 20;

/// A running program; killed and its socket removed when the test ends.
struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    control: PathBuf,
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended cannot be killed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.control);
    }
}

impl Program {
    /// Starts the program with drives of these names, and waits until it serves.
    fn serving(test: &str, names: &[&str]) -> (Self, Vec<DriveReady>) {
        let control =
            std::env::temp_dir().join(format!("stithy-{test}-{}.sock", std::process::id()));
        let job = DriveJob::DriveUp(DriveUpJob {
            wire: WIRE_VERSION,
            control: control.display().to_string(),
            drives: names.iter().map(|name| spec(name, 16 * MIB)).collect(),
            hold_off_idle: false,
        });
        let mut program = Program::start(control, &serde_json::to_string(&job).unwrap());
        let mut ready = Vec::new();
        loop {
            match program.message() {
                Some(DriveMessage::DriveReady(drive)) => ready.push(drive),
                Some(DriveMessage::Serving) => return (program, ready),
                Some(DriveMessage::Started(_) | DriveMessage::Warning(_)) => {}
                other => panic!("it does not serve: {other:?}"),
            }
        }
    }

    fn start(control: PathBuf, input: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stithy-drive"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        stdin.write_all(input.as_bytes()).expect("it reads");
        let stdout = child.stdout.take().expect("standard output is a pipe");
        Program {
            child,
            lines: BufReader::new(stdout).lines(),
            control,
        }
    }

    fn message(&mut self) -> Option<DriveMessage> {
        let line = self.lines.next()?.expect("the output is UTF-8");
        Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}")))
    }

    fn ask(&self, request: &ControlRequest) -> ControlAnswer {
        let mut stream = UnixStream::connect(&self.control).expect("the socket answers");
        let mut line = serde_json::to_string(request).unwrap();
        line.push('\n');
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{answer}: {e}"))
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the call takes numbers only; the child is not yet waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// The rest of the output, and how it ended.
    fn end(mut self) -> (Vec<DriveMessage>, ExitStatus) {
        let rest = std::iter::from_fn(|| self.message()).collect();
        (rest, self.child.wait().expect("it was started"))
    }
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn down(drive: Option<&str>) -> ControlRequest {
    ControlRequest::Down {
        drive: drive.map(str::to_string),
    }
}

/// Drives come up, are listed, counted, joined by others, and go; the socket is for its owner only.
#[test]
fn a_program_serves_until_it_is_told_to_stop() {
    if !support::drives_are_possible() {
        return;
    }
    let (program, ready) = Program::serving("serves", &["first", "second"]);
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
    assert!(!control.exists() && !support::is_attached(&ready[0].device));
}

/// SIGTERM takes the drives down, whether they are in use or not.
#[test]
fn a_signal_takes_the_drives_down() {
    if !support::drives_are_possible() {
        return;
    }
    let (program, ready) = Program::serving("signal", &["held", "free"]);
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
    eventually("the device is let go", || {
        !support::is_attached(&ready[0].device)
    });
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
        eventually("the device is let go", || !support::is_attached(&device));
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

/// What the program cannot do is told in four parts, with the exit code of its kind.
#[test]
fn a_job_that_cannot_be_done_is_told_of() {
    if !support::drives_are_possible() {
        return;
    }
    let taken = std::env::temp_dir().join(format!("stithy-taken-{}", std::process::id()));
    std::fs::write(&taken, "").unwrap();
    let mut job = DriveUpJob {
        wire: WIRE_VERSION,
        control: taken.display().to_string(),
        drives: vec![spec("odd", 4097)],
        hold_off_idle: false,
    };
    let mut codes = Vec::new();
    for drives in [job.drives.clone(), Vec::new()] {
        job.drives = drives;
        let text = serde_json::to_string(&DriveJob::DriveUp(job.clone())).unwrap();
        let (messages, status) = Program::start(PathBuf::from("/nowhere"), &text).end();
        let Some(DriveMessage::Failure(failure)) = messages.last() else {
            panic!("no failure: {messages:?}");
        };
        assert_eq!(Some(i32::from(failure.exit)), status.code());
        codes.push((failure.code.clone(), failure.exit));
    }
    std::fs::remove_file(&taken).unwrap();
    let expected = [("drive-invalid", 2), ("control-exists", 3)];
    assert_eq!(
        expected
            .map(|(code, exit)| (code.to_string(), exit))
            .to_vec(),
        codes
    );
}
