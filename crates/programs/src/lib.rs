//! What both native programs do around their jobs.

use std::io::{BufRead, Read, Write};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::Duration;

use stithy_measure::error::ProgramError;

/// The exit code of a program whose lease was lost: the infrastructure failed.
const LEASE_LOST: i32 = 4;

/// Reads the text of a job on standard input.
///
/// Errors: `job-invalid` (usage).
pub fn read_input() -> Result<String, ProgramError> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(unread)?;
    Ok(text)
}

/// Reads the text of a job on the first line of standard input. Each further line renews a lease of a `term`: without
/// one for so long, or at the end of the input, this process ends.
///
/// Errors: `job-invalid` (usage).
pub fn read_leased(term: Duration) -> Result<String, ProgramError> {
    let mut text = String::new();
    std::io::stdin().read_line(&mut text).map_err(unread)?;
    let (renewed, renewals) = channel();
    thread::spawn(move || hear_renewals(&renewed));
    thread::spawn(move || end_without_renewal(&renewals, term));
    Ok(text)
}

#[allow(
    clippy::exit,
    reason = "nobody is there to whom an error could be passed on"
)]
fn end_without_renewal(renewals: &Receiver<()>, term: Duration) {
    while renewals.recv_timeout(term).is_ok() {}
    std::process::exit(LEASE_LOST);
}

/// Passes on each line; ends with the input.
fn hear_renewals(renewed: &Sender<()>) {
    for line in std::io::stdin().lock().lines() {
        if line.is_err() || renewed.send(()).is_err() {
            return;
        }
    }
}

fn unread(e: std::io::Error) -> ProgramError {
    let remedy = "give one job as JSON on standard input";
    ProgramError::usage("job-invalid", e.to_string(), "job", remedy).caused_by(e)
}

/// Prints a text, whether or not somebody reads it, and gives what comes then.
pub fn print<T>(text: &str, then: T) -> T {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    then
}
