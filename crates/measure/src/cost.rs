//! What this process costs: CPU time, and time its threads waited for a CPU.

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
    let (mut cpu_ns, mut delay_ns) = (0, 0);
    for task in fs::read_dir(tasks).ok()? {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        let (cpu, delay) = parse_schedstat(&text)?;
        cpu_ns += cpu;
        delay_ns += delay;
    }
    Some(CpuUse {
        cpu: Duration::from_nanos(cpu_ns),
        run_queue_delay: Some(Duration::from_nanos(delay_ns)),
    })
}

/// `303827 1200 17`: nanoseconds on a CPU, nanoseconds waiting for one, time slices.
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_whitespace().map(str::parse);
    Some((fields.next()?.ok()?, fields.next()?.ok()?))
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

    /// The first two fields are CPU time and delay.
    #[test]
    fn a_schedstat_line_is_read() {
        assert_eq!(Some((303_827, 1_200)), parse_schedstat("303827 1200 17\n"));
        assert_eq!(None, parse_schedstat("303827"));
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
