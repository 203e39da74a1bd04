//! A session of a virtual user: prepared statements, sent in batches.
//!
//! The server does not skip what comes behind an error, as PostgreSQL does: it would do the rest outside of
//! the transaction, and commit it. So no statement that may change rows, and no COMMIT, is sent before the
//! statements before it have succeeded. What may be sent together: the beginning of a transaction and its
//! first statement, a statement and the reads behind it (its own second part is often one), and all of a
//! transaction that only reads.

use super::answer::Answer;
use super::client::{read_prepared, Client};
use super::message::{EXECUTE, PREPARE, QUERY, QUIT};
use super::packet::put_packet;
use super::params::Params;
use super::text::{self, Part};
use crate::engines::network::Stream;
use crate::engines::{self, Access, Batch, SessionError, Statement};

/// No cursor, once.
pub(super) const EXECUTE_ONCE: [u8; 5] = [0, 1, 0, 0, 0];

/// One part of a statement, on the server.
#[derive(Debug)]
struct Prepared {
    id: u32,
    /// The parameter of each placeholder.
    numbers: Vec<u16>,
    /// Whether it changes nothing.
    reads: bool,
    /// Whether it is the first part.
    begins: bool,
}

impl Prepared {
    fn write_to(&self, out: &mut Vec<u8>, params: &Params) {
        out.push(EXECUTE);
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&EXECUTE_ONCE);
        params.write_to(out, &self.numbers);
    }
}

/// A command of a batch.
#[derive(Debug, Clone, Copy)]
struct Command {
    /// Where its bytes end.
    end: usize,
    /// The number of the first packet of its answer.
    answer_number: u8,
    /// Whether it may be sent before the answer to the one before.
    follows: bool,
    /// Whether it is the first of its step.
    begins: bool,
}

/// One connection with its prepared statements and its buffers.
pub struct Session {
    stream: Stream,
    /// Whether rows end as those of older servers do.
    eof_packets: bool,
    answer: Answer,
    out: Vec<u8>,
    commands: Vec<Command>,
    params: Params,
    /// The parts of each statement.
    statements: Vec<Vec<Prepared>>,
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
            commands: Vec::with_capacity(64),
            params: Params::default(),
            statements: Vec::new(),
            batch: Batch::Middle,
            access: Access::Write,
        }
    }

    fn command(&mut self, follows: bool, write: impl FnOnce(&mut Vec<u8>)) {
        let answer_number = put_packet(&mut self.out, 0, write);
        self.commands.push(Command {
            end: self.out.len(),
            answer_number,
            follows,
            begins: true,
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
        while next < self.commands.len() {
            let start = next.checked_sub(1).map_or(0, |at| self.commands[at].end);
            let more = self.commands[next + 1..].iter();
            let end = next + 1 + more.take_while(|command| command.follows).count();
            let bytes = &self.out[start..self.commands[end - 1].end];
            self.stream.send(bytes).await?;
            for command in &self.commands[next..end] {
                let (number, begins) = (command.answer_number, command.begins);
                let stream = &mut self.stream;
                let answer = &mut self.answer;
                let read = answer.read_command(stream, number, begins, self.eof_packets);
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
        self.commands.clear();
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
    type Params<'a> = Params;
    type Answer = Answer;

    async fn prepare(&mut self, texts: &[&str]) -> Result<Vec<Statement>, SessionError> {
        self.out.clear();
        self.commands.clear();
        self.answer.begin(0);
        let statements: Vec<Vec<Part>> = texts.iter().map(|text| text::parts(text)).collect();
        for part in statements.iter().flatten() {
            self.command(true, |out| {
                out.push(PREPARE);
                out.extend_from_slice(part.sql.as_bytes());
            });
        }
        self.stream.send(&self.out).await?;
        let first = self.statements.len() as u16;
        let mut failed = None;
        let mut commands = self.commands.iter();
        for parts in statements {
            let mut prepared = Vec::with_capacity(parts.len());
            for (part, command) in parts.into_iter().zip(&mut commands) {
                let incoming = &mut self.answer.incoming;
                incoming.expect(command.answer_number);
                let read = read_prepared(&mut self.stream, incoming, self.eof_packets);
                match read.await? {
                    Ok((id, _)) => prepared.push(Prepared {
                        id,
                        numbers: part.numbers,
                        reads: part.reads,
                        begins: prepared.is_empty(),
                    }),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            self.statements.push(prepared);
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
        self.commands.clear();
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

    fn queue(&mut self, statement: Statement, write: impl FnOnce(&mut Params)) {
        self.params.clear();
        write(&mut self.params);
        let begins = matches!(self.batch, Batch::Whole(_) | Batch::First(_));
        for part in &self.statements[usize::from(statement.number())] {
            let follows = match self.commands.len() {
                0 => false,
                1 if begins => true,
                _ => part.reads || self.access == Access::Read,
            };
            let params = &self.params;
            let answer_number = put_packet(&mut self.out, 0, |out| part.write_to(out, params));
            self.commands.push(Command {
                end: self.out.len(),
                answer_number,
                follows,
                begins: part.begins,
            });
        }
    }

    async fn exchange(&mut self) -> Result<&Answer, SessionError> {
        let whole = matches!(self.batch, Batch::Whole(_));
        let alone = whole && self.commands.len() == 2;
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

    fn shares_cpus(&self) -> bool {
        self.stream.shares_cpus()
    }

    async fn close(mut self) {
        // A connection that is gone needs no goodbye.
        let _ = self.stream.send(&[1, 0, 0, 0, QUIT]).await;
        self.stream.close().await;
    }
}
