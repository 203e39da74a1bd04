//! How the transactions are done where an engine has procedures: by them, or as plain prepared SQL.

use std::marker::PhantomData;

use super::Transactions;
use crate::engines::{Answer, Row, Session, SessionError};
use crate::workloads::order_entry::input::Input;
use crate::workloads::order_entry::options::Options;
use crate::workloads::order_entry::output::Shown;
use crate::workloads::order_entry::plain::{Plain, Steps};
use crate::workloads::order_entry::procedures::{Calls, Procedures};

/// What an engine needs for both ways.
pub(crate) trait Modes: Send + Sync + 'static {
    /// Calls of its procedures.
    const CALLS: &'static Calls;
    /// Its plain statements.
    const STEPS: &'static Steps;
}

/// The prepared statements of one session, in one of two ways that leave the same rows.
#[derive(Debug)]
pub enum ExecutionMode<M> {
    /// Procedures in the server.
    Procedures(Procedures),
    /// Plain prepared SQL.
    Plain(Plain, PhantomData<M>),
}

impl<M> Clone for ExecutionMode<M> {
    fn clone(&self) -> Self {
        match self {
            ExecutionMode::Procedures(mode) => ExecutionMode::Procedures(*mode),
            ExecutionMode::Plain(mode, of) => ExecutionMode::Plain(mode.clone(), *of),
        }
    }
}

impl<M: Modes> Transactions for ExecutionMode<M> {
    /// By procedures, where the job leaves it to the engine.
    async fn prepare(session: &mut impl Session, options: &Options) -> Result<Self, SessionError> {
        Ok(match options.procedures {
            Some(false) => {
                ExecutionMode::Plain(Plain::prepare(session, M::STEPS).await?, PhantomData)
            }
            _ => ExecutionMode::Procedures(Procedures::prepare(session, M::CALLS).await?),
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
            ExecutionMode::Plain(mode, _) => mode.act(session, input, date_us).await,
        }
    }

    /// In both ways the first value of the last batch.
    fn order_number(&self, session: &impl Session) -> Option<u32> {
        let row = session.answer().first(0)?;
        u32::try_from(row.integer(0)?).ok()
    }
}
