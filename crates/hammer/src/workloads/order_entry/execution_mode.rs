//! How the transactions are done: as server-side procedures or as plain prepared SQL.

use super::input::Input;
use super::output::Shown;
use super::plain::Plain;
use super::procedures::Procedures;
use super::sql::Sql;
use crate::engines::{Answer, Row, Session, SessionError};

/// The prepared statements of one session, in one of two ways that leave the same rows.
#[derive(Debug, Clone)]
pub enum ExecutionMode {
    /// Server-side procedures.
    Procedures(Procedures),
    /// Plain prepared SQL.
    Plain(Plain),
}

impl ExecutionMode {
    /// Prepares the statements of one way.
    pub async fn prepare(
        session: &mut impl Session,
        sql: &Sql,
        procedures: bool,
    ) -> Result<Self, SessionError> {
        Ok(if procedures {
            ExecutionMode::Procedures(Procedures::prepare(session, sql).await?)
        } else {
            ExecutionMode::Plain(Plain::prepare(session, sql).await?)
        })
    }

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    ///
    /// An error of the server may leave a failed transaction block open.
    pub async fn act(
        &self,
        session: &mut impl Session,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        match self {
            ExecutionMode::Procedures(mode) => mode.act(session, input, date_us).await,
            ExecutionMode::Plain(mode) => mode.act(session, input, date_us).await,
        }
    }

    /// The number that the database gave the new order which was just committed: in both ways the
    /// first value of the last batch.
    pub fn order_number(&self, session: &impl Session) -> Option<u32> {
        let row = session.answer().first(0)?;
        u32::try_from(row.integer(0)?).ok()
    }
}
