//! How the transactions are done: as procedures in the server or as plain prepared SQL.

use super::{CALLS, STEPS};
use crate::engines::{Answer, Row, Session, SessionError};
use crate::workloads::order_entry::input::Input;
use crate::workloads::order_entry::options::Options;
use crate::workloads::order_entry::output::Shown;
use crate::workloads::order_entry::plain::Plain;
use crate::workloads::order_entry::procedures::Procedures;
use crate::workloads::order_entry::statements::Transactions;

/// The prepared statements of one session, in one of two ways that leave the same rows.
#[derive(Debug, Clone)]
pub enum ExecutionMode {
    /// Procedures in the server.
    Procedures(Procedures),
    /// Plain prepared SQL.
    Plain(Plain),
}

impl Transactions for ExecutionMode {
    /// By procedures, where the job leaves it to the engine.
    async fn prepare(session: &mut impl Session, options: &Options) -> Result<Self, SessionError> {
        Ok(match options.procedures {
            Some(false) => ExecutionMode::Plain(Plain::prepare(session, &STEPS).await?),
            _ => ExecutionMode::Procedures(Procedures::prepare(session, &CALLS).await?),
        })
    }

    async fn act(
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

    /// In both ways the first value of the last batch.
    fn order_number(&self, session: &impl Session) -> Option<u32> {
        let row = session.answer().first(0)?;
        u32::try_from(row.integer(0)?).ok()
    }
}
