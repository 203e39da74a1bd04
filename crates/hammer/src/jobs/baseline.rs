//! A little work that has nothing to do with a database: what the machine is like at this moment.
//!
//! It is the same work every time, so what differs from one time to another is the machine: its clock
//! rate, what else runs on it, what its disk is busy with. It is done at the ordinary priority, so
//! that it feels what others do. All its figures are medians: a moment of something else does not show.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use stithy_measure::{nanoseconds, percentiles_in, Rng};
use stithy_wire::{BaselineJob, BaselineSummary, Percentiles};

use crate::error::HammerError;

/// Each read, and the multiple that direct reads ask for on any device.
pub const READ_BYTES: u64 = 4096;

/// Steps of a round: some microseconds, so that asking for the time costs nothing beside it.
const ROUND_STEPS: u32 = 4096;
/// Longer than the turn that a scheduler gives to somebody else, so that a CPU that is shared all the
/// time is seen in every slice.
const SLICE: Duration = Duration::from_millis(10);
/// The same reads every time.
const SEED: u64 = 1;
/// What the random numbers are for.
const CONTENT: u64 = 1;
const PLACES: u64 = 2;
/// Longer reads count as this long.
const READ_MOST_NS: u64 = 60_000_000_000;

/// Works on one CPU, then on all, then reads.
///
/// Errors: `baseline-failed` (infrastructure) where no thread can be had.
pub fn baseline(job: &BaselineJob) -> Result<BaselineSummary, HammerError> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let spin = Duration::from_secs_f64(job.spin_s);
    // Before the rest, so that the disk is done with it when the reads begin.
    let made = made(job);
    let one_rounds_per_s = spin_on(1, spin)?;
    let all_rounds_per_s = spin_on(threads, spin)?;
    let reads = made.and_then(|()| read(job));
    let (reads, reads_missing_because) = match reads {
        Ok(reads) => (Some(reads), None),
        Err(error) => (None, Some(why(&error))),
    };
    Ok(BaselineSummary {
        one_rounds_per_s,
        all_rounds_per_s,
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        reads,
        reads_missing_because,
    })
}

/// Rounds per second of so many threads at once, summed up.
fn spin_on(threads: usize, length: Duration) -> Result<f64, HammerError> {
    let rates = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, || spin(length));
        let started: io::Result<Vec<_>> = (0..threads).map(start).collect();
        started.map(|all| all.into_iter().map(|each| each.join().unwrap_or(0.0)).sum())
    });
    rates.map_err(|e| {
        let remedy = "let the machine have room for more threads";
        HammerError::infrastructure("baseline-failed", e.to_string(), "baseline", remedy)
            .caused_by(e)
    })
}

/// Rounds per second of one thread: the median of its slices.
fn spin(length: Duration) -> f64 {
    let begin = Instant::now();
    let mut state = SEED;
    let mut rates = Vec::new();
    while rates.is_empty() || begin.elapsed() < length {
        let (slice, mut rounds) = (Instant::now(), 0.0);
        while slice.elapsed() < SLICE {
            state = std::hint::black_box(round(state));
            rounds += 1.0;
        }
        rates.push(rounds / slice.elapsed().as_secs_f64());
    }
    median(&mut rates)
}

/// Each step waits for the one before: nothing but the CPU's own speed counts.
/// Source: Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (2003).
fn round(mut state: u64) -> u64 {
    for _ in 0..ROUND_STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Makes the file where it is not there, full of what no storage can make small.
fn made(job: &BaselineJob) -> io::Result<()> {
    if std::fs::metadata(&job.file).is_ok_and(|file| file.len() == job.file_bytes) {
        return Ok(());
    }
    let mut file = File::create(&job.file)?;
    for page in 0..job.file_bytes / READ_BYTES {
        let mut content = Rng::of(SEED, CONTENT, page, 0);
        let words = (0..READ_BYTES / 8).flat_map(|_| content.bits().to_le_bytes());
        file.write_all(&words.collect::<Vec<u8>>())?;
    }
    file.sync_all()
}

/// Direct reads at random places, one after the other.
fn read(job: &BaselineJob) -> io::Result<Percentiles> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(&job.file)?;
    let pages = u32::try_from(job.file_bytes / READ_BYTES).unwrap_or(u32::MAX);
    let mut places = Rng::of(SEED, PLACES, 0, 0);
    let mut times = Histogram::new_with_bounds(1, READ_MOST_NS, 3).map_err(io::Error::other)?;
    let mut room = vec![0; 2 * READ_BYTES as usize];
    let from = room.as_ptr().align_offset(READ_BYTES as usize);
    let page = &mut room[from..from + READ_BYTES as usize];
    let (begin, length) = (Instant::now(), Duration::from_secs_f64(job.read_s));
    while times.is_empty() || begin.elapsed() < length {
        let place = u64::from(places.uniform(0, pages - 1)) * READ_BYTES;
        let sent = Instant::now();
        file.read_exact_at(page, place)?;
        times.saturating_record(nanoseconds(sent.elapsed()).max(1));
    }
    Ok(percentiles_in(1e9, &times))
}

fn why(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EINVAL) => "the file system does not read past the page cache".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(file: &std::path::Path) -> BaselineJob {
        BaselineJob {
            wire: stithy_wire::WIRE_VERSION,
            file: file.display().to_string(),
            file_bytes: 16 * READ_BYTES,
            spin_s: 0.001,
            read_s: 0.001,
        }
    }

    /// However short the time is, there is a figure of everything; the file is made once.
    #[test]
    fn a_baseline_tells_of_cpus_and_reads() {
        let folder = std::env::temp_dir().join(format!("baseline-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("file");
        let first = baseline(&job(&file)).unwrap();
        let made = std::fs::read(&file).unwrap();
        let second = baseline(&job(&file)).unwrap();
        assert_eq!(16 * READ_BYTES as usize, made.len());
        assert_eq!(made, std::fs::read(&file).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        for told in [first, second] {
            assert!(told.one_rounds_per_s > 0.0 && told.all_rounds_per_s > 0.0);
            assert!(told.threads > 0);
            assert_ne!(told.reads.is_some(), told.reads_missing_because.is_some());
            assert!(told
                .reads
                .is_none_or(|times| times.count > 0 && times.p50_s > Some(0.0)));
        }
    }

    /// What cannot be read takes nothing from what the CPUs tell.
    #[test]
    fn a_file_that_cannot_be_made_is_told() {
        let told = baseline(&job(std::path::Path::new("/nowhere/file"))).unwrap();
        assert!(told.one_rounds_per_s > 0.0);
        assert_eq!(None, told.reads);
        let because = told.reads_missing_because.unwrap();
        assert!(because.contains("No such file"), "{because}");
    }

    /// The middle one; of two the greater.
    #[test]
    fn a_median_is_of_the_sorted_values() {
        assert_eq!(2.0, median(&mut [3.0, 1.0, 2.0]));
        assert_eq!(2.0, median(&mut [2.0, 1.0]));
    }
}
