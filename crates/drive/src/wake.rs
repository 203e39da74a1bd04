//! Waking a thread that waits for the kernel, and waiting exactly.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A bell: another thread rings it, the waiting one wakes.
pub struct Bell {
    event: OwnedFd,
}

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes numbers only; the result is checked before use.
        let event = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if event == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the system has just made this descriptor, and nobody else holds it.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        Ok(Bell { event })
    }

    /// Wakes whoever waits, now or next.
    pub fn ring(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of a local are written; a full counter has woken the other already.
        unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Makes the bell silent again.
    pub fn silence(&self) {
        let mut rung = 0_u64;
        // SAFETY: eight bytes of a local are read; an empty counter is silent already.
        unsafe { libc::read(self.event.as_raw_fd(), (&raw mut rung).cast(), 8) };
    }
}

/// Waits until `readiness` is readable or the bell is rung, at most for `time`; None waits for ever.
pub fn wait(readiness: RawFd, bell: &Bell, time: Option<Duration>) -> io::Result<()> {
    let watched = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched = [watched(readiness), watched(bell.event.as_raw_fd())];
    let limit = time.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(time.subsec_nanos()),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array and the limit outlive the call; no signal mask is given.
    match unsafe { libc::ppoll(watched.as_mut_ptr(), 2, limit, std::ptr::null()) } {
        -1 if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted => {
            Err(io::Error::last_os_error())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bell rung before the waiting begins is heard, and is silent afterwards.
    #[test]
    fn a_bell_is_heard_and_silenced() {
        let bell = Bell::new().expect("an event");
        let other = Bell::new().expect("an event");
        bell.ring();
        wait(other.event.as_raw_fd(), &bell, None).expect("it is rung");
        bell.silence();
        let short = Some(Duration::from_millis(1));
        wait(other.event.as_raw_fd(), &bell, short).expect("it ends by itself");
    }
}
