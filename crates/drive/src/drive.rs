//! One drive: takes requests when they arrive and answers them when they are due.
//!
//! It has no clock, no thread and no kernel: moments and the transport are given to each call.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stithy_measure::Moment;
use stithy_wire::{CutCounts, DriveFault};

use crate::backing::{CutRule, Mark, Store, Write};
use crate::counters::{Answered, Counters, State};
use crate::error::DriveError;
use crate::fault::Faults;
use crate::model::{Done, Model};
use crate::request::Operation;
use crate::transport::{Incoming, Transport};

/// A request under way.
struct UnderWay {
    incoming: Incoming,
    arrived: Moment,
    /// Its place in the order of arrival.
    order: u64,
    /// What a write brings.
    content: Box<[u8]>,
    /// What a flush covers.
    mark: Mark,
    /// A flush that promises nothing.
    lying: bool,
}

/// What a command to a drive gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultOutcome {
    /// It is so from now on.
    Set,
    /// The power is cut, and this became of the volatile writes.
    Cut(CutCounts),
}

/// A drive with everything it holds.
pub struct Drive {
    store: Store,
    model: Box<dyn Model>,
    faults: Faults,
    powered: bool,
    transport_time: Duration,
    under_way: HashMap<u64, UnderWay>,
    due: BinaryHeap<Reverse<(Moment, u64)>>,
    finished: Vec<Done>,
    arrivals: u64,
    counters: Arc<Mutex<Counters>>,
}

impl Drive {
    /// A drive that nobody has asked anything yet; `seed` decides which requests faults meet.
    pub fn new(
        store: Store,
        model: Box<dyn Model>,
        seed: u64,
        counters: Arc<Mutex<Counters>>,
    ) -> Self {
        Drive {
            store,
            model,
            faults: Faults::none(seed),
            powered: true,
            transport_time: Duration::ZERO,
            under_way: HashMap::new(),
            due: BinaryHeap::new(),
            finished: Vec::new(),
            arrivals: 0,
            counters,
        }
    }

    /// By how much answers are made earlier, to make up for the transport's own time.
    pub fn compensate(&mut self, transport_time: Duration) {
        self.transport_time = transport_time;
    }

    /// Takes a request that arrives `now`; `payload` is what a write brings.
    pub fn arrive(&mut self, now: Moment, incoming: Incoming, payload: &[u8]) {
        let content = match incoming.request.operation {
            Operation::Write if self.powered => Box::from(payload),
            _ => Box::default(),
        };
        let lying = self.faults.is_lying();
        let under_way = UnderWay {
            incoming,
            arrived: now,
            order: self.arrivals,
            content,
            mark: self.store.mark(),
            lying,
        };
        self.arrivals += 1;
        self.under_way.insert(incoming.id, under_way);
        let at_once = !self.powered
            || self.faults.is_gone()
            || (lying && incoming.request.operation == Operation::Flush);
        match at_once {
            true => self.due.push(Reverse((now, incoming.id))),
            false => self.model.submit(now, incoming.id, &incoming.request),
        }
    }

    /// When [`Drive::complete`] has something to do next.
    pub fn next_due(&self) -> Option<Moment> {
        let first = self.due.peek().map(|Reverse((at, _))| *at);
        let model = self.model.next_done().map(|at| self.earlier(at));
        let next = match (first, model) {
            (Some(first), Some(model)) => Some(first.min(model)),
            (first, model) => first.or(model),
        };
        next.map(|next| next.max(self.faults.stalled_until().unwrap_or(Moment::START)))
    }

    fn earlier(&self, at: Moment) -> Moment {
        let time = u64::try_from(self.transport_time.as_nanos()).unwrap_or(u64::MAX);
        Moment(at.0.saturating_sub(time))
    }

    /// Answers everything that is due `now`.
    ///
    /// Errors: the transport's; what the image cannot do is answered as an I/O error.
    pub fn complete(&mut self, now: Moment, transport: &mut dyn Transport) -> io::Result<()> {
        self.collect_finished(now);
        let stalled = self.is_stalled(now);
        let mut answered = false;
        while let Some(&Reverse((at, id))) = self.due.peek() {
            if at > now || stalled {
                break;
            }
            self.due.pop();
            if let Some(request) = self.under_way.remove(&id) {
                self.answer(now, at, request, transport)?;
                answered = true;
            }
        }
        if answered {
            self.observe();
        }
        Ok(())
    }

    fn is_stalled(&self, now: Moment) -> bool {
        self.faults.stalled_until().is_some_and(|until| now < until)
    }

    fn collect_finished(&mut self, now: Moment) {
        self.model
            .take_done(now + self.transport_time, &mut self.finished);
        let mut finished = std::mem::take(&mut self.finished);
        for done in finished.drain(..) {
            if let Some(request) = self.under_way.get(&done.id) {
                let arrived = request.arrived;
                let answered = self.faults.delay(arrived, done.at);
                let at = self.earlier(answered).max(arrived);
                self.due.push(Reverse((at, done.id)));
            }
        }
        // Put back for its space.
        self.finished = finished;
    }

    fn answer(
        &mut self,
        now: Moment,
        due: Moment,
        request: UnderWay,
        transport: &mut dyn Transport,
    ) -> io::Result<()> {
        let incoming = request.incoming;
        let fails = !self.powered || self.faults.fails(&incoming.request);
        let answered = Answered {
            operation: incoming.request.operation,
            moved_bytes: if fails {
                0
            } else {
                incoming.request.length_bytes
            },
            failed: fails,
            latency: now.since(request.arrived),
            late: now.since(due),
        };
        self.count(&answered);
        if fails {
            return transport.answer(&incoming, Err(libc::EIO));
        }
        match self.perform(request) {
            Ok(data) => transport.answer(&incoming, Ok(data)),
            Err(e) => transport.answer(&incoming, Err(e.raw_os_error().unwrap_or(libc::EIO))),
        }
    }

    /// Does what was asked; gives the bytes of a read.
    fn perform(&mut self, request: UnderWay) -> io::Result<&[u8]> {
        let asked = request.incoming.request;
        match asked.operation {
            Operation::Read => {
                return self
                    .store
                    .read(asked.offset_bytes, asked.length_bytes as usize)
            }
            Operation::Write => self.store.write(Write {
                offset_bytes: asked.offset_bytes,
                content: request.content,
            })?,
            Operation::Flush if request.lying => {}
            Operation::Flush => self.store.settle(request.mark),
            Operation::Discard => self.store.discard(asked.offset_bytes, asked.length_bytes)?,
        }
        Ok(&[])
    }

    fn count(&self, answered: &Answered) {
        // A reader that panicked has only read.
        let mut counters = self.counters.lock().unwrap_or_else(|e| e.into_inner());
        counters.record(answered);
        counters.observe(State {
            // The one being answered was still under way.
            depth: self.under_way.len() as u64 + 1,
            ..self.state()
        });
    }

    fn observe(&self) {
        let mut counters = self.counters.lock().unwrap_or_else(|e| e.into_inner());
        counters.observe(self.state());
    }

    fn state(&self) -> State {
        State {
            depth: self.under_way.len() as u64,
            cache_fill_bytes: self.model.cache_fill_bytes(),
            volatile_bytes: self.store.volatile_bytes(),
        }
    }

    /// Breaks or mends the drive.
    pub fn fault(
        &mut self,
        now: Moment,
        fault: &DriveFault,
        transport: &mut dyn Transport,
    ) -> Result<FaultOutcome, DriveError> {
        self.check_range(fault)?;
        self.faults.set(now, fault)?;
        self.store.lie(self.faults.is_lying());
        match *fault {
            DriveFault::Gone => self.fail_all(now, transport)?,
            DriveFault::PowerOn => {
                // What still waits for an answer was asked of a drive without power.
                if !self.powered {
                    self.fail_all(now, transport)?;
                }
                self.powered = true;
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
            DriveFault::PowerCut {
                seed,
                lost_share,
                torn_share,
                unit_bytes,
            } => {
                let rule = CutRule {
                    seed,
                    lost_share,
                    torn_share,
                    unit_bytes: unit_bytes as usize,
                };
                return self.cut_power(now, &rule, transport).map(FaultOutcome::Cut);
            }
            _ => {}
        }
        Ok(FaultOutcome::Set)
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
        self.powered = false;
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
        let report = self.store.cut(writes, rule).map_err(backing_failed)?;
        match self.is_stalled(now) {
            true => self.fail_all_later(now),
            false => self.fail_all(now, transport)?,
        }
        Ok(CutCounts {
            kept: report.kept,
            torn: report.torn,
            lost: report.lost,
        })
    }

    /// As [`Drive::fail_all`], when the stall is over.
    fn fail_all_later(&mut self, now: Moment) {
        self.model.reset(now);
        self.due = self
            .under_way
            .keys()
            .map(|&id| Reverse((now, id)))
            .collect();
    }

    fn fail_all(&mut self, now: Moment, transport: &mut dyn Transport) -> Result<(), DriveError> {
        self.model.reset(now);
        self.due.clear();
        for request in std::mem::take(&mut self.under_way).into_values() {
            self.count(&Answered {
                operation: request.incoming.request.operation,
                moved_bytes: 0,
                failed: true,
                latency: now.since(request.arrived),
                late: Duration::ZERO,
            });
            transport
                .answer(&request.incoming, Err(libc::EIO))
                .map_err(backing_failed)?;
        }
        self.observe();
        Ok(())
    }
}

fn backing_failed(cause: io::Error) -> DriveError {
    let remedy = "look at the file system that holds the image";
    DriveError::infrastructure("image-failed", cause.to_string(), "image", remedy).caused_by(cause)
}

#[cfg(test)]
mod tests;
