//! Keeping CPUs out of deep idle states while drives work, and only then.
//!
//! A CPU that sleeps deeply takes some 30 µs to wake, on each side of a request. One that is kept awake takes
//! power, and time from its sibling: so drives that nobody asks anything let go within two seconds.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

const DEVICE: &str = "/dev/cpu_dma_latency";
/// The longest time to wake that is allowed, µs; the second is what allows everything.
const AWAKE_US: i32 = 0;
const ANY_US: i32 = 2_000_000_000;

/// The state of the machine's CPUs that all drives of a program ask for together.
#[derive(Debug, Default)]
pub struct Wakefulness {
    /// None where nothing is held off.
    device: Option<File>,
    holding: AtomicBool,
    used: AtomicBool,
}

impl Wakefulness {
    /// Holds off deep idle states from the first request on. The kernel lets go when the process ends.
    pub fn open() -> io::Result<Self> {
        let device = OpenOptions::new().write(true).open(DEVICE)?;
        let wakefulness = Wakefulness {
            device: Some(device),
            ..Wakefulness::default()
        };
        wakefulness.write(ANY_US)?;
        Ok(wakefulness)
    }

    /// Whether it holds anything off at all.
    pub fn is_able(&self) -> bool {
        self.device.is_some()
    }

    /// A request has arrived.
    pub fn keep(&self) {
        self.used.store(true, Ordering::Relaxed);
        if !self.holding.load(Ordering::Relaxed) {
            self.hold(true);
        }
    }

    /// Lets go if no request has arrived since the last call; called once a second.
    pub fn relax(&self) {
        let used = self.used.swap(false, Ordering::Relaxed);
        if !used && self.holding.load(Ordering::Relaxed) {
            self.hold(false);
        }
    }

    fn hold(&self, holding: bool) {
        self.holding.store(holding, Ordering::Relaxed);
        // What was allowed when it was opened is allowed still.
        let _ = self.write(if holding { AWAKE_US } else { ANY_US });
    }

    fn write(&self, longest_us: i32) -> io::Result<()> {
        match self.device.as_ref() {
            Some(mut device) => device.write_all(&longest_us.to_ne_bytes()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It holds from the first request to the end of the first second without one.
    #[test]
    fn it_holds_while_requests_arrive() {
        let wakefulness = Wakefulness::default();
        let holding = || wakefulness.holding.load(Ordering::Relaxed);
        wakefulness.relax();
        assert!(!holding());
        wakefulness.keep();
        wakefulness.relax();
        assert!(holding(), "a request arrived in this second");
        wakefulness.relax();
        assert!(!holding());
    }
}
