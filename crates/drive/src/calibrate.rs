//! What the machine adds to every answer, measured on a drive of one's own before the first drive serves:
//! the transport's latency, and how early sleeping must end to be on time.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stithy_measure::{priority, Moment};
use stithy_wire::{DriveBacking, DriveSpec, DriveVolatile};

use crate::device::{Device, Surroundings};
use crate::error::DriveError;
use crate::host::keep_only;
use crate::request::Operation;
use crate::serve::Timing;
use crate::transport::BlockTimes;
use crate::transport_latency::{Line, TransportLatency};
use crate::wake::{wait, Alarm, Bell};
use crate::wakefulness::Wakefulness;

/// A drive that is neither immediate nor slow: its answers are due when everybody sleeps.
const PROFILE: &str = r#"
version = 1
name = "calibration"
title = "100 µs for everything"
capacity_bytes = 4_194_304
channels = 4
read = { p50_us = 100, p99_us = 100, bytes_per_s = 1e15 }
write = { p50_us = 100, p99_us = 100, bytes_per_s = 1e15 }
flush = { cost_us = 100 }
[provenance]
assumed = ["capacity_bytes", "channels", "read", "write", "flush"]
"#;
const DUE: Duration = Duration::from_micros(100);
const SIZE_BYTES: u64 = 4 << 20;
const SMALL_BYTES: usize = 4096;
const LARGE_BYTES: usize = 128 << 10;

/// Kinds of requests are looked at in turns, so that a busy moment spoils a few of each.
const LOOKS: usize = 10;
const REQUESTS_A_LOOK: usize = 20;
const ALARMS: usize = 160;

/// The kernel counts whole milliseconds, of which so many looks make a hundred.
const LOOKS_BESIDE: usize = 50;

/// More is no client that is served at once.
const MOST_BESIDE: Duration = Duration::from_micros(5);

/// What the way through a kernel takes at most, without deep idle states and with them. More is found only where
/// others take the CPUs, and they may be gone the next moment, when a drive that answers earlier for it
/// would be a faster one than was asked for.
const MOST_AWAKE: Line = Line {
    small: Duration::from_micros(20),
    byte_ps: 400,
};
const MOST: Line = Line {
    small: Duration::from_micros(60),
    byte_ps: 400,
};

/// Spinning longer than this would be a core for the drive alone; the same two cases.
const SPIN_MOST_AWAKE: Duration = Duration::from_micros(30);
const SPIN_MOST: Duration = Duration::from_micros(60);

/// How a drive's thread is to wait on this machine as it is now; takes about a quarter of a second.
///
/// Errors: those of bringing a drive up and of its I/O.
pub fn calibrate(awake: &Arc<Wakefulness>) -> Result<Timing, DriveError> {
    awake.keep();
    let (most, spin_most) = match awake.is_able() {
        true => (MOST_AWAKE, SPIN_MOST_AWAKE),
        false => (MOST, SPIN_MOST),
    };
    let spin = on_a_thread_before_all(spin)?.min(spin_most);
    let surroundings = Surroundings {
        timing: Timing {
            spin,
            ..Timing::default()
        },
        awake: Arc::clone(awake),
        before_all: true,
        ..Surroundings::default()
    };
    let device = Device::up_beside(&spec(), surroundings)?;
    let path = device.ready().device.clone();
    let asking = std::thread::spawn(move || ask(&path, most));
    let asked = asking.join();
    let asked = asked.unwrap_or_else(|_| Err(std::io::Error::other("its thread has ended")));
    let found = asked.map_err(failed);
    // Nobody else knows of the drive; should it be held all the same, it goes with its last user.
    let _ = device.down();
    let (transport, beside) = found?;
    Ok(Timing {
        transport,
        beside,
        spin,
    })
}

/// Does something on a thread that is served like those of drives.
fn on_a_thread_before_all<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, DriveError> {
    let thread = std::thread::spawn(|| {
        priority::before_all();
        work()
    });
    let done = thread.join();
    done.unwrap_or_else(|_| Err(std::io::Error::other("its thread has ended")))
        .map_err(failed)
}

fn spec() -> DriveSpec {
    DriveSpec {
        name: "calibration".into(),
        size_bytes: SIZE_BYTES,
        sector_bytes: 4096,
        backing: DriveBacking::Memory,
        volatile: DriveVolatile::Protected,
        profile: Some(PROFILE.into()),
        scale: 1.0,
        seed: 0,
        transport_s: None,
        spin_s: None,
        hlog_stem: None,
    }
}

fn failed(cause: std::io::Error) -> DriveError {
    let problem = format!("the transport's latency cannot be measured: {cause}");
    let remedy = "give transport_s and spin_s for each drive";
    DriveError::infrastructure("calibration-failed", problem, "calibration", remedy)
        .caused_by(cause)
}

/// How much later than asked for a sleeping thread runs, setting the alarm included.
fn spin() -> std::io::Result<Duration> {
    let late = usual(late_alarms()?);
    // Half as much more: it is better to be early and to spin than to be late.
    Ok(late + late / 2)
}

fn late_alarms() -> std::io::Result<Vec<Duration>> {
    let (bell, other, mut alarm) = (Bell::new()?, Bell::new()?, Alarm::new()?);
    let mut late = Vec::with_capacity(ALARMS);
    for _ in 0..ALARMS {
        let asked = Instant::now();
        let until = Moment::START + DUE;
        wait(other.as_fd(), &bell, &mut alarm, Moment::START, Some(until))?;
        late.push(asked.elapsed().saturating_sub(DUE));
    }
    Ok(late)
}

/// The transport's latency, and what a client waits for beside what the kernel counts; None where it does
/// not count.
///
/// To be called on a thread of its own, which keeps no other file: see [`keep_only`].
fn ask(device: &str, most: Line) -> std::io::Result<(TransportLatency, Option<Duration>)> {
    // The device is opened afterwards: the program's other threads must not have it, or it stays held.
    keep_only(None)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT | libc::O_CLOEXEC)
        .open(device)?;
    let transport_latency = transport_latency(&file, most)?;
    Ok((transport_latency, beside(&file, device)))
}

fn transport_latency(file: &File, most: Line) -> std::io::Result<TransportLatency> {
    let mut looks: [Vec<Duration>; 4] = Default::default();
    for _ in 0..LOOKS {
        for (looks, (operation, length)) in looks.iter_mut().zip(KINDS) {
            looks.extend(look(file, operation, length)?);
        }
    }
    let [read, large_read, write, large_write] = looks.map(usual);
    let line = |small, large| Line::through(small, large, LARGE_BYTES as u64).at_most(most);
    Ok(TransportLatency {
        read: line(read, large_read),
        write: line(write, large_write),
    })
}

/// What a client waits for beside what the kernel counts on the block device: for its own turn on a CPU above all.
fn beside(file: &File, device: &str) -> Option<Duration> {
    let times = BlockTimes::of(device).ok()?;
    let [before, ..] = times.read().ok()?;
    let mut beyond = Vec::with_capacity(LOOKS_BESIDE * REQUESTS_A_LOOK);
    for _ in 0..LOOKS_BESIDE {
        beyond.extend(look(file, Operation::Read, SMALL_BYTES).ok()?);
    }
    let [after, ..] = times.read().ok()?;
    let requests = after.requests.checked_sub(before.requests)?;
    let counted = Duration::from_millis(after.took_ms.checked_sub(before.took_ms)?);
    // A kernel that does not count all of them counts none of what is asked for here.
    (requests == beyond.len() as u64).then(|| {
        // Not the mean: a client that others kept from its CPU waited for them, and the kernel did not.
        let took = DUE + usual(beyond);
        took.saturating_sub(counted / requests as u32)
            .min(MOST_BESIDE)
    })
}

const KINDS: [(Operation, usize); 4] = [
    (Operation::Read, SMALL_BYTES),
    (Operation::Read, LARGE_BYTES),
    (Operation::Write, SMALL_BYTES),
    (Operation::Write, LARGE_BYTES),
];

/// What some requests took beyond their due time.
fn look(file: &File, operation: Operation, length: usize) -> std::io::Result<Vec<Duration>> {
    let mut room = vec![0; length + SMALL_BYTES];
    let start = room.as_ptr().align_offset(SMALL_BYTES);
    let content = &mut room[start..start + length];
    let mut beyond = Vec::with_capacity(REQUESTS_A_LOOK);
    for n in 0..REQUESTS_A_LOOK {
        let offset = ((n * length) as u64) % SIZE_BYTES;
        let asked = Instant::now();
        match operation {
            Operation::Read => file.read_exact_at(content, offset)?,
            _ => file.write_all_at(content, offset)?,
        }
        beyond.push(asked.elapsed().saturating_sub(DUE));
    }
    Ok(beyond)
}

/// The median, if most were about the same; else what the shortest tenth took: others who take the CPU only
/// ever add, and a drive that answers too early is worse than one that answers late.
fn usual(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let of = |share: f64| {
        let at = (times.len() as f64 * share) as usize;
        times.get(at).copied().unwrap_or_default()
    };
    match of(0.8) <= of(0.5) * 3 / 2 {
        true => of(0.5),
        false => of(0.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where most requests were disturbed, those count that were not.
    #[test]
    fn a_busy_machine_does_not_lengthen_the_usual_time() {
        let us = |times: &[u64]| times.iter().map(|us| Duration::from_micros(*us)).collect();
        let calm = us(&[9, 10, 10, 11, 11, 11, 12, 12, 13, 90]);
        let busy = us(&[10, 11, 30, 40, 50, 70, 90, 200, 400, 900]);
        assert_eq!(Duration::from_micros(11), usual(calm));
        assert_eq!(Duration::from_micros(11), usual(busy));
        assert_eq!(Duration::ZERO, usual(Vec::new()));
    }
}
