//! The lines of an order.

use std::ops::{Deref, DerefMut};

use super::{Line, LINES_MAX};

/// The lines of an order, in place: nearly every second transaction draws some, and memory of their own
/// would be one more thing to fetch for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    lines: [Line; LINES_MAX],
    count: usize,
}

impl FromIterator<Line> for Lines {
    /// Takes at most [`LINES_MAX`] lines.
    fn from_iter<I: IntoIterator<Item = Line>>(drawn: I) -> Self {
        let mut all = Lines::default();
        for (place, line) in all.lines.iter_mut().zip(drawn) {
            *place = line;
            all.count += 1;
        }
        all
    }
}

impl Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.lines[..self.count]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [Line] {
        &mut self.lines[..self.count]
    }
}
