//! Waking a thread that waits for the kernel, and waiting exactly.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use stithy_measure::Moment;

/// A bell: another thread rings it, the waiting one wakes.
pub struct Bell {
    event: OwnedFd,
}

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes numbers only; the result is checked before use.
        let event = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        owned(event).map(|event| Bell { event })
    }

    /// Wakes whoever waits, now or next.
    pub fn ring(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of a local are written; a full counter has woken the other already.
        unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Makes the bell silent again.
    fn silence(&self) {
        drain(&self.event);
    }
}

impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

/// An alarm that stays set when its owner wakes for something else.
///
/// To set or to take back a timer of the hardware costs a guest of a virtual machine 7 µs, in which it can
/// do nothing else. A wait with a time limit does both for every request; this one is set once for each
/// moment and never taken back: it goes off for nothing now and then, which costs less.
pub struct Alarm {
    timer: OwnedFd,
    set_to: Option<Moment>,
}

impl Alarm {
    /// An alarm that is not set.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: the call takes numbers only; the result is checked before use.
        let timer = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        let timer = owned(timer)?;
        Ok(Alarm {
            timer,
            set_to: None,
        })
    }

    /// Sees to it that it goes off at `moment` or before.
    fn set(&mut self, now: Moment, moment: Moment) -> io::Result<()> {
        if self.set_to.is_some_and(|set_to| set_to <= moment) {
            return Ok(());
        }
        // A time of nothing would not set it but take it back.
        let left = moment.since(now).max(std::time::Duration::from_nanos(1));
        let once = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: left.as_secs() as libc::time_t,
                tv_nsec: libc::c_long::from(left.subsec_nanos()),
            },
        };
        let descriptor = self.timer.as_raw_fd();
        // SAFETY: the time outlives the call; the former time is not asked for.
        let set = unsafe { libc::timerfd_settime(descriptor, 0, &once, std::ptr::null_mut()) };
        if set == -1 {
            return Err(io::Error::last_os_error());
        }
        self.set_to = Some(moment);
        Ok(())
    }

    fn went_off(&mut self) {
        drain(&self.timer);
        self.set_to = None;
    }
}

fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the system has just made this descriptor, and nobody else holds it.
        descriptor => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
    }
}

fn drain(counter: &OwnedFd) {
    let mut count = 0_u64;
    // SAFETY: eight bytes of a local are read; an empty counter is what is wanted.
    unsafe { libc::read(counter.as_raw_fd(), (&raw mut count).cast(), 8) };
}

/// Waits until `readiness` is readable, the bell is rung or the alarm goes off, which is at `until` or before;
/// None waits for ever.
pub fn wait(
    readiness: RawFd,
    bell: &Bell,
    alarm: &mut Alarm,
    now: Moment,
    until: Option<Moment>,
) -> io::Result<()> {
    if let Some(until) = until {
        alarm.set(now, until)?;
    }
    let watched = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched = [
        watched(readiness),
        watched(bell.event.as_raw_fd()),
        watched(alarm.timer.as_raw_fd()),
    ];
    // SAFETY: the array outlives the call, and its length is given.
    match unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, -1) } {
        -1 if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted => {
            return Err(io::Error::last_os_error());
        }
        _ => {}
    }
    // The bell is silenced here and nowhere else: what it was rung for may have been done before it was heard, and
    // one that stays rung keeps its owner from ever sleeping again.
    if watched[1].revents != 0 {
        bell.silence();
    }
    if watched[2].revents != 0 {
        alarm.went_off();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bell rung before the waiting begins is heard once, and is silent afterwards.
    #[test]
    fn a_bell_is_heard_and_silenced() {
        let (bell, other) = (
            Bell::new().expect("an event"),
            Bell::new().expect("an event"),
        );
        let mut alarm = Alarm::new().expect("a timer");
        let readiness = other.event.as_raw_fd();
        bell.ring();
        wait(readiness, &bell, &mut alarm, Moment(0), None).expect("it is rung");
        let soon = Some(Moment(1_000_000));
        wait(readiness, &bell, &mut alarm, Moment(0), soon).expect("it ends by itself");
        assert_eq!(None, alarm.set_to, "the alarm ended it, not the bell");
    }

    /// An alarm is set anew for an earlier moment, and for any when it has gone off.
    #[test]
    fn an_alarm_goes_off_at_the_earliest_moment() {
        let bell = Bell::new().expect("an event");
        let other = Bell::new().expect("an event");
        let mut alarm = Alarm::new().expect("a timer");
        let far = Moment::of_second(3_600);
        alarm.set(Moment(0), far).expect("it is set");
        let mut wait_until = |until| {
            wait(other.event.as_raw_fd(), &bell, &mut alarm, Moment(0), until)
                .expect("it ends by itself");
            alarm.set_to
        };
        assert_eq!(None, wait_until(Some(Moment(1_000))));
        assert_eq!(None, wait_until(Some(Moment(2_000))));
        assert_eq!(None, wait_until(Some(Moment(1_000))));
    }
}
