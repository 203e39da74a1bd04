//! A session of a virtual user: prepared statements, sent in batches, answered in one wait.
//!
//! Why not tokio-postgres here, which loading and checking use: each of its requests passes a channel
//! to another task and back. A batch here is one write and, mostly, one read, in the user's own task,
//! in buffers that are kept. Eight users reading single rows, one thread, side by side: 5.6 µs of CPU a
//! round trip with tokio-postgres (its connection in a task of its own or in the same one), 4.2 µs so,
//! 4.6 µs for pgbench.

use bytes::BufMut;

use super::answer::Answer;
use super::failure::NotOpened;
use super::open::open_and;
use super::params::Params;
use super::startup::{self, Setting};
use super::Target;
use crate::engines::network::{Stream, Unreached};
use crate::engines::{self, Batch, SessionError, Statement};

/// What every session prepares before all else.
const BEGIN: Statement = Statement::numbered(0);
const COMMIT: Statement = Statement::numbered(1);

/// Execute the unnamed portal without a limit on rows.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// The end of a bind: one format for all columns, binary.
const BINARY_COLUMNS: &[u8] = &[0, 1, 0, 1];
/// Where the head of a bind has the number of parameters, its end.
const COUNT_AT: usize = 14;

/// One connection with its prepared statements and its buffers.
pub struct Session {
    stream: Stream,
    out: Vec<u8>,
    answer: Answer,
    statements: u16,
    queued: u16,
    batch: Batch,
}

impl Session {
    /// Connects, authenticates and applies `settings`.
    pub(super) async fn open(target: &Target, settings: &[Setting]) -> Result<Self, NotOpened> {
        open_and(target, |opened| async move {
            let starting = startup::start(opened, &target.config, settings);
            let started = tokio::time::timeout(target.patience, starting).await;
            Ok(Session {
                stream: started.unwrap_or(Err(Unreached::Silent(target.patience).into()))?,
                out: Vec::with_capacity(2048),
                answer: Answer::default(),
                statements: 0,
                queued: 0,
                batch: Batch::Middle,
            })
        })
        .await
    }

    fn put_parse(&mut self, sql: &str) -> Statement {
        let statement = Statement::numbered(self.statements);
        self.statements += 1;
        self.message(b'P', |out| {
            out.put_slice(&name(statement));
            out.put_u8(0);
            out.put_slice(sql.as_bytes());
            // The end of the text; types of parameters are left to the server.
            out.put_slice(&[0, 0, 0]);
        });
        statement
    }

    /// Begins a bind of the unnamed portal, whose parameters are binary; gives its place. Apart from what writes
    /// them, of which each statement has its own.
    #[inline(never)]
    fn begin_bind(&mut self, statement: Statement) -> usize {
        let at = self.out.len();
        let [a, b, c] = name(statement);
        let head = [b'B', 0, 0, 0, 0, 0, a, b, c, 0, 0, 1, 0, 1, 0, 0];
        self.out.put_slice(&head);
        at
    }

    /// Ends the bind at a place, of so many parameters, and has it executed.
    #[inline(never)]
    fn end_bind(&mut self, at: usize, count: u16) {
        self.out.put_slice(BINARY_COLUMNS);
        let length = (self.out.len() - at - 1) as u32;
        self.out[at + 1..at + 5].copy_from_slice(&length.to_be_bytes());
        self.out[at + COUNT_AT..at + COUNT_AT + 2].copy_from_slice(&count.to_be_bytes());
        self.out.put_slice(EXECUTE);
        self.queued += 1;
    }

    fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.out.put_u8(tag);
        let at = self.out.len();
        self.out.put_u32(0);
        body(&mut self.out);
        let length = (self.out.len() - at) as u32;
        self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

impl engines::Session for Session {
    type Params<'a> = Params<'a>;
    type Answer = Answer;

    async fn prepare(&mut self, texts: &[&str]) -> Result<Vec<Statement>, SessionError> {
        self.start(Batch::Middle);
        if self.statements == 0 {
            assert_eq!(BEGIN, self.put_parse("BEGIN"));
            assert_eq!(COMMIT, self.put_parse("COMMIT"));
        }
        let prepared = texts.iter().map(|sql| self.put_parse(sql)).collect();
        self.exchange().await?;
        Ok(prepared)
    }

    async fn roll_back(&mut self) -> Result<(), SessionError> {
        self.start(Batch::Middle);
        // Parse, bind and execute of the unnamed statement, as this is rare.
        self.message(b'P', |out| out.put_slice(b"\0ROLLBACK\0\0\0"));
        self.message(b'B', |out| out.put_slice(&[0; 8]));
        self.out.put_slice(EXECUTE);
        self.exchange().await.map(|_| ())
    }

    /// Without a transaction block, all messages up to the next `Sync` are one transaction.
    fn start(&mut self, batch: Batch) {
        self.batch = batch;
        if let Batch::First(_) = batch {
            self.queue(BEGIN, |_| {});
        }
    }

    /// Parameters and results are in binary format.
    fn queue(&mut self, statement: Statement, write: impl FnOnce(&mut Params<'_>)) {
        let at = self.begin_bind(statement);
        let mut params = Params::new(&mut self.out);
        write(&mut params);
        let count = params.count();
        self.end_bind(at, count);
    }

    async fn exchange(&mut self) -> Result<&Answer, SessionError> {
        if self.batch == Batch::Last {
            self.queue(COMMIT, |_| {});
        }
        self.out.put_slice(b"S\0\0\0\x04");
        let sent = self.stream.send(&self.out).await;
        self.out.clear();
        let before = matches!(self.batch, Batch::First(_)).into();
        self.answer.begin(std::mem::take(&mut self.queued), before);
        sent?;
        while !self.answer.read_messages()? {
            self.stream.receive(self.answer.input()).await?;
        }
        match self.answer.take_error() {
            Some(error) => Err(error.into()),
            None => Ok(&self.answer),
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
        let _ = self.stream.send(b"X\0\0\0\x04").await;
        self.stream.close().await;
    }
}

/// A statement's name on the server: its number in letters.
fn name(statement: Statement) -> [u8; 3] {
    let [high, low] = statement.number().to_be_bytes();
    [b'A' + high, b'A' + (low >> 4), b'A' + (low & 15)]
}
