//! What a drive draws by the watts of its profile, from the requests in progress.
//!
//! While reads and other requests are in progress together, each kind counts by its share of them. Work that a
//! write cache leaves for later is not seen.

use stithy_measure::Moment;

use crate::counters::Energy;
use crate::profile::Power;
use crate::request::Operation;

/// The energy of one drive.
#[derive(Debug)]
pub(super) struct Draw {
    power: Power,
    energy: Energy,
    reads: u32,
    others: u32,
    is_on: bool,
}

impl Draw {
    /// A drive that is idle from `now` on.
    pub(super) fn new(power: Power, now: Moment) -> Self {
        let energy = Energy {
            at: now,
            drawn_j: 0.0,
            power_w: power.idle_w,
        };
        Draw {
            power,
            energy,
            reads: 0,
            others: 0,
            is_on: true,
        }
    }

    /// What it drew so far, and draws.
    pub(super) fn energy(&self) -> Energy {
        self.energy
    }

    /// A request arrives.
    pub(super) fn arrive(&mut self, now: Moment, operation: Operation) {
        *self.count(operation) += 1;
        self.go_on(now);
    }

    /// A request is answered.
    pub(super) fn answer(&mut self, now: Moment, operation: Operation) {
        *self.count(operation) -= 1;
        self.go_on(now);
    }

    /// Its power is cut, or is back.
    pub(super) fn switch(&mut self, now: Moment, is_on: bool) {
        self.is_on = is_on;
        self.go_on(now);
    }

    fn count(&mut self, operation: Operation) -> &mut u32 {
        match operation {
            Operation::Read => &mut self.reads,
            _ => &mut self.others,
        }
    }

    fn go_on(&mut self, now: Moment) {
        let (reads, others) = (f64::from(self.reads), f64::from(self.others));
        let Power {
            idle_w,
            read_w,
            write_w,
        } = self.power;
        let power_w = match (self.is_on, reads + others) {
            (false, _) => 0.0,
            (true, 0.0) => idle_w,
            (true, all) => (reads * read_w + others * write_w) / all,
        };
        self.energy = Energy {
            at: now,
            drawn_j: self.energy.until(now),
            power_w,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POWER: Power = Power {
        idle_w: 2.0,
        read_w: 5.0,
        write_w: 9.0,
    };

    fn second(number: u64) -> Moment {
        Moment(number * 1_000_000_000)
    }

    /// Idle, one read, a read beside a write, a write, idle, and no power: each second by its own watts.
    #[test]
    fn each_kind_counts_while_it_is_in_progress() {
        let mut draw = Draw::new(POWER, second(0));
        draw.arrive(second(1), Operation::Read);
        draw.arrive(second(2), Operation::Flush);
        draw.answer(second(3), Operation::Read);
        draw.answer(second(4), Operation::Flush);
        draw.switch(second(5), false);
        let joules: Vec<f64> = [5, 6].map(|at| draw.energy().until(second(at))).to_vec();
        assert_eq!(vec![2.0 + 5.0 + 7.0 + 9.0 + 2.0; 2], joules);
        draw.switch(second(6), true);
        assert_eq!(27.0, draw.energy().until(second(7)));
    }
}
