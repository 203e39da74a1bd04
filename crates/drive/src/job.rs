//! A job from its text to its end.

use std::path::Path;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stithy_measure::{Clock, SystemClock};
use stithy_wire::{
    CatalogueSummary, DriveJob, DriveMessage, DriveUpJob, ShippedProfile, Started, WIRE_VERSION,
};

use crate::control::{Control, Ending};
use crate::error::DriveError;
use crate::fault::SCHEDULES;
use crate::figures::figures;
use crate::fleet::{Fleet, Sink};
use crate::host;
use crate::profile::{judge, CATALOGUE};
use crate::wakefulness::Wakefulness;

/// Program and version.
pub const PROGRAM: &str = concat!("stithy-drive ", env!("CARGO_PKG_VERSION"));

/// Reads a job, and refuses one of another version.
pub fn parse(text: &str) -> Result<DriveJob, DriveError> {
    let job: DriveJob = serde_json::from_str(text).map_err(|e| {
        let remedy = "give one job as wire/README.md tells it";
        DriveError::usage("job-invalid", e.to_string(), "job", remedy).caused_by(e)
    })?;
    let wire = match &job {
        DriveJob::DriveUp(job) => job.wire,
        DriveJob::Catalogue(job) => job.wire,
        DriveJob::CheckProfile(job) => job.wire,
        DriveJob::ProfileFigures(job) => job.wire,
    };
    if wire != WIRE_VERSION {
        let problem = format!("the job speaks version {wire}");
        let remedy = format!("give version {WIRE_VERSION}");
        return Err(DriveError::usage("wire-version", problem, "wire", remedy));
    }
    Ok(job)
}

/// Does a job; returns when it has ended.
pub fn execute(job: &DriveJob, sink: Sink) -> Result<(), DriveError> {
    sink(DriveMessage::Started(Started {
        wire: WIRE_VERSION,
        program: PROGRAM.to_string(),
        at_s: SystemClock::start().unix_start().as_secs_f64(),
    }));
    match job {
        DriveJob::DriveUp(job) => {
            let ending = watch_signals()?;
            let (awake, refused) = prepare(job);
            let fleet = Arc::new(Fleet::new(sink, awake));
            for text in refused {
                fleet.warn("host-not-prepared", text);
            }
            let served = serve(job, &fleet, ending);
            fleet.abandon();
            served
        }
        DriveJob::Catalogue(_) => {
            tell_catalogue(&sink);
            Ok(())
        }
        DriveJob::CheckProfile(job) => {
            let summary = judge(&job.text, job.scale);
            sink(DriveMessage::CheckProfileSummary(Box::new(summary)));
            Ok(())
        }
        DriveJob::ProfileFigures(job) => {
            sink(DriveMessage::ProfileFiguresSummary(figures(job)?));
            Ok(())
        }
    }
}

fn tell_catalogue(sink: &Sink) {
    let mut profiles = 0;
    for shipped in CATALOGUE {
        if let Some(facts) = judge(shipped.text, 1.0).facts {
            let text = shipped.text.to_string();
            let profile = ShippedProfile { text, facts };
            sink(DriveMessage::ShippedProfile(Box::new(profile)));
            profiles += 1;
        }
    }
    for shipped in SCHEDULES {
        sink(DriveMessage::ShippedSchedule(shipped.told()));
    }
    sink(DriveMessage::CatalogueSummary(CatalogueSummary {
        profiles,
        schedules: SCHEDULES.len() as u64,
    }));
}

type Endings = (Sender<Ending>, Receiver<Ending>);

fn watch_signals() -> Result<Endings, DriveError> {
    let (sender, ending) = channel();
    host::watch_signals(sender.clone(), || Ending::Signal).map_err(|e| {
        DriveError::bug("signals cannot be waited for", "starting the program").caused_by(e)
    })?;
    Ok((sender, ending))
}

fn serve(
    job: &DriveUpJob,
    fleet: &Arc<Fleet>,
    (sender, ending): Endings,
) -> Result<(), DriveError> {
    for spec in &job.drives {
        fleet.up(spec)?;
    }
    let _control = Control::open(Path::new(&job.control), Arc::clone(fleet), sender)?;
    fleet.tell(DriveMessage::Serving);
    let start = Instant::now();
    for second in 1_u64.. {
        let until = start + Duration::from_secs(second);
        let left = until.saturating_duration_since(Instant::now());
        match ending.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => fleet.tell_second(),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

/// What is asked of the machine, and what it refuses.
fn prepare(job: &DriveUpJob) -> (Wakefulness, Vec<String>) {
    let mut refused = host::prepare();
    if !job.hold_off_idle {
        return (Wakefulness::default(), refused);
    }
    let awake = Wakefulness::open().unwrap_or_else(|e| {
        refused.push(format!("deep idle states cannot be held off: {e}"));
        Wakefulness::default()
    });
    (awake, refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job of another version, or with an unknown key, is refused with the key's name.
    #[test]
    fn a_job_that_is_not_understood_is_refused() {
        let text = |wire: u32, more: &str| {
            format!(
                "{{\"job\":\"drive-up\",\"wire\":{wire},\"control\":\"c\",\"drives\":[],\
                 \"hold_off_idle\":false{more}}}"
            )
        };
        assert!(parse(&text(WIRE_VERSION, "")).is_ok());
        assert_eq!("wire-version", parse(&text(0, "")).unwrap_err().code);
        let error = parse(&text(WIRE_VERSION, ",\"driver\":1")).unwrap_err();
        assert!(error.problem.contains("driver"), "{error}");
    }
}
