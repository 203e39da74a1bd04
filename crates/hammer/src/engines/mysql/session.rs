//! A session of a virtual user: prepared statements, sent in batches.
//!
//! The server does not skip what comes behind an error, as PostgreSQL does: it would do the rest outside of
//! the transaction, and commit it. So no statement that may change rows, and no COMMIT, is sent before the
//! statements before it have succeeded. What may be sent together: the beginning of a transaction and its
//! first statement, a statement and the reads behind it, and all of a transaction that only reads.

use super::answer::Answer;
use super::client::{read_prepared, Client};
use super::message::{EXECUTE, PREPARE, QUERY, QUIT};
use super::packet::put_packet;
use super::params::Params;
use crate::engines::network::Stream;
use crate::engines::{self, Access, Batch, SessionError, Statement};

/// No cursor, once.
pub(super) const EXECUTE_ONCE: [u8; 5] = [0, 1, 0, 0, 0];

/// A statement on the server.
#[derive(Debug, Clone, Copy)]
struct Prepared {
    id: u32,
    params: u16,
    /// Whether it changes nothing.
    reads: bool,
}

/// A command of a batch.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Where its bytes end.
    end: usize,
    /// The number of the first packet of its answer.
    answer_number: u8,
    /// Whether it may be sent before the answer to the one before.
    follows: bool,
}

/// One connection with its prepared statements and its buffers.
pub struct Session {
    stream: Stream,
    /// Whether rows end as those of older servers do.
    eof_packets: bool,
    answer: Answer,
    out: Vec<u8>,
    steps: Vec<Step>,
    statements: Vec<Prepared>,
    batch: Batch,
    /// What the transaction that was begun last may do.
    access: Access,
}

impl Session {
    /// Takes a connection that is ready.
    pub(super) fn new(client: Client) -> Self {
        let (stream, eof_packets) = client.into_parts();
        Session {
            stream,
            eof_packets,
            answer: Answer::default(),
            out: Vec::with_capacity(2048),
            steps: Vec::with_capacity(64),
            statements: Vec::new(),
            batch: Batch::Middle,
            access: Access::Write,
        }
    }

    fn command(&mut self, follows: bool, write: impl FnOnce(&mut Vec<u8>)) {
        let answer_number = put_packet(&mut self.out, 0, write);
        self.steps.push(Step {
            end: self.out.len(),
            answer_number,
            follows,
        });
    }

    fn text(&mut self, follows: bool, sql: &str) {
        self.command(follows, |out| {
            out.push(QUERY);
            out.extend_from_slice(sql.as_bytes());
        });
    }

    /// Sends the commands from a place on and reads their answers, in as few waits as may be.
    async fn send_from(&mut self, first: usize) -> Result<(), SessionError> {
        let mut next = first;
        while next < self.steps.len() {
            let start = next.checked_sub(1).map_or(0, |at| self.steps[at].end);
            let more = self.steps[next + 1..].iter();
            let end = next + 1 + more.take_while(|step| step.follows).count();
            let bytes = &self.out[start..self.steps[end - 1].end];
            self.stream.send(bytes).await?;
            for step in &self.steps[next..end] {
                let number = step.answer_number;
                let read = self
                    .answer
                    .read_step(&mut self.stream, number, self.eof_packets);
                read.await?;
            }
            if let Some(error) = self.answer.take_error() {
                return Err(error.into());
            }
            next = end;
        }
        Ok(())
    }

    /// Sends one command that is text.
    async fn perform(&mut self, sql: &str) -> Result<(), SessionError> {
        self.out.clear();
        self.steps.clear();
        self.text(false, sql);
        self.answer.begin(0);
        self.send_from(0).await
    }

    /// After an error what is left of the transaction is undone: some errors undo it all, some the statement
    /// alone, and no error says which.
    async fn undo(&mut self, error: SessionError) -> SessionError {
        if error.is_lost() {
            return error;
        }
        match self.perform("ROLLBACK").await {
            Ok(()) => error,
            Err(e) => SessionError::lost(e),
        }
    }
}

impl engines::Session for Session {
    type Params<'a> = Params<'a>;
    type Answer = Answer;

    async fn prepare(&mut self, texts: &[&str]) -> Result<Vec<Statement>, SessionError> {
        self.out.clear();
        self.steps.clear();
        self.answer.begin(0);
        for sql in texts {
            self.command(true, |out| {
                out.push(PREPARE);
                out.extend_from_slice(sql.as_bytes());
            });
        }
        self.stream.send(&self.out).await?;
        let first = self.statements.len() as u16;
        let mut failed = None;
        for (step, sql) in self.steps.iter().zip(texts) {
            let incoming = &mut self.answer.incoming;
            incoming.expect(step.answer_number);
            let prepared = read_prepared(&mut self.stream, incoming, self.eof_packets);
            match prepared.await? {
                Ok((id, params)) => self.statements.push(Prepared {
                    id,
                    params,
                    reads: only_reads(sql),
                }),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error.into()),
            None => Ok((first..self.statements.len() as u16)
                .map(Statement::numbered)
                .collect()),
        }
    }

    async fn roll_back(&mut self) -> Result<(), SessionError> {
        self.perform("ROLLBACK").await
    }

    /// What begins the transaction comes first, and is left out where a statement is alone.
    fn start(&mut self, batch: Batch) {
        self.out.clear();
        self.steps.clear();
        self.batch = batch;
        if let Batch::Whole(access) | Batch::First(access) = batch {
            self.access = access;
            let begin = match access {
                Access::Read => "START TRANSACTION READ ONLY",
                Access::Write => "BEGIN",
            };
            self.text(false, begin);
        }
    }

    fn queue(&mut self, statement: Statement, write: impl FnOnce(&mut Params<'_>)) {
        let statement = self.statements[usize::from(statement.number())];
        let begins = matches!(self.batch, Batch::Whole(_) | Batch::First(_));
        let follows = match self.steps.len() {
            0 => false,
            1 if begins => true,
            _ => statement.reads || self.access == Access::Read,
        };
        self.command(follows, |out| {
            out.push(EXECUTE);
            out.extend_from_slice(&statement.id.to_le_bytes());
            out.extend_from_slice(&EXECUTE_ONCE);
            let mut params = Params::new(out, statement.params);
            write(&mut params);
            debug_assert!(params.complete(), "a statement has more parameters");
        });
    }

    async fn exchange(&mut self) -> Result<&Answer, SessionError> {
        let whole = matches!(self.batch, Batch::Whole(_));
        let alone = whole && self.steps.len() == 2;
        if (whole && !alone) || self.batch == Batch::Last {
            self.text(self.access == Access::Read, "COMMIT");
        }
        let begins = (whole && !alone) || matches!(self.batch, Batch::First(_));
        self.answer.begin(begins.into());
        match self.send_from(alone.into()).await {
            Ok(()) => Ok(&self.answer),
            Err(error) => Err(self.undo(error).await),
        }
    }

    fn answer(&self) -> &Answer {
        &self.answer
    }

    fn in_transaction(&self) -> bool {
        self.answer.in_transaction()
    }

    async fn close(mut self) {
        // A connection that is gone needs no goodbye.
        let _ = self.stream.send(&[1, 0, 0, 0, QUIT]).await;
        self.stream.close().await;
    }
}

/// Whether a statement changes nothing, as its first word says.
fn only_reads(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or_default();
    word.eq_ignore_ascii_case("select")
}
