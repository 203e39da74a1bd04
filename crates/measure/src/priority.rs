//! Whether this process is served before others when CPUs are short.
//!
//! A driver that waits for a CPU is late, and its lateness is not the database's.

use std::fs;

use rustix::process::{setpriority_process, Pid};
use rustix::thread::{sched_getaffinity, CpuSet};

/// What the hammer asks for: before ordinary processes, and after those the kernel cannot do without.
pub const DRIVER_NICE: i32 = -10;

/// Asks that this thread, and all that it starts from now on, be served before others. Without the
/// right to it, or where it is served as early already, everything stays as it is.
///
/// Why only the thread: Linux keeps a priority for each of them, and a new one takes its maker's.
/// Source: setpriority(2), "C library/kernel differences".
pub fn raise(nice: i32) {
    if self::nice().is_some_and(|now| now <= nice) {
        return;
    }
    let _ = setpriority_process(None, nice);
    raise_session(nice);
}

/// Gives up for this thread what [`raise`] got: it does somebody else's work, that of an embedded database.
pub fn take_ordinary() {
    if nice() == Some(DRIVER_NICE) {
        let _ = setpriority_process(None, 0);
    }
}

/// Asks for no more than ordinary processes have, and to interrupt none of them: this thread runs when
/// one of them sleeps or has had its turn.
///
/// Source: sched(7), "SCHED_BATCH".
pub fn stand_back() {
    take_ordinary();
    // SAFETY: a parameter of zeros is a valid one, and the only one for this policy.
    let ordinary: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the address is that of a local which outlives the call, and 0 names the calling thread.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &ordinary) };
}

/// Whether a process may run where this thread may; false where the kernel does not tell.
pub fn shares_cpus(process: Pid) -> bool {
    let (Ok(these), Ok(those)) = (sched_getaffinity(None), sched_getaffinity(Some(process))) else {
        return false;
    };
    (0..CpuSet::MAX_CPU).any(|cpu| these.is_set(cpu) && those.is_set(cpu))
}

/// Where the kernel groups processes by their sessions, it shares CPUs among the groups first, and a
/// priority counts inside of its group only. A process that leads a session raises that, too; in the
/// session of a shell it would raise others with it.
///
/// Source: sched(7), "The autogroup feature".
fn raise_session(nice: i32) {
    if leads_session() {
        let _ = fs::write("/proc/self/autogroup", nice.to_string());
    }
}

/// Why libc: in a container the session may have been started outside, and then its number is 0, which
/// rustix holds to be impossible.
///
/// Source: getsid(2), pid_namespaces(7).
fn leads_session() -> bool {
    // SAFETY: both calls only read numbers of the calling process.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Asks that this thread, and all that it starts from now on, run as soon as they have something to do, before
/// every thread that did not ask for that; the kernel keeps a twentieth of each CPU for the others.
/// Without the right to it everything stays as it is.
///
/// For threads that seldom have something to do, and whose lateness would be measured as somebody else's.
/// Source: sched(7), "Real-time process scheduling".
pub fn before_all() {
    // SAFETY: a parameter of zeros is a valid one; its priority is set before it is handed over.
    let mut wanted: libc::sched_param = unsafe { std::mem::zeroed() };
    wanted.sched_priority = 1;
    // SAFETY: the address is that of a local which outlives the call, and 0 names the calling thread.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &wanted) };
}

/// The priority of this thread, from -20, which is served first, to 19; None where the kernel does not
/// tell.
pub fn nice() -> Option<i32> {
    parse_nice(&fs::read_to_string("/proc/thread-self/stat").ok()?)
}

/// Field 19 of a stat line; the name in field 2 may hold spaces and ends with the last parenthesis.
fn parse_nice(text: &str) -> Option<i32> {
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(16)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rustix::thread::sched_setaffinity;

    use super::*;

    /// A thread's name with blanks and parentheses does not shift the fields.
    #[test]
    fn the_priority_is_read_from_a_stat_line() {
        let line = "7 (a (b) c) S 1 7 7 0 -1 4194560 12 0 0 0 150 25 0 0 10 -10 1 0 9 9 9";
        assert_eq!(Some(-10), parse_nice(line));
        assert_eq!(None, parse_nice("7 (a) S 1"));
    }

    /// Whether permitted or not, asking never makes it later, and what a thread starts inherits it.
    #[test]
    fn asking_never_lowers_and_threads_inherit() {
        let asking = std::thread::spawn(|| {
            let before = nice().expect("Linux tells it");
            raise(before - 1);
            let raised = nice().expect("Linux tells it");
            raise(19);
            let inherited = std::thread::spawn(nice).join().expect("it only reads");
            (before, raised, inherited)
        });
        let (before, raised, inherited) = asking.join().expect("it only asks");
        assert!(raised == before || raised == before - 1);
        assert_eq!(Some(raised), inherited);
    }

    /// A process shares CPUs with whom it started, until it is bound to others; one that is gone shares none.
    #[test]
    fn cpus_are_shared_unless_bound_apart() {
        let mut sleeper = std::process::Command::new("sleep");
        let mut sleeper = sleeper.arg("60").spawn().expect("it is everywhere");
        let pid = Pid::from_child(&sleeper);
        let shared = shares_cpus(pid);
        let all = sched_getaffinity(None).expect("Linux tells it");
        let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu));
        let mut bind = |thread| {
            let mut one = CpuSet::new();
            cpus.next().map(|cpu| one.set(cpu))?;
            sched_setaffinity(thread, &one).ok()
        };
        let is_bound = bind(Some(pid)).and_then(|()| bind(None)).is_some();
        let apart = !shares_cpus(pid);
        sleeper.kill().expect("it still sleeps");
        sleeper.wait().expect("it was killed");
        assert!(shared && apart == is_bound && !shares_cpus(pid));
    }

    /// In a container the session may have been started outside, and then has no number in it.
    #[test]
    fn a_session_of_outside_is_left_alone() {
        let inside = |words: &[&std::ffi::OsStr]| {
            let mut command = std::process::Command::new("unshare");
            command.args(["--pid", "--fork"]).args(words);
            command
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if !inside(&["true".as_ref()]) {
            return; // no right to a namespace of process numbers
        }
        let this = std::env::current_exe().expect("a test is a program");
        let one = "priority::tests::asking_never_lowers_and_threads_inherit";
        assert!(inside(&[
            this.as_os_str(),
            "--exact".as_ref(),
            one.as_ref()
        ]));
    }
}
