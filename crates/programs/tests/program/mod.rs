//! A running `stithy-drive`, for the tests of it.

#![allow(dead_code)] // each test program uses its own part of this module

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use stithy_wire::{
    ControlAnswer, ControlRequest, DriveJob, DriveMessage, DriveReady, DriveSpec, DriveUpJob,
    WIRE_VERSION,
};

use crate::support::spec;

pub const MIB: u64 = 1 << 20;

/// The program that is tested.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_stithy-drive");

/// A job that brings drives up.
pub fn drive_up(control: &Path, drives: Vec<DriveSpec>) -> DriveJob {
    DriveJob::DriveUp(DriveUpJob {
        wire: WIRE_VERSION,
        control: control.display().to_string(),
        drives,
        hold_off_idle: false,
    })
}

/// A running program; killed and its socket removed when the test ends.
pub struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub control: PathBuf,
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
    pub fn serving(test: &str, names: &[&str]) -> (Self, Vec<DriveReady>) {
        let control =
            std::env::temp_dir().join(format!("stithy-{test}-{}.sock", std::process::id()));
        let drives = names.iter().map(|name| spec(name, 16 * MIB)).collect();
        let job = drive_up(&control, drives);
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

    /// Starts the program with a job; it is given no socket to ask.
    pub fn of(job: &DriveJob) -> Self {
        Program::start(
            PathBuf::from("/nowhere"),
            &serde_json::to_string(job).unwrap(),
        )
    }

    pub fn start(control: PathBuf, input: &str) -> Self {
        Program::start_as(control, input, &mut Command::new(PROGRAM))
    }

    /// Starts the program by a command that says more about how.
    pub fn start_as(control: PathBuf, input: &str, command: &mut Command) -> Self {
        let mut child = command
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

    pub fn message(&mut self) -> Option<DriveMessage> {
        let line = self.lines.next()?.expect("the output is UTF-8");
        Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}")))
    }

    pub fn ask(&self, request: &ControlRequest) -> ControlAnswer {
        let mut stream = UnixStream::connect(&self.control).expect("the socket answers");
        let mut line = serde_json::to_string(request).unwrap();
        line.push('\n');
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{answer}: {e}"))
    }

    /// Whether the process is gone, with all its threads.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the call takes numbers only; the child is not yet waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// The rest of the output, and how it ended.
    pub fn end(mut self) -> (Vec<DriveMessage>, ExitStatus) {
        let rest = std::iter::from_fn(|| self.message()).collect();
        (rest, self.child.wait().expect("it was started"))
    }
}

pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn down(drive: Option<&str>) -> ControlRequest {
    ControlRequest::Down {
        drive: drive.map(str::to_string),
    }
}
