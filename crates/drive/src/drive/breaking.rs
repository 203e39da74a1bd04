//! Breaking and repairing a drive.

use std::cmp::Reverse;
use std::io;
use std::time::Duration;

use stithy_measure::Moment;
use stithy_wire::{CutCounts, CutRule, DriveFault};

use super::client_depth::ClientDepth;
use super::{Drive, FaultOutcome};
use crate::backing::Write;
use crate::counters::Answered;
use crate::error::DriveError;
use crate::request::Operation;
use crate::transport::Transport;

impl Drive {
    /// Breaks or repairs the drive.
    pub fn fault(
        &mut self,
        now: Moment,
        fault: &DriveFault,
        transport: &mut dyn Transport,
    ) -> Result<FaultOutcome, DriveError> {
        self.check_range(fault)?;
        self.faults.set(now, fault)?;
        self.store.lie(self.faults.is_lying);
        match *fault {
            DriveFault::Gone => self.fail_all(now, transport)?,
            DriveFault::PowerOn => {
                // What still waits for an answer was asked of a drive without power.
                if !self.powered {
                    self.fail_all(now, transport)?;
                }
                self.switch(now, true);
            }
            DriveFault::Corrupt {
                offset_bytes,
                length_bytes,
                bits,
                seed,
            } => self
                .store
                .corrupt(offset_bytes, length_bytes, bits, seed)
                .map_err(backing_failed)?,
            DriveFault::PowerCut(ref rule) => {
                return self.cut_power(now, rule, transport).map(FaultOutcome::Cut);
            }
            _ => {}
        }
        Ok(FaultOutcome::Set)
    }

    fn switch(&mut self, now: Moment, is_on: bool) {
        self.powered = is_on;
        if let Some(draw) = &mut self.draw {
            draw.switch(now, is_on);
        }
        self.observe();
    }

    fn check_range(&self, fault: &DriveFault) -> Result<(), DriveError> {
        let DriveFault::Corrupt {
            offset_bytes,
            length_bytes,
            ..
        } = *fault
        else {
            return Ok(());
        };
        let size_bytes = self.store.size_bytes();
        match offset_bytes.checked_add(length_bytes) {
            Some(end) if end <= size_bytes => Ok(()),
            _ => Err(DriveError::usage(
                "fault-invalid",
                "the range is not inside the drive",
                "offset_bytes",
                format!("give a range inside {size_bytes} bytes"),
            )),
        }
    }

    /// From here on nothing reaches the image until the power comes back: what is under way is answered
    /// with an error, and so is what arrives, as soon as no stall holds the answers back.
    fn cut_power(
        &mut self,
        now: Moment,
        rule: &CutRule,
        transport: &mut dyn Transport,
    ) -> Result<CutCounts, DriveError> {
        if !self.powered {
            let remedy = "give power-on first";
            let problem = "the power is cut already";
            return Err(DriveError::usage("power-is-cut", problem, "fault", remedy));
        }
        self.switch(now, false);
        let mut writes: Vec<(u64, Write)> = self
            .under_way
            .values_mut()
            .filter(|request| request.incoming.request.operation == Operation::Write)
            .map(|request| {
                let write = Write {
                    offset_bytes: request.incoming.request.offset_bytes,
                    content: std::mem::take(&mut request.content),
                };
                (request.order, write)
            })
            .collect();
        writes.sort_unstable_by_key(|(order, _)| *order);
        let writes = writes.into_iter().map(|(_, write)| write).collect();
        let counts = self.store.cut(writes, rule).map_err(backing_failed)?;
        match self.is_stalled(now) {
            true => self.fail_all_later(now),
            false => self.fail_all(now, transport)?,
        }
        Ok(counts)
    }

    /// As [`Drive::fail_all`], when the stall is over.
    fn fail_all_later(&mut self, now: Moment) {
        self.reset_model(now);
        self.waiting.clear();
        self.due = self
            .under_way
            .keys()
            .map(|&id| Reverse((now, id)))
            .collect();
    }

    fn fail_all(&mut self, now: Moment, transport: &mut dyn Transport) -> Result<(), DriveError> {
        self.reset_model(now);
        self.due.clear();
        self.waiting.clear();
        self.client_depth = ClientDepth::default();
        for request in std::mem::take(&mut self.under_way).into_values() {
            let answered = Answered {
                operation: request.incoming.request.operation,
                moved_bytes: 0,
                failed: true,
                given: now.since(request.arrived),
                earlier: Duration::ZERO,
                late: Duration::ZERO,
            };
            let is_paced = self.is_paced();
            self.recording.count(&request.asked(), &answered, is_paced);
            self.let_go(request.need);
            transport
                .answer(&request.incoming, Err(libc::EIO))
                .map_err(backing_failed)?;
        }
        self.compensation.start_anew();
        self.observe();
        Ok(())
    }
}

fn backing_failed(cause: io::Error) -> DriveError {
    let remedy = "look at the file system that holds the image";
    DriveError::infrastructure("image-failed", cause.to_string(), "image", remedy).caused_by(cause)
}
