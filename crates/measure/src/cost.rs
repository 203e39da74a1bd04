//! What this process and its threads cost: CPU time, and time waited for a CPU.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// CPU time and run-queue delay of this process so far; a difference of two tells of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuUse {
    /// CPU time of all threads, user and system.
    pub cpu: Duration,
    /// Time threads were ready but had no CPU; None where the kernel does not tell.
    pub run_queue_delay: Option<Duration>,
}

impl CpuUse {
    /// Reads it now. None on a machine that tells neither `/proc/self/task/*/schedstat` nor
    /// `/proc/self/stat`.
    ///
    /// Source: `Documentation/scheduler/sched-stats.rst` of Linux; threads that ended are not
    /// counted, and the hammer's live as long as it.
    pub fn now() -> Option<Self> {
        from_schedstat(Path::new("/proc/self/task")).or_else(from_stat)
    }

    /// What was used since `earlier`.
    pub fn since(&self, earlier: &CpuUse) -> CpuUse {
        let delays = self.run_queue_delay.zip(earlier.run_queue_delay);
        CpuUse {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            run_queue_delay: delays.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

fn from_schedstat(tasks: &Path) -> Option<CpuUse> {
    let (mut cpu, mut delay) = (Duration::ZERO, Duration::ZERO);
    for task in fs::read_dir(tasks).ok()? {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        let thread = parse_schedstat(&text)?;
        cpu += thread.ran;
        delay += thread.waited;
    }
    Some(CpuUse {
        cpu,
        run_queue_delay: Some(delay),
    })
}

/// Times of a thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadTime {
    /// On a CPU.
    pub ran: Duration,
    /// With something to do and no CPU to do it on.
    pub waited: Duration,
}

impl ThreadTime {
    /// Times of a thread by its number; None where the kernel does not tell.
    pub fn of(thread: i32) -> Option<Self> {
        let path = format!("/proc/self/task/{thread}/schedstat");
        parse_schedstat(&fs::read_to_string(path).ok()?)
    }

    /// What was added since `earlier`.
    pub fn since(self, earlier: ThreadTime) -> Self {
        ThreadTime {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
        }
    }
}

/// The first two numbers of `1384 54029 12`: nanoseconds on a CPU and waiting.
///
/// Source: Documentation/scheduler/sched-stats.rst of the kernel, `/proc/<pid>/schedstat`.
fn parse_schedstat(text: &str) -> Option<ThreadTime> {
    let mut numbers = text.split_ascii_whitespace().map(|each| each.parse().ok());
    let ran = Duration::from_nanos(numbers.next()??);
    let waited = Duration::from_nanos(numbers.next()??);
    Some(ThreadTime { ran, waited })
}

/// The number of the calling thread.
pub fn this_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn from_stat() -> Option<CpuUse> {
    let cpu = parse_stat(&fs::read_to_string("/proc/self/stat").ok()?)?;
    Some(CpuUse {
        cpu,
        run_queue_delay: None,
    })
}

/// Fields 14 and 15 of `/proc/self/stat` are ticks of 10 ms (USER_HZ is 100 on every Linux); the
/// name in field 2 may hold spaces and ends with the last parenthesis.
fn parse_stat(text: &str) -> Option<Duration> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let user: u64 = fields.get(11)?.parse().ok()?;
    let system: u64 = fields.get(12)?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both numbers are read; what is no such line gives nothing.
    #[test]
    fn both_times_are_read() {
        let expected = ThreadTime {
            ran: Duration::from_nanos(1384),
            waited: Duration::from_nanos(54029),
        };
        assert_eq!(Some(expected), parse_schedstat("1384 54029 12\n"));
        assert_eq!(None, parse_schedstat("1384\n"));
        assert_eq!(None, parse_schedstat("a b c\n"));
    }

    /// A thread that works is seen to have worked.
    #[test]
    fn this_threads_time_grows() {
        let Some(before) = ThreadTime::of(this_thread()) else {
            return; // a kernel without scheduler statistics
        };
        let spun = (0..200_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        assert_eq!(0, std::hint::black_box(spun) >> 63);
        std::thread::yield_now();
        let after = ThreadTime::of(this_thread()).expect("it was told before");
        assert!(after.since(before).ran > Duration::ZERO);
    }

    /// A thread's name with blanks and parentheses does not shift the fields.
    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let line = "7 (a (b) c) S 1 7 7 0 -1 4194560 12 0 0 0 150 25 0 0 20 0 1 0 9 9 9";
        assert_eq!(Some(Duration::from_millis(1750)), parse_stat(line));
    }

    /// Work is seen in the difference of two readings.
    #[test]
    fn cpu_use_grows_with_work() {
        let before = CpuUse::now().unwrap();
        let mut sum = 0_u64;
        while CpuUse::now().unwrap().since(&before).cpu < Duration::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(CpuUse::now().unwrap().cpu > before.cpu);
    }
}
