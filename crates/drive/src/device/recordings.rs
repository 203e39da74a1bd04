//! What a drive writes down while it is up: its interval log and its trace, and what went wrong with them.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use stithy_measure::{Clock, SystemClock};
use stithy_wire::{DriveCounters, DriveSpec, TraceCounts, Warning};

use super::Device;
use crate::error::DriveError;
use crate::latency_log::LatencyLog;
use crate::serve::Command;
use crate::trace::{Head, Trace};

/// The interval log that a spec asks for.
pub(super) fn latency_log(
    spec: &DriveSpec,
    clock: &SystemClock,
) -> Result<Option<LatencyLog>, DriveError> {
    let Some(stem) = &spec.hlog_stem else {
        return Ok(None);
    };
    let log = LatencyLog::create(stem, clock.unix_start()).map_err(|e| {
        let problem = format!("the interval log cannot be made: {e}");
        let remedy = "give a path in a folder that may be written, or null";
        DriveError::precondition("no-hlog", problem, "hlog_stem", remedy).caused_by(e)
    })?;
    Ok(Some(log))
}

impl Device {
    /// Ends a second, in the log too.
    pub(super) fn end_second(&mut self) -> DriveCounters {
        let (now, log) = (self.clock.now(), &mut self.log);
        let mut result = Ok(());
        let told = self.tally.take_second(now, &mut |second| {
            if let Some(log) = log {
                result = log.write(second, now.since(second.begin()));
            }
        });
        self.check_log(result);
        told
    }

    /// What the names of its interval logs begin with; None where it has none.
    pub fn hlog_stem(&self) -> Option<&str> {
        self.log.as_ref().map(LatencyLog::stem)
    }

    fn check_log(&mut self, result: io::Result<()>) {
        if let Err(e) = result {
            self.log = None;
            let name = &self.ready.drive;
            let text = format!("the interval log of {name} ends here, the drive goes on: {e}");
            self.warn("hlog-failed", text);
        }
    }

    pub(super) fn warn(&mut self, code: &str, text: String) {
        let code = code.to_string();
        self.warnings.push(Warning { code, text });
    }

    /// What a reader should know since the last call.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Writes down each request from now on.
    ///
    /// Errors: `trace-exists` where a trace is being written or the file is there; `trace-invalid` where it
    /// would lie on the drive itself; `no-trace-file` where it cannot be made.
    pub fn begin_trace(&mut self, path: &str) -> Result<TraceCounts, DriveError> {
        if let Some(trace) = &self.trace {
            let problem = format!("{} is being traced to {}", self.ready.drive, trace.path());
            let remedy = "end that trace first";
            return Err(DriveError::usage("trace-exists", problem, path, remedy));
        }
        if self.holds(path) {
            let problem =
                "the file would lie on the drive that it is of: each write of it would be traced";
            let remedy = "give a file on another drive";
            return Err(DriveError::usage("trace-invalid", problem, path, remedy));
        }
        let head = Head {
            drive: self.ready.drive.clone(),
            sector_bytes: self.ready.sector_bytes,
            size_bytes: self.ready.size_bytes,
            unix_start_ns: u64::try_from(self.clock.unix_start().as_nanos()).unwrap_or(0),
        };
        let (trace, tracer) = Trace::begin(path, &head).map_err(|e| cannot_trace(path, e))?;
        self.ask(move |drive, _| drive.trace(Some(tracer)))?;
        self.lost_told = 0;
        self.trace = Some(trace);
        Ok(TraceCounts {
            drive: self.ready.drive.clone(),
            path: path.to_string(),
            written: 0,
            lost: 0,
        })
    }

    /// Whether a file of this path would lie on a file system on the drive.
    fn holds(&self, path: &str) -> bool {
        let folder = Path::new(path).parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let place = std::fs::metadata(folder.unwrap_or(Path::new(".")));
        let device = std::fs::metadata(&self.ready.device);
        matches!((place, device), (Ok(place), Ok(device)) if place.dev() == device.rdev())
    }

    /// Ends the trace and waits until it is in its file.
    ///
    /// Errors: `no-trace` where none is being written.
    pub fn end_trace(&mut self) -> Result<TraceCounts, DriveError> {
        let Some(trace) = self.trace.take() else {
            let problem = "the drive is not being traced";
            let remedy = "begin a trace first";
            let name = &self.ready.drive;
            return Err(DriveError::usage("no-trace", problem, name, remedy));
        };
        // A thread that has ended has let go of its end already.
        let _ = self.ask(|drive, _| drive.trace(None));
        let (counts, failure) = trace.finish();
        self.warn_of_loss(counts.lost, failure.as_ref());
        Ok(counts)
    }

    /// Has what was recorded reach the file, and tells of what was lost since it was reported last.
    pub(super) fn look_after_trace(&mut self) {
        let Some(trace) = &self.trace else {
            return;
        };
        let lost = trace.lost();
        self.orders
            .give(Command::Work(Box::new(|drive, _| drive.hand_trace_on())));
        self.warn_of_loss(lost, None);
    }

    fn warn_of_loss(&mut self, lost: u64, failure: Option<&io::Error>) {
        if lost <= self.lost_told && failure.is_none() {
            return;
        }
        let name = &self.ready.drive;
        let text = match failure {
            None => format!("the trace of {name} lacks {lost} requests: its file is too slow"),
            Some(e) => format!("the trace of {name} lacks {lost} requests: {e}"),
        };
        self.lost_told = lost;
        self.warn("trace-incomplete", text);
    }

    /// Ends log and trace, as before the drive goes down.
    pub fn end_recordings(&mut self) {
        if self.trace.is_some() {
            // What went wrong is among the warnings.
            let _ = self.end_trace();
        }
        self.end_second();
        if let Some(mut log) = self.log.take() {
            let total = self.tally.total_span();
            let length = self.clock.now().since(total.begin());
            let result = log.write_total(total, length);
            self.check_log(result);
        }
    }
}

fn cannot_trace(path: &str, e: io::Error) -> DriveError {
    if e.kind() == io::ErrorKind::AlreadyExists {
        let remedy = "give another path, or remove the file";
        return DriveError::usage("trace-exists", "it is there already", path, remedy);
    }
    let remedy = "give a path in a folder that may be written";
    let problem = format!("the trace cannot be made: {e}");
    DriveError::precondition("no-trace-file", problem, path, remedy).caused_by(e)
}
