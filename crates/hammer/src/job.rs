//! From the text of a job to its last message: reading, refusing what is wrong, handing it to its
//! workload.

use std::fmt::Display;

use stithy_measure::{Clock, SystemClock};
use stithy_wire::{DataShape, Job, Message, Pace, Started, WIRE_VERSION};

use crate::engines::Target;
use crate::error::HammerError;
use crate::jobs::{self, READ_BYTES};
pub use crate::plugins::{built_in, execute};
use crate::share::refuse_wrong_share;
use crate::workloads::{Context, Workload};

/// Name and version, as the first message tells them.
pub const PROGRAM: &str = concat!("stithy-hammer ", env!("CARGO_PKG_VERSION"));

/// More connections than any server takes.
const LOADERS_MAX: u32 = 1_000;
/// No server takes more.
const CONNECTIONS_MAX: u32 = 262_143;
/// More users than this do not fit into the memory of one host.
const USERS_MAX: u32 = 10_000_000;
/// No server answers faster.
const RATE_MAX: f64 = 10_000_000.0;
/// One in a year.
const RATE_MIN: f64 = 1.0 / SECONDS_MAX;
/// A year; longer is a wrong unit.
const SECONDS_MAX: f64 = 31_536_000.0;

/// Reads a job.
///
/// Errors: `job-invalid`, `wire-version` (usage).
pub fn parse(text: &str) -> Result<Job, HammerError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(invalid)?;
    refuse_other_wire(&value)?;
    serde_json::from_value(value).map_err(invalid)
}

fn invalid(e: serde_json::Error) -> HammerError {
    let remedy = "give one job as JSON on standard input, see wire/README.md";
    HammerError::usage("job-invalid", e.to_string(), "job", remedy).caused_by(e)
}

/// Told before anything else: the keys of another version may have other meanings.
fn refuse_other_wire(job: &serde_json::Value) -> Result<(), HammerError> {
    match job.get("wire").and_then(serde_json::Value::as_u64) {
        Some(version) if version != u64::from(WIRE_VERSION) => Err(HammerError::usage(
            "wire-version",
            format!("the job speaks version {version}, this hammer speaks {WIRE_VERSION}"),
            "wire",
            "install matching versions of stithy and stithy-hammer",
        )),
        _ => Ok(()),
    }
}

/// Does a job of a workload on an engine, both of which the compiler knows.
pub async fn execute_as<T: Target, W: Workload>(
    job: &Job,
    context: Context<'_>,
) -> Result<(), HammerError> {
    refuse_wrong_numbers(job)?;
    let Context { sink, stop } = context;
    sink(started());
    let inner = Context {
        sink: &mut *sink,
        stop,
    };
    let summary = jobs::summary::<T, W>(job, inner).await?;
    sink(summary);
    Ok(())
}

fn refuse_wrong_numbers(job: &Job) -> Result<(), HammerError> {
    match job {
        Job::Calibrate(job) => {
            within("connections", job.connections, CONNECTIONS_MAX)?;
            if let Some(think_s) = job.think_s {
                above_zero("think_s", think_s)?;
            }
            seconds("trial_s", job.trial_s)
        }
        Job::Baseline(job) => {
            whole_reads(job.file_bytes)?;
            above_zero("spin_s", job.spin_s)?;
            above_zero("read_s", job.read_s)
        }
        Job::Prepare(job) => {
            within("loaders", job.loaders, LOADERS_MAX)?;
            refuse_wrong_shape(&job.data)
        }
        Job::Run(job) => {
            within("users", job.users, USERS_MAX)?;
            let connections = job.connections.unwrap_or(job.users);
            within("connections", connections, CONNECTIONS_MAX)?;
            refuse_wrong_share(job.share, job.users.min(connections))?;
            refuse_wrong_pace(&job.pace)?;
            seconds("reconnect_limit_s", job.reconnect_limit_s)?;
            seconds("ramp_up_s", job.ramp_up_s)?;
            seconds("duration_s", job.duration_s)
        }
        _ => Ok(()),
    }
}

/// Letters and digits, the most random text there is here, compress by a quarter.
const COMPRESSIBLE_MIN: u8 = 26;

fn refuse_wrong_shape(data: &DataShape) -> Result<(), HammerError> {
    let (key, value) = match (data.compressible_percent, data.duplicate_percent) {
        (Some(value), _) if !(COMPRESSIBLE_MIN..=100).contains(&value) => ("compressible", value),
        (_, value) if value > 100 => ("duplicate", value),
        _ => return Ok(()),
    };
    let remedy = format!(
        "give data.compressible_percent from {COMPRESSIBLE_MIN} to 100, or null for random letters \
         and digits, and data.duplicate_percent from 0 to 100"
    );
    let problem = format!("data.{key}_percent is {value}");
    Err(HammerError::usage("job-invalid", problem, "data", remedy))
}

fn refuse_wrong_pace(pace: &Pace) -> Result<(), HammerError> {
    match pace {
        Pace::None | Pace::Keyed => Ok(()),
        Pace::Think { mean_s } => above_zero("pace.mean_s", *mean_s),
        Pace::Rate { per_s, .. } => {
            let remedy = format!("give a number of at least one in a year and up to {RATE_MAX}");
            let right = (RATE_MIN..=RATE_MAX).contains(per_s);
            require(right, "pace.per_s", *per_s, remedy)
        }
    }
}

fn whole_reads(file_bytes: u64) -> Result<(), HammerError> {
    let right = file_bytes >= READ_BYTES && file_bytes.is_multiple_of(READ_BYTES);
    let remedy = format!("give a multiple of {READ_BYTES}");
    require(right, "file_bytes", file_bytes, remedy)
}

fn above_zero(key: &str, value_s: f64) -> Result<(), HammerError> {
    let remedy = format!("give a number of seconds above 0 and up to {SECONDS_MAX}");
    require(
        value_s > 0.0 && value_s <= SECONDS_MAX,
        key,
        value_s,
        remedy,
    )
}

fn seconds(key: &str, value_s: f64) -> Result<(), HammerError> {
    let remedy = format!("give a number of seconds from 0 to {SECONDS_MAX}");
    require((0.0..=SECONDS_MAX).contains(&value_s), key, value_s, remedy)
}

fn within(key: &str, value: u32, max: u32) -> Result<(), HammerError> {
    let remedy = format!("give a number from 1 to {max}");
    require((1..=max).contains(&value), key, value, remedy)
}

/// Refuses a value of a key that is not right.
fn require<V: Display>(
    right: bool,
    key: &str,
    value: V,
    remedy: String,
) -> Result<(), HammerError> {
    let problem = || format!("{key} is {value}");
    let refused = || HammerError::usage("job-invalid", problem(), key, remedy);
    right.then_some(()).ok_or_else(refused)
}

fn started() -> Message {
    let clock = SystemClock::start();
    let at_s = clock.unix_start().as_secs_f64();
    Message::Started(Started {
        wire: WIRE_VERSION,
        program: PROGRAM.to_string(),
        at_s,
    })
}
