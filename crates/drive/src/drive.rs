//! One drive: takes requests when they arrive and answers them when they are due.
//!
//! It has no clock, no thread and no kernel: moments and the transport are given to each call.

mod breaking;
mod pace;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stithy_measure::Moment;
use stithy_wire::CutCounts;

use self::pace::Pace;
use crate::backing::{Mark, Store, Write};
use crate::counters::{Answered, Counters, State};
use crate::fault::Faults;
use crate::model::{Done, Model, Snapshot};
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
    /// Requests that the model has not finished.
    in_model: usize,
    pace: Pace,
    kept: Option<Snapshot>,
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
            in_model: 0,
            pace: Pace::Paced,
            kept: None,
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
        let operation = incoming.request.operation;
        let at_once =
            !self.powered || self.faults.is_gone() || (lying && operation == Operation::Flush);
        if at_once {
            self.due.push(Reverse((now, incoming.id)));
        } else if matches!(self.pace, Pace::Paced) {
            self.model.submit(now, incoming.id, &incoming.request);
            self.in_model += 1;
        } else {
            let at = self.faults.delay(operation, now, now);
            self.due.push(Reverse((at, incoming.id)));
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
        self.in_model -= finished.len();
        for done in finished.drain(..) {
            if let Some(request) = self.under_way.get(&done.id) {
                let arrived = request.arrived;
                let operation = request.incoming.request.operation;
                let answered = self.faults.delay(operation, arrived, done.at);
                let at = self.earlier(answered).max(arrived);
                self.due.push(Reverse((at, done.id)));
            }
        }
        // Put back for its space.
        self.finished = finished;
        if self.in_model == 0 && matches!(self.pace, Pace::Ending) {
            self.pace = Pace::Unpaced(self.model.snapshot(now));
        }
    }

    fn answer(
        &mut self,
        now: Moment,
        due: Moment,
        request: UnderWay,
        transport: &mut dyn Transport,
    ) -> io::Result<()> {
        let incoming = request.incoming;
        // A stall is what was asked for, not lateness.
        let due = due.max(self.faults.stalled_until().unwrap_or(Moment::START));
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
            due: due.since(request.arrived),
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
}

#[cfg(test)]
mod tests;
