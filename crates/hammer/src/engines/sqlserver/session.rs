//! A session of a virtual user: statements that are prepared when they are first executed, because the types
//! of their parameters are known then, and calls of procedures.
//!
//! A server does the rest of a message behind an error. So no statement that may change rows, and no COMMIT, is
//! sent before the statements before it have succeeded. Reads are sent together with what stands before them.

use std::ops::Range;

use super::answer::Answer;
use super::client::{procedure, put_name, put_procedure, Client, Failed, Transaction};
use super::params::{put_declaration, put_integer, put_text, put_unnamed, Kind, Params};
use super::reply::ServerError;
use super::statement::Text;
use crate::engines::{self, Batch, SessionError, Statement};

/// Parts two calls in one message.
const NEXT_CALL: u8 = 0xFF;
/// A parameter that comes back.
const BY_REFERENCE: u8 = 1;
/// What a call of a procedure that is not there is answered.
const NO_SUCH_PROCEDURE: i32 = 2812;

/// A statement, and the server's number of it for each list of types that it was executed with.
#[derive(Debug)]
struct Prepared {
    text: Text,
    handles: Vec<(Vec<Kind>, i32)>,
}

impl Prepared {
    fn handle(&self, kinds: &[Kind]) -> Option<i32> {
        let mut handles = self.handles.iter();
        let (_, handle) = handles.find(|(of, _)| of == kinds)?;
        Some(*handle)
    }
}

/// A statement of a batch, with its parameters.
#[derive(Debug, Clone)]
struct Command {
    statement: usize,
    params: Range<usize>,
}

/// One connection with its prepared statements and its buffers.
pub struct Session {
    client: Client,
    statements: Vec<Prepared>,
    commands: Vec<Command>,
    params: Params,
    batch: Batch,
}

impl Session {
    /// Takes a connection that is ready.
    pub(super) fn new(client: Client) -> Self {
        Session {
            params: Params::new(client.collation()),
            client,
            statements: Vec::new(),
            commands: Vec::with_capacity(64),
            batch: Batch::Middle,
        }
    }

    /// Whether the batch is one transaction without being told.
    fn is_alone(&self) -> bool {
        match &self.commands[..] {
            [command] => {
                let statement = &self.statements[command.statement];
                matches!(self.batch, Batch::Whole(_)) && statement.text.whole
            }
            _ => false,
        }
    }

    /// Makes the message of the commands that are sent together from a place on, and tells where they end: one,
    /// and the reads behind it. A call ends in a way of its own, and a statement that is prepared gives its number
    /// first: so these are alone, and a read behind others has its number.
    fn write_calls(&mut self, first: usize) -> usize {
        let collation = self.client.collation();
        let out = self.client.start_request();
        let mut end = first;
        for command in &self.commands[first..] {
            let statement = &self.statements[command.statement];
            let text = &statement.text;
            let kinds = self.params.kinds(command.params.clone());
            let handle = statement.handle(kinds);
            if end > first {
                if !text.reads || handle.is_none() {
                    break;
                }
                out.push(NEXT_CALL);
            }
            end += 1;
            match (&text.call, handle) {
                (Some((name, places)), _) => {
                    put_name(out, name);
                    for place in places {
                        self.params.write_to(out, command.params.start + place);
                    }
                    break;
                }
                (None, Some(handle)) => {
                    put_procedure(out, procedure::EXECUTE);
                    put_unnamed(out);
                    put_integer(out, &handle.to_le_bytes());
                }
                (None, None) => {
                    put_procedure(out, procedure::PREPARE_AND_EXECUTE);
                    // A number without a value yet.
                    out.extend_from_slice(&[0, BY_REFERENCE, super::column::kind::INT_N, 4, 0]);
                    put_unnamed(out);
                    put_declaration(out, kinds, collation);
                    put_unnamed(out);
                    put_text(out, &text.sql, collation);
                }
            }
            let params = command.params.clone();
            params.for_each(|number| self.params.write_to(out, number));
            if handle.is_none() {
                break;
            }
        }
        end
    }

    /// Sends the commands in as few waits as may be.
    async fn send_commands(&mut self) -> Result<(), Failed> {
        let mut next = 0;
        while next < self.commands.len() {
            let end = self.write_calls(next);
            let outcome = self.client.call().await?;
            if let Some(handle) = outcome.handle.filter(|handle| *handle != 0) {
                let Command { statement, params } = self.commands[next].clone();
                let kinds = self.params.kinds(params).to_vec();
                self.statements[statement].handles.push((kinds, handle));
            }
            if let Some(error) = outcome.error {
                return Err(Failed::Refused(error));
            }
            next = end;
        }
        Ok(())
    }

    async fn perform_batch(&mut self) -> Result<(), Failed> {
        let whole = matches!(self.batch, Batch::Whole(_)) && !self.is_alone();
        if whole || matches!(self.batch, Batch::First(_)) {
            self.client.perform(Transaction::Begin).await?;
        }
        self.send_commands().await?;
        if whole || self.batch == Batch::Last {
            self.client.perform(Transaction::Commit).await?;
        }
        Ok(())
    }

    /// Refuses calls of procedures that are not there, before the first of them is counted.
    async fn require_procedures(&mut self) -> Result<(), Failed> {
        let calls = self
            .statements
            .iter()
            .filter_map(|statement| statement.text.call.as_ref());
        let names: Vec<String> = calls.map(|(name, _)| name.clone()).collect();
        for name in names {
            let value = engines::Value::Text(name.clone());
            let mut present = false;
            let take = |row: super::value::Row<'_>| {
                present = engines::Row::integer(&row, 0).is_some();
            };
            self.client
                .query("SELECT OBJECT_ID(@p1)", &[value], take)
                .await?;
            if !present {
                let text = format!("there is no procedure {name}, or it may not be called");
                return Err(Failed::Refused(ServerError {
                    number: NO_SUCH_PROCEDURE,
                    ..ServerError::made(text)
                }));
            }
        }
        Ok(())
    }
}

impl engines::Session for Session {
    type Params<'a> = Params;
    type Answer = Answer;

    async fn prepare(&mut self, texts: &[&str]) -> Result<Vec<Statement>, SessionError> {
        let first = self.statements.len() as u16;
        self.statements.extend(texts.iter().map(|text| Prepared {
            text: Text::read(text),
            handles: Vec::new(),
        }));
        self.require_procedures().await?;
        let numbers = first..self.statements.len() as u16;
        Ok(numbers.map(Statement::numbered).collect())
    }

    fn start(&mut self, batch: Batch) {
        self.commands.clear();
        self.params.clear();
        self.batch = batch;
    }

    fn queue(&mut self, statement: Statement, write: impl FnOnce(&mut Params)) {
        let start = self.params.count();
        write(&mut self.params);
        self.commands.push(Command {
            statement: statement.number().into(),
            params: start..self.params.count(),
        });
    }

    async fn exchange(&mut self) -> Result<&Answer, SessionError> {
        self.client.answer.begin();
        let failed = match self.perform_batch().await {
            Ok(()) => return Ok(&self.client.answer),
            Err(failed) => SessionError::from(failed),
        };
        // Most errors have undone the transaction already.
        match self.roll_back().await {
            Err(e) if !failed.is_lost() => Err(SessionError::lost(e)),
            _ => Err(failed),
        }
    }

    fn answer(&self) -> &Answer {
        &self.client.answer
    }

    fn in_transaction(&self) -> bool {
        self.client.in_transaction()
    }

    async fn roll_back(&mut self) -> Result<(), SessionError> {
        match self.client.in_transaction() {
            true => Ok(self.client.perform(Transaction::RollBack).await?),
            false => Ok(()),
        }
    }

    async fn close(self) {
        self.client.close().await;
    }
}
