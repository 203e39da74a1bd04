//! `stithy-hammer`: reads one job on standard input, writes one message a line on standard output.
//!
//! SIGINT and SIGTERM end the job early and cleanly. The exit code is 0 after a summary, otherwise
//! that of the failure.

use std::process::ExitCode;
use std::time::Duration;

use stithy_hammer::error::HammerError;
use stithy_hammer::job;
use stithy_hammer::stop::{stop_pair, Stopper};
use stithy_hammer::workloads::Context;
use stithy_measure::priority;
use stithy_programs::{print, read_input, read_leased};
use stithy_wire::{Job, Message};
use tokio::signal::unix::{signal, SignalKind};

const USAGE: &str = "\
stithy-hammer: the load driver of Stithy.

Reads one job as JSON on standard input and writes one message a line on standard output.
For people there is `stithy hammer`; the protocol is told in wire/README.md.

usage: stithy-hammer < job.json
       stithy-hammer --lease SECONDS   the job is the first line, each further one renews the lease
       stithy-hammer --version
       stithy-hammer --build       `release`, or `checked` for a build that tests use
       stithy-hammer --engines     the engines that are a part of it, with their versions
";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => run(read_input()),
        Some("--lease") => run_leased(),
        Some("--version") => print(&format!("{}\n", job::PROGRAM), ExitCode::SUCCESS),
        Some("--build") => print(&format!("{}\n", build()), ExitCode::SUCCESS),
        Some("--engines") => print(&job::built_in(), ExitCode::SUCCESS),
        Some("--help" | "-h") => print(USAGE, ExitCode::SUCCESS),
        Some(_) => print(USAGE, ExitCode::from(2)),
    }
}

/// What a measurement asks: a build that checks itself takes twice the CPU.
fn build() -> &'static str {
    match cfg!(debug_assertions) {
        true => "checked",
        false => "release",
    }
}

/// Refuses a lease that is no number of seconds.
fn run_leased() -> ExitCode {
    let seconds = std::env::args().nth(2).and_then(|text| text.parse().ok());
    match seconds.and_then(|s: f64| Duration::try_from_secs_f64(s).ok()) {
        Some(term) => run(read_leased(term)),
        None => print(USAGE, ExitCode::from(2)),
    }
}

fn run(input: Result<String, HammerError>) -> ExitCode {
    match input.and_then(|text| execute_text(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            write_message(Message::Failure(error.to_failure()));
            ExitCode::from(error.exit())
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, HammerError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|e| HammerError::bug(e.to_string(), "starting the program").caused_by(e))
}

fn execute_text(text: &str) -> Result<(), HammerError> {
    let job = job::parse(text)?;
    if matches!(job, Job::Run(_) | Job::Calibrate(_)) {
        // Before there is a second thread: each has its own priority, and takes that of its maker.
        priority::raise(priority::DRIVER_NICE);
    }
    runtime()?.block_on(execute(&job))
}

async fn execute(job: &Job) -> Result<(), HammerError> {
    let (stopper, stop) = stop_pair();
    let watching = tokio::spawn(watch_signals(stopper));
    let result = job::execute(
        job,
        Context {
            sink: &mut write_message,
            stop,
        },
    )
    .await;
    watching.abort();
    result
}

/// Every signal asks the job to stop; a job that does not stop can still be killed.
async fn watch_signals(stopper: Stopper) {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        return;
    };
    loop {
        tokio::select! {
            _ = interrupt.recv() => stopper.request(),
            _ = terminate.recv() => stopper.request(),
        }
    }
}

/// Writes a line at once. Where nobody reads any more there is nobody left to tell.
fn write_message(message: Message) {
    let line = serde_json::to_string(&message).unwrap_or_default();
    print(&format!("{line}\n"), ());
}
