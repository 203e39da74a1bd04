//! How long the transport itself takes for a request, from the client's asking to its having the answer: by so
//! much answers are made earlier.

use std::time::Duration;

use crate::request::{Operation, Request};

/// The size of the smallest request that is distinguished.
const SMALL_BYTES: u64 = 4096;

/// A time that grows with the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Line {
    /// For 4 KiB or less.
    pub small: Duration,
    /// For each byte more, picoseconds.
    pub byte_ps: u64,
}

impl Line {
    /// The line through the times of 4 KiB and of a larger request.
    pub fn through(small: Duration, large: Duration, large_bytes: u64) -> Self {
        let more = large.saturating_sub(small).as_nanos() as u64 * 1000;
        Line {
            small,
            byte_ps: more / large_bytes.saturating_sub(SMALL_BYTES).max(1),
        }
    }

    /// The same, but nowhere more than `most`.
    pub fn at_most(self, most: Line) -> Self {
        Line {
            small: self.small.min(most.small),
            byte_ps: self.byte_ps.min(most.byte_ps),
        }
    }

    fn at(&self, length_bytes: u64) -> Duration {
        let more_bytes = length_bytes.saturating_sub(SMALL_BYTES);
        self.small + Duration::from_nanos(more_bytes.saturating_mul(self.byte_ps) / 1000)
    }
}

/// The transport's latency, by what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransportLatency {
    /// Of a read, and of what moves nothing.
    pub read: Line,
    /// Of a write.
    pub write: Line,
}

impl TransportLatency {
    /// The same for everything.
    pub fn constant(time: Duration) -> Self {
        let line = Line {
            small: time,
            byte_ps: 0,
        };
        TransportLatency {
            read: line,
            write: line,
        }
    }

    /// For this request.
    pub fn of(&self, request: &Request) -> Duration {
        match request.operation {
            Operation::Read => self.read.at(request.length_bytes),
            Operation::Write => self.write.at(request.length_bytes),
            // The range of a discard is a number, however large.
            Operation::Flush | Operation::Discard => self.read.at(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(operation: Operation, length_bytes: u64) -> Request {
        Request {
            operation,
            offset_bytes: 0,
            length_bytes,
        }
    }

    /// Time grows with what is moved, and only with that.
    #[test]
    fn larger_requests_take_longer() {
        let us = Duration::from_micros;
        let own = TransportLatency {
            read: Line::through(us(10), us(41), 128 << 10),
            write: Line::through(us(12), us(12), 128 << 10),
        };
        let of = |operation, length_bytes| own.of(&request(operation, length_bytes));
        assert_eq!(us(10), of(Operation::Read, 512));
        assert_eq!(
            41,
            of(Operation::Read, 128 << 10)
                .as_micros()
                .next_multiple_of(41)
        );
        assert_eq!(us(12), of(Operation::Write, 1 << 20));
        assert_eq!(us(10), of(Operation::Discard, 1 << 40));
    }

    /// What is more than plausible is cut to that.
    #[test]
    fn a_line_is_kept_below_another() {
        let line = |small_us, byte_ps| Line {
            small: Duration::from_micros(small_us),
            byte_ps,
        };
        assert_eq!(line(20, 100), line(47, 100).at_most(line(20, 400)));
        assert_eq!(line(11, 400), line(11, 900).at_most(line(20, 400)));
    }

    /// Where a large request was found to be no slower the line is flat.
    #[test]
    fn a_line_does_not_fall() {
        let us = Duration::from_micros;
        assert_eq!(0, Line::through(us(10), us(9), 128 << 10).byte_ps);
    }
}
