//! One drive: takes requests when they arrive and answers them when they are due.
//!
//! It has no clock, no thread and no kernel of its own: moments, clock and transport are given to each call.

mod breaking;
mod client_depth;
mod draw;
mod pace;
mod recording;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stithy_measure::{nanoseconds, Clock, Moment};
use stithy_wire::CutCounts;

use self::client_depth::ClientDepth;
use self::draw::Draw;
use self::pace::Pace;
use self::recording::{Asked, Recording};
use crate::backing::{Mark, Need, Store, Write};
use crate::counters::{Answered, Counters, State};
use crate::fault::Faults;
use crate::latency_compensation::LatencyCompensation;
use crate::model::{Done, Model, Snapshot};
use crate::profile::Power;
use crate::request::{Operation, Request};
use crate::trace::Tracer;
use crate::transport::{Incoming, Transport};
use crate::transport_latency::TransportLatency;

/// A request under way.
struct UnderWay {
    incoming: Incoming,
    arrived: Moment,
    /// Its place in the order of arrival.
    order: u64,
    /// How many were under way, itself included.
    depth: usize,
    /// What profile and faults give it; known when the model has finished it.
    given: Duration,
    /// What a write brings.
    content: Box<[u8]>,
    /// What a flush covers.
    mark: Mark,
    /// A flush that promises nothing.
    lying: bool,
    /// What is brought to hand for it, if anything is.
    need: Option<Need>,
}

impl UnderWay {
    fn asked(&self) -> Asked {
        Asked {
            request: self.incoming.request,
            arrived: self.arrived,
            depth: self.depth,
        }
    }
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
    transport_latency: TransportLatency,
    compensation: LatencyCompensation,
    /// The longest own time of the requests under way.
    ahead: Duration,
    under_way: HashMap<u64, UnderWay>,
    client_depth: ClientDepth,
    /// What it draws; None where its profile states no watts.
    draw: Option<Draw>,
    /// The newest request, if it is a write whose content lies in the transport still.
    not_kept: Option<u64>,
    due: BinaryHeap<Reverse<(Moment, u64)>>,
    /// Those of [`Drive::due`] that wait for the image.
    waiting: Vec<Reverse<(Moment, u64)>>,
    finished: Vec<Done>,
    arrivals: u64,
    recording: Recording,
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
            transport_latency: TransportLatency::default(),
            compensation: LatencyCompensation::default(),
            ahead: Duration::ZERO,
            under_way: HashMap::new(),
            client_depth: ClientDepth::default(),
            draw: None,
            not_kept: None,
            due: BinaryHeap::new(),
            waiting: Vec::new(),
            finished: Vec::new(),
            arrivals: 0,
            recording: Recording::new(counters),
        }
    }

    /// Counts what it draws from `now` on, where its profile states it.
    pub fn draw(&mut self, now: Moment, power: Option<Power>) {
        self.draw = power.map(|power| Draw::new(power, now));
        self.observe();
    }

    /// By how much answers are made earlier, to make up for the transport's latency.
    pub fn compensate(&mut self, transport_latency: TransportLatency) {
        self.transport_latency = transport_latency;
    }

    /// By what to find how much more than that it is while the drive works.
    pub fn compensate_by_counters(&mut self, compensation: LatencyCompensation) {
        self.compensation = compensation;
    }

    /// By how much the answer to a request is made earlier.
    fn transport_time(&self, request: &Request) -> Duration {
        let at_rest = self.transport_latency.of(request);
        self.compensation.adjusted(request.operation, at_rest)
    }

    /// Takes a request that arrives `now`. What a write brings lies in the transport still: it is to be kept
    /// before the next is received, unless it was answered by then, which spares copying it.
    pub fn arrive(&mut self, now: Moment, incoming: Incoming) {
        let is_write = incoming.request.operation == Operation::Write;
        self.not_kept = (is_write && self.powered).then_some(incoming.id);
        if self.under_way.is_empty() {
            self.ahead = Duration::ZERO;
        }
        self.ahead = self.ahead.max(self.transport_time(&incoming.request));
        let lying = self.faults.is_lying;
        let under_way = UnderWay {
            incoming,
            arrived: now,
            order: self.arrivals,
            depth: self.under_way.len() + 1,
            given: Duration::ZERO,
            content: Box::default(),
            mark: self.store.mark(),
            lying,
            need: None,
        };
        self.arrivals += 1;
        self.under_way.insert(incoming.id, under_way);
        let operation = incoming.request.operation;
        let depth = self.client_depth.arrive(now, operation);
        if let Some(draw) = &mut self.draw {
            draw.arrive(now, operation);
        }
        let at_once =
            !self.powered || self.faults.is_gone || (lying && operation == Operation::Flush);
        if at_once {
            self.due.push(Reverse((now, incoming.id)));
        } else if self.is_paced() {
            self.model
                .submit(now, incoming.id, &incoming.request, depth);
            self.in_model += 1;
            self.want(&incoming);
        } else {
            let at = self.faults.delay(operation, now, now);
            if let Some(request) = self.under_way.get_mut(&incoming.id) {
                request.given = at.since(now);
            }
            self.due.push(Reverse((at, incoming.id)));
        }
    }

    /// Uses the time that a request takes to bring to hand what it needs. A request that takes none has it brought when
    /// it is done: to hand it over to others and back would cost more.
    fn want(&mut self, incoming: &Incoming) {
        if let Some(request) = self.under_way.get_mut(&incoming.id) {
            request.need = self.store.want(&incoming.request);
        }
    }

    /// Keeps what the newest request brings, if it is a write that was not answered yet.
    pub fn keep(&mut self, payload: &[u8]) {
        let write = self.not_kept.take().map(|id| self.under_way.get_mut(&id));
        if let Some(write) = write.flatten() {
            write.content = Box::from(payload);
        }
    }

    /// When [`Drive::complete`] has something to do next.
    pub fn next_due(&self) -> Option<Moment> {
        let first = self.due.peek().map(|Reverse((at, _))| *at);
        let model = self.model.next_done().map(|at| earlier(at, self.ahead));
        if !self.waiting.is_empty() && self.store.has_news() {
            return Some(Moment::START);
        }
        let next = match (first, model) {
            (Some(first), Some(model)) => Some(first.min(model)),
            (first, model) => first.or(model),
        };
        next.map(|next| next.max(self.faults.stalled_until.unwrap_or(Moment::START)))
    }

    /// Answers everything that is due now. The clock is asked again for each answer: the last of many is
    /// given later than the first. What the image has not at hand yet waits, and nothing else does.
    ///
    /// Errors: the transport's, and those of the image with what was answered already; what it cannot do otherwise is
    /// answered as an I/O error.
    pub fn complete(&mut self, clock: &dyn Clock, transport: &mut dyn Transport) -> io::Result<()> {
        if self.store.collect()? {
            self.due.extend(self.waiting.drain(..));
        }
        let now = clock.now();
        self.collect_finished(now);
        let stalled = self.is_stalled(now);
        let mut answered = false;
        while let Some(&Reverse((at, id))) = self.due.peek() {
            if at > now || stalled {
                break;
            }
            self.due.pop();
            if !self.is_at_hand(id) {
                self.waiting.push(Reverse((at, id)));
            } else if let Some(request) = self.under_way.remove(&id) {
                self.answer(clock, at, request, transport)?;
                answered = true;
            }
        }
        if answered {
            self.observe();
            self.compensation.look(now);
        }
        self.store.hand_on(!self.waiting.is_empty());
        Ok(())
    }

    /// Whether an answer need not wait for the image.
    fn is_at_hand(&self, id: u64) -> bool {
        let request = self.under_way.get(&id).filter(|_| self.powered);
        request.is_none_or(|request| {
            let asked = &request.incoming.request;
            self.store.is_at_hand(asked, request.need.as_ref())
        })
    }

    /// Waits until the image has kept everything that was answered.
    pub fn finish(&mut self) -> io::Result<()> {
        self.store.finish()
    }

    fn is_stalled(&self, now: Moment) -> bool {
        self.faults.stalled_until.is_some_and(|until| now < until)
    }

    fn collect_finished(&mut self, now: Moment) {
        self.model.take_done(now + self.ahead, &mut self.finished);
        let mut finished = std::mem::take(&mut self.finished);
        self.in_model -= finished.len();
        for done in finished.drain(..) {
            if let Some(request) = self.under_way.get_mut(&done.id) {
                let arrived = request.arrived;
                let asked = request.incoming.request;
                let answered = self.faults.delay(asked.operation, arrived, done.at);
                request.given = answered.since(arrived);
                let at = earlier(answered, self.transport_time(&asked)).max(arrived);
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
        clock: &dyn Clock,
        due: Moment,
        request: UnderWay,
        transport: &mut dyn Transport,
    ) -> io::Result<()> {
        let incoming = request.incoming;
        // A stall is what was asked for, not lateness.
        let stalled_until = self.faults.stalled_until.unwrap_or(Moment::START);
        let due = due.max(stalled_until);
        let given = request.given.max(stalled_until.since(request.arrived));
        let is_paced = self.is_paced();
        let asked = request.asked();
        let transport_time = self.transport_time(&asked.request);
        let need = request.need;
        let outcome = match !self.powered || self.faults.fails(&asked.request) {
            true => Err(libc::EIO),
            false => {
                let is_kept = self.not_kept != Some(incoming.id);
                let payload = (!is_kept).then(|| transport.payload());
                perform(&mut self.store, request, payload)
                    .map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
            }
        };
        let now = clock.now();
        let answered = Answered {
            operation: asked.request.operation,
            moved_bytes: outcome.map_or(0, |_| asked.request.length_bytes),
            failed: outcome.is_err(),
            given,
            earlier: given.saturating_sub(due.since(asked.arrived)),
            late: now.since(due),
        };
        self.recording.count(&asked, &answered, is_paced);
        match is_paced && self.powered && !self.faults.is_gone {
            true => self.compensation.count(asked.request.operation, given),
            false => self.compensation.start_anew(),
        }
        self.client_depth
            .answer(now, asked.request.operation, transport_time);
        if let Some(draw) = &mut self.draw {
            draw.answer(now, asked.request.operation);
        }
        transport.answer(&incoming, outcome)?;
        self.let_go(need);
        Ok(())
    }

    fn let_go(&mut self, need: Option<Need>) {
        if let Some(need) = need {
            self.store.let_go(&need);
        }
    }

    /// Records each request from now on, or no more.
    pub fn trace(&mut self, tracer: Option<Tracer>) {
        self.recording.trace(tracer);
    }

    /// Has what was recorded reach the trace soon.
    pub fn hand_trace_on(&mut self) {
        self.recording.hand_trace_on();
    }

    fn observe(&self) {
        self.recording.observe(self.state());
    }

    fn state(&self) -> State {
        State {
            depth: self.under_way.len() as u64,
            cache_fill_bytes: self.model.cache_fill_bytes(),
            volatile_bytes: self.store.volatile_bytes(),
            energy: self.draw.as_ref().map(Draw::energy),
        }
    }
}

/// Does what was asked; gives the bytes of a read. `payload` is what a write brings that was not kept.
fn perform<'a>(
    store: &'a mut Store,
    request: UnderWay,
    payload: Option<&[u8]>,
) -> io::Result<&'a [u8]> {
    let asked = request.incoming.request;
    match (asked.operation, payload) {
        (Operation::Read, _) => return store.read(asked.offset_bytes, asked.length_bytes as usize),
        (Operation::Write, Some(payload)) => store.write_copied(asked.offset_bytes, payload)?,
        (Operation::Write, None) => store.write(Write {
            offset_bytes: asked.offset_bytes,
            content: request.content,
        })?,
        (Operation::Flush, _) if request.lying => {}
        (Operation::Flush, _) => store.settle(request.mark),
        (Operation::Discard, _) => store.discard(asked.offset_bytes, asked.length_bytes)?,
    }
    Ok(&[])
}

fn earlier(at: Moment, time: Duration) -> Moment {
    Moment(at.0.saturating_sub(nanoseconds(time)))
}

#[cfg(test)]
mod tests;
