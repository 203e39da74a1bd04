//! Waking a thread that waits for the kernel, and waiting exactly.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags,
    Timespec,
};
use stithy_measure::Moment;

/// A bell: another thread rings it, the waiting one wakes.
pub struct Bell {
    event: OwnedFd,
}

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Bell { event })
    }

    /// Wakes whoever waits, now or next.
    pub fn ring(&self) {
        // A full counter has woken the other already.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Makes the bell silent again.
    fn silence(&self) {
        drain(&self.event);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
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
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
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
        let left = moment.since(now).max(Duration::from_nanos(1));
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.set_to = Some(moment);
        Ok(())
    }

    fn went_off(&mut self) {
        drain(&self.timer);
        self.set_to = None;
    }
}

fn drain(counter: &OwnedFd) {
    // An empty counter is what is wanted.
    let _ = rustix::io::read(counter, &mut [0; 8]);
}

/// Waits until `readiness` is readable, the bell is rung or the alarm goes off, which is at `until` or before;
/// None waits for ever.
pub fn wait(
    readiness: BorrowedFd<'_>,
    bell: &Bell,
    alarm: &mut Alarm,
    now: Moment,
    until: Option<Moment>,
) -> io::Result<()> {
    if let Some(until) = until {
        alarm.set(now, until)?;
    }
    let mut watched = [
        PollFd::from_borrowed_fd(readiness, PollFlags::IN),
        PollFd::new(&bell.event, PollFlags::IN),
        PollFd::new(&alarm.timer, PollFlags::IN),
    ];
    match poll(&mut watched, None) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(e) => return Err(e.into()),
    }
    let [_, rung, went_off] = watched.map(|each| !each.revents().is_empty());
    // The bell is silenced here and nowhere else: what it was rung for may have been done before it was heard, and
    // one that stays rung keeps its owner from ever sleeping again.
    if rung {
        bell.silence();
    }
    if went_off {
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
        let readiness = other.as_fd();
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
            wait(other.as_fd(), &bell, &mut alarm, Moment(0), until).expect("it ends by itself");
            alarm.set_to
        };
        assert_eq!(None, wait_until(Some(Moment(1_000))));
        assert_eq!(None, wait_until(Some(Moment(2_000))));
        assert_eq!(None, wait_until(Some(Moment(1_000))));
    }
}
