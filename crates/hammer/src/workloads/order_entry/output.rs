//! What a virtual user is shown of a transaction.

use stithy_measure::Outcome;

/// What a user is shown of a transaction that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// How it ended.
    pub outcome: Outcome,
    /// Of a new order that was entered, its lines of a brand, the first as the lowest bit; the others
    /// are generic (clause 2.4.2.2).
    pub brand_lines: u16,
}

impl From<Outcome> for Shown {
    fn from(outcome: Outcome) -> Self {
        Shown {
            outcome,
            brand_lines: 0,
        }
    }
}
