//! A session of a virtual user: batches go to the thread of its connection, so that no user waits while
//! another one's call blocks.

use super::answer::{Answer, Params};
use super::worker::{Answers, Worker};
use super::{Target, Turn, Use, Writers};
use crate::engines::{self, Batch, SessionError, SessionSettings, Statement};
use crate::error::HammerError;

/// One connection with its prepared statements and its buffers.
pub struct Session {
    worker: Worker,
    answers: Answers,
    writers: Writers,
    /// Held while a transaction that writes is open.
    turn: Option<Turn>,
    /// None while it is in the thread.
    answer: Option<Box<Answer>>,
    /// What is shown of a session whose thread is gone.
    nothing: Answer,
    statements: u16,
}

impl Session {
    /// Errors: those of [`Worker::start`].
    pub(super) async fn open(
        target: &Target,
        settings: SessionSettings,
    ) -> Result<Self, HammerError> {
        let purpose = match settings {
            SessionSettings::Load(_) => Use::Read,
            SessionSettings::ReadOnly => Use::ReadOnly,
        };
        let (worker, answers) = Worker::start(target, purpose).await?;
        Ok(Session {
            worker,
            answers,
            writers: target.writers.clone(),
            turn: None,
            answer: Some(Box::default()),
            nothing: Answer::default(),
            statements: 0,
        })
    }

    fn batch(&mut self) -> &mut Answer {
        self.answer.get_or_insert_default()
    }
}

impl engines::Session for Session {
    type Params<'a> = Params<'a>;
    type Answer = Answer;

    async fn prepare(&mut self, texts: &[&str]) -> Result<Vec<Statement>, SessionError> {
        self.worker.prepare(texts).await?;
        let first = self.statements;
        self.statements += texts.len() as u16;
        Ok((first..self.statements).map(Statement::numbered).collect())
    }

    fn start(&mut self, batch: Batch) {
        self.batch().start(batch);
    }

    fn queue(&mut self, statement: Statement, write: impl FnOnce(&mut Params<'_>)) {
        self.batch().queue(statement.number(), write);
    }

    /// A writer waits for its turn first.
    async fn exchange(&mut self) -> Result<&Answer, SessionError> {
        if self.batch().begins_writing() && self.turn.is_none() {
            self.turn = Some(self.writers.clone().lock_owned().await);
        }
        let batch = self.answer.take().unwrap_or_default();
        let answer = match self.worker.exchange(batch) {
            true => self.answers.recv().await,
            false => None,
        };
        let answer = answer.ok_or_else(|| SessionError::lost("its thread is gone"))?;
        if !answer.in_transaction() {
            self.turn = None;
        }
        let answer = self.answer.insert(answer);
        match answer.take_error() {
            Some(error) => Err(error),
            None => Ok(answer),
        }
    }

    fn answer(&self) -> &Answer {
        self.answer.as_deref().unwrap_or(&self.nothing)
    }

    fn in_transaction(&self) -> bool {
        self.answer().in_transaction()
    }

    async fn roll_back(&mut self) -> Result<(), SessionError> {
        let undone = self.worker.call(|connection| {
            let undone = match connection.is_autocommit() {
                true => Ok(()),
                false => connection.execute_batch("ROLLBACK"),
            };
            undone.map_err(|e| super::failure::session_error(&e))
        });
        let undone = undone.await;
        undone.unwrap_or_else(|_| Err(SessionError::lost("its thread is gone")))?;
        self.batch().end_transaction();
        self.turn = None;
        Ok(())
    }

    async fn close(self) {}
}
