//! `stithy-drive`: reads one job on standard input, serves drives, writes one message a line on standard
//! output.
//!
//! SIGINT and SIGTERM take the drives down. The exit code is 0 then, otherwise that of the failure.

use std::process::ExitCode;

use stithy_drive::job;
use stithy_drive::output::Output;
use stithy_drive::transport::{kernel_support, KernelSupport};
use stithy_programs::{print, read_input};
use stithy_wire::DriveMessage;

const USAGE: &str = "\
stithy-drive: the emulated drives of Stithy.

Reads one job as JSON on standard input, serves the drives it names until told to stop, and writes
one message a line on standard output. Needs root, /dev/fuse and loop devices.
The protocol is told in wire/README.md.

usage: stithy-drive < job.json
       stithy-drive --version
       stithy-drive --transports    which ways to a drive this machine has
";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => run(),
        Some("--version") => print(&format!("{}\n", job::PROGRAM), ExitCode::SUCCESS),
        Some("--transports") => print(&transports(), ExitCode::SUCCESS),
        Some("--help" | "-h") => print(USAGE, ExitCode::SUCCESS),
        Some(_) => print(USAGE, ExitCode::from(2)),
    }
}

/// One line a way: its name, whether it is used, what there is of it.
fn transports() -> String {
    let line = |each: KernelSupport| {
        let used = if each.is_used { "used" } else { "not used" };
        format!("{:<12}{:<10}{}\n", each.name, used, each.state)
    };
    kernel_support().into_iter().map(line).collect()
}

fn run() -> ExitCode {
    // Read before signals wait: whoever types a job may still stop.
    let job = read_input().and_then(|text| job::parse(&text));
    let output = match Output::start(std::io::stdout()) {
        Ok(output) => output,
        Err(_) => return ExitCode::FAILURE, // without a thread there is no way to say so
    };
    let done = job.and_then(|job| job::execute(&job, output.sink()));
    let code = match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.sink()(DriveMessage::Failure(error.to_failure()));
            ExitCode::from(error.exit())
        }
    };
    output.finish();
    code
}
