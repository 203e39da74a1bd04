//! What the kernel tells about a thread of this process: its time on a CPU, and its time waiting for one.

use std::time::Duration;

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
        parse(&std::fs::read_to_string(path).ok()?)
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
fn parse(text: &str) -> Option<ThreadTime> {
    let mut numbers = text.split_ascii_whitespace().map(|each| each.parse().ok());
    let ran = Duration::from_nanos(numbers.next()??);
    let waited = Duration::from_nanos(numbers.next()??);
    Some(ThreadTime { ran, waited })
}

/// The number of the calling thread.
pub fn this_thread() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
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
        assert_eq!(Some(expected), parse("1384 54029 12\n"));
        assert_eq!(None, parse("1384\n"));
        assert_eq!(None, parse("a b c\n"));
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
}
