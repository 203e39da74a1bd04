//! A drive that takes no time at all: what is left is the transport's own.

use std::collections::VecDeque;

use stithy_measure::Moment;

use super::{Done, Model};
use crate::request::Request;

/// Finishes each request the moment it arrives.
#[derive(Debug, Default)]
pub struct Immediate {
    waiting: VecDeque<Done>,
}

impl Model for Immediate {
    fn submit(&mut self, now: Moment, id: u64, _request: &Request) {
        self.waiting.push_back(Done { id, at: now });
    }

    fn next_done(&self) -> Option<Moment> {
        self.waiting.front().map(|done| done.at)
    }

    fn take_done(&mut self, now: Moment, done: &mut Vec<Done>) {
        while let Some(first) = self.waiting.front().filter(|first| first.at <= now) {
            done.push(*first);
            self.waiting.pop_front();
        }
    }

    fn cache_fill_bytes(&self) -> Option<u64> {
        None
    }

    fn reset(&mut self, _now: Moment) {
        self.waiting.clear();
    }
}
