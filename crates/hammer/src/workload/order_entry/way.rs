//! How the transactions are done: as server-side procedures or as plain prepared SQL.

use stithy_measure::Outcome;

use super::input::Input;
use super::plain::Plain;
use super::procedures::Procedures;
use crate::client::postgresql::{Session, SessionError};

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

/// The prepared statements of one session, in one of two ways that leave the same rows.
#[derive(Debug, Clone)]
pub enum Way {
    /// Server-side procedures.
    Procedures(Procedures),
    /// Plain prepared SQL.
    Plain(Plain),
}

impl Way {
    /// Prepares the statements of one way.
    pub async fn prepare(session: &mut Session, procedures: bool) -> Result<Self, SessionError> {
        Ok(if procedures {
            Way::Procedures(Procedures::prepare(session).await?)
        } else {
            Way::Plain(Plain::prepare(session).await?)
        })
    }

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    ///
    /// An error of the server may leave a failed transaction block open.
    pub async fn act(
        &self,
        session: &mut Session,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        match self {
            Way::Procedures(way) => way.act(session, input, date_us).await,
            Way::Plain(way) => way.act(session, input, date_us).await,
        }
    }

    /// The number that the database gave the new order which was just committed: in both ways the
    /// first value of the last batch.
    pub fn order_number(&self, session: &Session) -> Option<u32> {
        let row = session.answer().first(0)?;
        u32::try_from(row.integer(0)?).ok()
    }
}
