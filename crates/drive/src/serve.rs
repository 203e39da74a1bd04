//! The thread of a drive: takes requests, answers those due, obeys commands, and sleeps between.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{Clock, Moment, SystemClock};
use stithy_wire::DriveFault;

use crate::drive::{Drive, FaultOutcome};
use crate::error::DriveError;
use crate::latency_compensation::LatencyCompensation;
use crate::transport::{Received, Transport};
use crate::transport_latency::TransportLatency;
use crate::wake::{wait, Alarm, Bell};
use crate::wakefulness::Wakefulness;

/// What another thread asks of the drive's.
pub enum Command {
    /// Break or repair the drive.
    Fault(DriveFault, SyncSender<Result<FaultOutcome, DriveError>>),
    /// Wait otherwise from now on.
    Timing(Timing),
    /// Whatever else is to be done between two requests.
    Work(Work),
}

/// Something to do on the drive's thread.
pub type Work = Box<dyn FnOnce(&mut Drive, Moment) + Send>;

/// Where CPUs may sleep deeply, a drive's thread stays awake so long after a request: the next one of a client that waits
/// for each comes within this time, and would wake it at three times the cost.
const LINGER: Duration = Duration::from_micros(60);

/// How a drive's thread waits for the moment an answer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// The transport's latency, by which answers are made earlier.
    pub transport: TransportLatency,
    /// What a client waits for beside what the kernel counts on the block device; None: the drive is not compensated
    /// by that.
    pub beside: Option<Duration>,
    /// How long before the moment sleeping becomes spinning.
    pub spin: Duration,
}

/// The other threads' end.
#[derive(Clone)]
pub struct Orders {
    sender: Sender<Command>,
    bell: Arc<Bell>,
}

/// The end of the drive's thread.
pub struct Inbox {
    receiver: Receiver<Command>,
    bell: Arc<Bell>,
    alarm: Alarm,
}

/// Both ends.
pub fn orders() -> io::Result<(Orders, Inbox)> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let bell = Arc::new(Bell::new()?);
    let orders = Orders {
        sender,
        bell: Arc::clone(&bell),
    };
    let alarm = Alarm::new()?;
    let inbox = Inbox {
        receiver,
        bell,
        alarm,
    };
    Ok((orders, inbox))
}

impl Orders {
    /// The bell that wakes the drive's thread.
    pub fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Gives a command; false when the thread has ended.
    pub fn give(&self, command: Command) -> bool {
        let given = self.sender.send(command).is_ok();
        self.bell.ring();
        given
    }
}

/// Serves until the kernel lets go of the drive.
///
/// Errors: the transport's. Whatever is not answered then fails when the transport is dropped.
pub fn serve(
    drive: &mut Drive,
    transport: &mut dyn Transport,
    inbox: &mut Inbox,
    clock: &SystemClock,
    timing: Timing,
    awake: &Wakefulness,
) -> io::Result<()> {
    let mut spin = timing.spin;
    let linger = match awake.is_able() {
        true => Duration::ZERO,
        false => LINGER,
    };
    let mut last_request = Moment::START;
    drive.compensate(timing.transport);
    loop {
        let received = transport.receive()?;
        let now = clock.now();
        match received {
            Received::Request(incoming) => {
                awake.keep();
                last_request = now;
                drive.arrive(now, incoming);
            }
            Received::Housekeeping => {}
            Received::Closed => return Ok(()),
            Received::Nothing if now.since(last_request) < linger => {}
            Received::Nothing => {
                if let Some(until) = sleep_until(drive.next_due(), now, spin) {
                    let (bell, alarm) = (&inbox.bell, &mut inbox.alarm);
                    wait(transport.readiness(), bell, alarm, now, until)?;
                }
            }
        }
        drive.complete(clock, transport)?;
        drive.keep(transport.payload());
        obey(drive, transport, inbox, clock, &mut spin);
    }
}

/// Until when to sleep: Some(None) for ever, None not at all.
fn sleep_until(due: Option<Moment>, now: Moment, spin: Duration) -> Option<Option<Moment>> {
    match due.map(|due| due.since(now)) {
        None => Some(None),
        Some(left) if left > spin => Some(Some(now + (left - spin))),
        Some(_) => None,
    }
}

fn obey(
    drive: &mut Drive,
    transport: &mut dyn Transport,
    inbox: &Inbox,
    clock: &SystemClock,
    spin: &mut Duration,
) {
    while let Ok(command) = inbox.receiver.try_recv() {
        match command {
            Command::Fault(fault, reply) => {
                // Whoever asked may have gone: the fault stands all the same.
                let _ = reply.send(drive.fault(clock.now(), &fault, transport));
            }
            Command::Timing(timing) => {
                *spin = timing.spin;
                drive.compensate(timing.transport);
                if timing.beside.is_none() {
                    drive.compensate_by_counters(LatencyCompensation::default());
                }
            }
            Command::Work(work) => work(drive, clock.now()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With nothing due the thread sleeps for ever, near the due moment not at all.
    #[test]
    fn sleeping_ends_before_an_answer_is_due() {
        let spin = Duration::from_micros(20);
        let at = |due: Option<u64>| sleep_until(due.map(Moment), Moment(1_000), spin);
        assert_eq!(Some(None), at(None));
        assert_eq!(Some(Some(Moment(81_000))), at(Some(101_000)));
        assert_eq!(None, at(Some(15_000)));
        assert_eq!(None, at(Some(500)));
    }
}
