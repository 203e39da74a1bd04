//! What the process asks of the machine it serves.
//!
//! A drive that waits for memory which only writing to it would free waits for ever: so its memory is
//! locked, and the kernel is told that its threads free memory.

use std::io;
use std::os::fd::RawFd;
use std::sync::mpsc::Sender;

use rustix::mm::{mlockall, MlockAllFlags};
use rustix::process::configure_io_flusher_behavior;
use stithy_measure::priority;

/// Before the hammer and the database: a drive that waits for a CPU is a slower drive.
const NICE: i32 = -15;

/// The kernel ends others first when memory is short: with this process all its drives end, and their data.
const OOM_SCORE_ADJ: &str = "-900";

/// Locks memory as it is touched, declares the calling thread and those it starts to be I/O flushers, asks to be
/// spared when memory is short, and has the kernel's CPUs serve them early. Each failure is one text for a warning.
pub fn prepare() -> Vec<String> {
    priority::raise(NICE);
    // Bytes never written must not take memory, so pages are locked when they are touched.
    let lock = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    let locked = mlockall(lock).map_err(|e| {
        format!(
            "memory cannot be locked, a drive may be slow while it is short: {}",
            io::Error::from(e)
        )
    });
    let spared = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE_ADJ);
    let flusher = configure_io_flusher_behavior(true).map_err(io::Error::from);
    let privileged = flusher.and(spared).map_err(|e| {
        format!("the program lacks rights (CAP_SYS_RESOURCE), a drive may stand still or end while memory is short: {e}")
    });
    [locked, privileged]
        .into_iter()
        .filter_map(Result::err)
        .collect()
}

/// Gives the calling thread open files of its own: `kept` alone, besides the standard ones. What is closed then is
/// closed for this thread alone, `kept` as well: the others that had it open have it still.
///
/// For a thread that asks a drive of its own program. Killed, the program's files are closed when the last
/// thread that shares them is gone; a thread inside a request is not, before /dev/fuse is closed and the
/// request fails. One that shared them would wait for itself for ever.
/// Errors: those of close_range(2), which came with Linux 5.9.
pub fn keep_only(kept: Option<RawFd>) -> io::Result<()> {
    let Some(kept) = kept else {
        return close_range(3, libc::c_uint::MAX, CLOSE_RANGE_UNSHARE);
    };
    let kept = kept as libc::c_uint;
    close_range(3, kept.saturating_sub(1), CLOSE_RANGE_UNSHARE)?;
    close_range(kept + 1, libc::c_uint::MAX, 0)
}

const CLOSE_RANGE_UNSHARE: libc::c_uint = 1 << 1; // of linux/close_range.h

fn close_range(first: libc::c_uint, last: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    // An empty range would be refused; then there is still the table to be copied.
    let (first, last) = match first <= last {
        true => (first, last),
        false => (libc::c_uint::MAX, libc::c_uint::MAX),
    };
    // SAFETY: the call takes numbers; whoever asks for it uses none of the closed files on this thread.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets SIGINT and SIGTERM wait, for the calling thread and those it starts from now on; gives both.
pub fn hold_signals() -> libc::sigset_t {
    // SAFETY: a signal set of zeros is valid memory for sigemptyset, and all calls take its address.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        set
    }
}

/// Sends a message for every SIGINT and SIGTERM from now on, in place of ending the process. To be called
/// before there is a second thread, whose signals would end the process.
pub fn watch_signals<M: Send + 'static>(
    sender: Sender<M>,
    message: impl Fn() -> M + Send + 'static,
) -> io::Result<()> {
    let set = hold_signals();
    let waiting = move || {
        let mut signal = 0;
        // SAFETY: both addresses are of locals that outlive the call.
        while unsafe { libc::sigwait(&set, &mut signal) } == 0 {
            if sender.send(message()).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(waiting)
        .map(|_| ())
}
