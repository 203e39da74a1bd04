//! A virtual user: each statement is sent when the one before is answered, the beginning and the end of a
//! transaction included.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use stithy_measure::{locked, Outcome, Rng};
use stithy_wire::ErrorKind;

use super::mark::Mark;
use super::run::Shared;
use super::text::{length, C_GROUPS, PAD_GROUPS};
use super::transaction::{Call, Step, Transaction};
use super::Domain;
use crate::engines::{Access, Batch, Params, Session, SessionError, Statement};
use crate::ledger::write::Ledger;
use crate::ledger::Stage;
use crate::transaction_script::TransactionScript;

/// One virtual user.
#[derive(Clone)]
pub struct User {
    number: u32,
    rng: Rng,
    transaction: Transaction,
    prepared: Arc<[Statement]>,
    shared: Arc<Shared>,
    /// That of the drawn transaction, from its first attempt on.
    mark: Option<Mark>,
}

impl User {
    /// A user who has not drawn yet.
    pub fn new(seed: u64, number: u32, prepared: Arc<[Statement]>, shared: Arc<Shared>) -> Self {
        User {
            number,
            rng: Rng::of(seed, Domain::User, number.into(), 0),
            transaction: Transaction::default(),
            prepared,
            shared,
            mark: None,
        }
    }

    fn access(&self) -> Access {
        match self.transaction.calls.iter().any(|call| call.step.writes()) {
            true => Access::Write,
            false => Access::Read,
        }
    }

    /// The drawn statements, in one transaction or a transaction each; the mark goes with the commit.
    async fn act(
        &self,
        session: &mut impl Session,
        mark: Option<Mark>,
    ) -> Result<Outcome, SessionError> {
        let is_block = self.shared.shape.is_block;
        if is_block {
            session.start(Batch::First(self.access()));
            session.exchange().await?;
        }
        let mut texts = &self.transaction.texts[..];
        for call in &self.transaction.calls {
            session.start(match (is_block, call.step.writes()) {
                (true, _) => Batch::Middle,
                (false, true) => Batch::Whole(Access::Write),
                (false, false) => Batch::Whole(Access::Read),
            });
            let statement = self.prepared[call.prepared as usize];
            session.queue(statement, |params| put_call(params, call, &mut texts));
            if let Err(error) = session.exchange().await {
                return Err(self.judge(call.step, error));
            }
        }
        if is_block {
            session.start(Batch::Last);
            if let (Some(mark), Some(statement)) = (mark, self.prepared.last()) {
                session.queue(*statement, |params| {
                    params.timestamp(mark.date_us);
                    params.int4(mark.user as i32);
                });
            }
            session.exchange().await?;
        }
        Ok(Outcome::Committed)
    }

    /// Another user may have deleted and inserted the row while this one waited for it: then there was
    /// nothing to delete, and the row is there already. That is a conflict, as it is for sysbench.
    fn judge(&self, step: Step, error: SessionError) -> SessionError {
        let is_duplicate = error.code.as_deref() == Some(self.shared.duplicate_key);
        match step == Step::Insert && is_duplicate {
            true => SessionError {
                kind: ErrorKind::Retryable,
                ..error
            },
            false => error,
        }
    }

    /// The same, with its mark in the ledger before and after.
    async fn act_and_note(
        &mut self,
        session: &mut impl Session,
        ledger: &Ledger,
    ) -> Result<Outcome, SessionError> {
        let mark = *self.mark.get_or_insert_with(|| Mark {
            date_us: self.shared.dates.next(),
            user: self.number,
        });
        if !ledger.note(Stage::Sent, mark) {
            return Err(SessionError::unexpected("the ledger could not be written"));
        }
        locked(&self.shared.open).insert(mark.date_us);
        let result = self.act(session, Some(mark)).await;
        if let Some(stage) = Stage::of(&result) {
            // A ledger that has failed refuses the next transaction, and the summary says so.
            ledger.note(stage, mark);
            locked(&self.shared.open).remove(&mark.date_us);
        }
        if result.is_ok() {
            self.shared.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        result
    }
}

impl TransactionScript for User {
    fn draw(&mut self) -> usize {
        self.shared.shape.draw(&mut self.rng, &mut self.transaction);
        self.mark = None;
        0
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        match self.shared.ledger.clone() {
            Some(ledger) => self.act_and_note(session, &ledger).await,
            None => self.act(session, None).await,
        }
    }
}

/// The parameters of a statement; its text is taken from what is left of the transaction's.
fn put_call(params: &mut impl Params, call: &Call, texts: &mut &[u8]) {
    match call.step {
        Step::Point | Step::UpdateIndex | Step::Delete => params.int4(call.id),
        Step::SimpleRange | Step::SumRange | Step::OrderRange | Step::DistinctRange => {
            params.int4(call.id);
            params.int4(call.other);
        }
        Step::UpdateNonIndex => {
            params.text(take(texts, C_GROUPS));
            params.int4(call.id);
        }
        Step::Insert => {
            params.int4(call.id);
            params.int4(call.other);
            params.text(take(texts, C_GROUPS));
            params.text(take(texts, PAD_GROUPS));
        }
        Step::Append => {
            params.int4(call.id);
            params.text(take(texts, C_GROUPS));
            params.text(take(texts, PAD_GROUPS));
        }
    }
}

fn take<'a>(texts: &mut &'a [u8], groups: usize) -> &'a [u8] {
    let (text, rest) = texts.split_at(length(groups));
    *texts = rest;
    text
}
