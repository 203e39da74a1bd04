//! What a drive writes down about each answer: its counters, and its trace where there is one.

use std::sync::{Arc, Mutex};

use stithy_measure::{locked, nanoseconds, Moment};

use crate::counters::{Answered, Counters, State};
use crate::request::Request;
use crate::trace::{Record, Tracer, ERROR, LATE, UNPACED};

/// What is known of a request before it is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub request: Request,
    pub arrived: Moment,
    /// How many were under way when it arrived, itself included.
    pub depth: usize,
}

/// Counters and trace.
pub(super) struct Recording {
    counters: Arc<Mutex<Counters>>,
    tracer: Option<Tracer>,
}

impl Recording {
    pub(super) fn new(counters: Arc<Mutex<Counters>>) -> Self {
        let tracer = None;
        Recording { counters, tracer }
    }

    pub(super) fn count(&mut self, asked: &Asked, answered: &Answered, is_paced: bool) {
        if let Some(tracer) = &mut self.tracer {
            tracer.record(&record(asked, answered, is_paced));
        }
        let mut counters = locked(&self.counters);
        counters.record(answered);
        counters.observe_depth(asked.depth as u64);
    }

    pub(super) fn observe(&self, state: State) {
        locked(&self.counters).observe(state);
    }

    pub(super) fn trace(&mut self, tracer: Option<Tracer>) {
        self.tracer = tracer;
    }

    pub(super) fn hand_trace_on(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.hand_on();
        }
    }
}

fn record(asked: &Asked, answered: &Answered, is_paced: bool) -> Record {
    let flag = |is_so, flag| if is_so { flag } else { 0 };
    Record {
        arrived: asked.arrived,
        request: asked.request,
        latency_ns: nanoseconds(answered.latency()),
        depth: u16::try_from(asked.depth).unwrap_or(u16::MAX),
        flags: flag(answered.failed, ERROR)
            | flag(answered.is_late(), LATE)
            | flag(!is_paced, UNPACED),
    }
}
