//! What both native programs do around their jobs.

use std::io::{Read, Write};

use stithy_measure::error::ProgramError;

/// Reads the text of a job on standard input.
///
/// Errors: `job-invalid` (usage).
pub fn read_input() -> Result<String, ProgramError> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|e| {
        let remedy = "give one job as JSON on standard input";
        ProgramError::usage("job-invalid", e.to_string(), "job", remedy).caused_by(e)
    })?;
    Ok(text)
}

/// Prints a text, whether or not somebody reads it, and gives what comes then.
pub fn print<T>(text: &str, then: T) -> T {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    then
}
