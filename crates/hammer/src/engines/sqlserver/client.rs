//! A connection that does one thing at a time.

use std::io;
use std::time::Duration;

use super::answer::{Answer, Outcome};
use super::column::Collation;
use super::packet::{kind, put_message, put_packet, put_wide, HEAD_BYTES};
use super::params::{put_declaration, put_text, put_unnamed, Params};
use super::reply::{Event, ServerError};
use super::value::Row;
use crate::engines::network::{self, not_understood, within, Stream};
use crate::engines::Value;

/// Numbers of the procedures that prepare and execute statements.
pub(super) mod procedure {
    pub(in super::super) const EXECUTE_TEXT: u16 = 10;
    pub(in super::super) const EXECUTE: u16 = 12;
    pub(in super::super) const PREPARE_AND_EXECUTE: u16 = 13;
}

/// What is asked of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transaction {
    Begin,
    Commit,
    RollBack,
}

/// How long the answer to a request to cancel is waited for.
const CANCEL_PATIENCE: Duration = Duration::from_secs(10);

/// Why a request has no answer.
pub(super) type Failed = network::Failed<ServerError>;

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// A request was sent in part.
    Sending,
    /// Its answer was not read to the end.
    Waiting,
}

/// An open connection.
pub(super) struct Client {
    stream: Stream,
    packet_bytes: usize,
    /// The message that is being made.
    payload: Vec<u8>,
    packets: Vec<u8>,
    /// The number of the next packet of a message that is sent piece by piece.
    number: u8,
    pub(super) answer: Answer,
    state: State,
}

impl Client {
    /// Takes a stream on which a login was sent.
    pub(super) fn new(stream: Stream, packet_bytes: usize) -> Self {
        Client {
            stream,
            packet_bytes,
            payload: Vec::new(),
            packets: Vec::new(),
            number: 1,
            answer: Answer::default(),
            state: State::Waiting,
        }
    }

    /// Whether an answer was not waited for.
    pub(super) fn is_busy(&self) -> bool {
        self.state != State::Idle
    }

    pub(super) fn in_transaction(&self) -> bool {
        self.answer.reply.environment.transaction != 0
    }

    pub(super) fn collation(&self) -> Collation {
        self.answer.reply.environment.collation
    }

    /// Reads the answer to the login.
    pub(super) async fn finish_login(&mut self) -> Result<(), Failed> {
        let mut let_in = false;
        let failed = loop {
            match self.answer.reply.next(&mut self.stream).await? {
                Event::LoggedIn => let_in = true,
                Event::Error(error) if !let_in => break error,
                Event::End if let_in => {
                    self.state = State::Idle;
                    match self.answer.reply.environment.packet_bytes {
                        0 => {}
                        bytes => self.packet_bytes = bytes.max(2 * HEAD_BYTES),
                    }
                    return Ok(());
                }
                Event::End => return Err(not_understood().into()),
                _ => {}
            }
        };
        Err(Failed::Refused(failed))
    }

    /// The message that is made next, up to what all requests begin with.
    pub(super) fn start_request(&mut self) -> &mut Vec<u8> {
        const HEADERS_BYTES: u32 = 22;
        const TRANSACTION: u16 = 2;
        const REQUESTS: u32 = 1;
        let transaction = self.answer.reply.environment.transaction;
        let out = &mut self.payload;
        out.clear();
        out.extend_from_slice(&HEADERS_BYTES.to_le_bytes());
        out.extend_from_slice(&(HEADERS_BYTES - 4).to_le_bytes());
        out.extend_from_slice(&TRANSACTION.to_le_bytes());
        out.extend_from_slice(&transaction.to_le_bytes());
        out.extend_from_slice(&REQUESTS.to_le_bytes());
        out
    }

    /// Sends the message that was made.
    async fn send(&mut self, kind: u8) -> io::Result<()> {
        self.start_sending()?;
        put_message(&mut self.packets, kind, &self.payload, self.packet_bytes);
        self.finish_sending().await
    }

    fn start_sending(&mut self) -> io::Result<()> {
        if self.is_busy() {
            let text = "an answer was not waited for";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, text));
        }
        self.state = State::Sending;
        self.packets.clear();
        Ok(())
    }

    async fn finish_sending(&mut self) -> io::Result<()> {
        self.answer.reply.incoming.expect();
        self.stream.send(&self.packets).await?;
        self.state = State::Waiting;
        Ok(())
    }

    /// Sends the calls that were made, and adds their answers to the batch's.
    pub(super) async fn call(&mut self) -> io::Result<Outcome> {
        self.send(kind::CALL).await?;
        let outcome = self.answer.read_calls(&mut self.stream).await?;
        self.state = State::Idle;
        Ok(outcome)
    }

    /// Begins or ends a transaction.
    pub(super) async fn perform(&mut self, what: Transaction) -> Result<(), Failed> {
        let payload = self.start_request();
        match what {
            // Its isolation is the session's, and it has no name.
            Transaction::Begin => payload.extend_from_slice(&[5, 0, 0, 0]),
            // No name, and no other one begins.
            Transaction::Commit => payload.extend_from_slice(&[7, 0, 0, 0]),
            Transaction::RollBack => payload.extend_from_slice(&[8, 0, 0, 0]),
        }
        self.send(kind::TRANSACTION).await?;
        self.read_to_end(|_| ()).await
    }

    /// Executes a batch of statements; rows are not looked at.
    pub(super) async fn execute(&mut self, sql: &str) -> Result<(), Failed> {
        self.answer.begin();
        put_wide(self.start_request(), sql);
        self.send(kind::TEXT).await?;
        self.read_to_end(|_| ()).await
    }

    /// Executes one statement with parameters, and hands over the rows of its first result.
    pub(super) async fn query(
        &mut self,
        sql: &str,
        values: &[Value],
        take: impl FnMut(Row<'_>),
    ) -> Result<(), Failed> {
        self.answer.begin();
        let collation = self.collation();
        let params = Params::of(values, collation);
        let payload = self.start_request();
        put_procedure(payload, procedure::EXECUTE_TEXT);
        put_unnamed(payload);
        put_text(payload, sql, collation);
        if !values.is_empty() {
            put_unnamed(payload);
            put_declaration(payload, params.kinds(0..params.count()), collation);
        }
        (0..params.count()).for_each(|number| params.write_to(payload, number));
        self.send(kind::CALL).await?;
        self.read_to_end(take).await
    }

    /// Notes to people and the results of all statements, up to the end: a server stops what nobody listens to.
    async fn read_to_end(&mut self, mut take: impl FnMut(Row<'_>)) -> Result<(), Failed> {
        let mut results = 0;
        let mut failed = None;
        loop {
            let reply = &mut self.answer.reply;
            match reply.next(&mut self.stream).await? {
                Event::Columns => results += 1,
                Event::Row => {
                    if results == 1 {
                        let count = reply.columns.len() - reply.columns_at;
                        take(Row::of(reply, reply.columns_at, 0, count));
                    }
                    reply.forget_rows();
                }
                Event::Error(error) => failed = failed.or(Some(error)),
                Event::End => break,
                _ => {}
            }
        }
        self.state = State::Idle;
        failed.map_or(Ok(()), |error| Err(Failed::Refused(error)))
    }

    /// Asks the server to cancel what is under way. Where the request was not sent whole, or nothing answers,
    /// the connection is of no more use.
    pub(super) async fn cancel(&mut self) -> io::Result<()> {
        if self.state != State::Waiting {
            return Ok(());
        }
        self.packets.clear();
        put_packet(&mut self.packets, kind::ATTENTION, 1, &[], true);
        self.stream.send(&self.packets).await?;
        let answered = within(CANCEL_PATIENCE, self.read_cancelled()).await;
        answered.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }

    /// The rest of the answer, and the one to the request, which may be a message of its own.
    async fn read_cancelled(&mut self) -> io::Result<()> {
        let reply = &mut self.answer.reply;
        let mut cancelled = false;
        loop {
            match reply.next(&mut self.stream).await? {
                Event::Done(done) => cancelled |= done.cancelled,
                Event::End if cancelled => break,
                Event::End => reply.incoming.expect(),
                _ => reply.forget_rows(),
            }
        }
        self.state = State::Idle;
        Ok(())
    }

    /// Begins a message of rows, which [`Client::send_rows`] goes on with.
    pub(super) fn start_rows(&mut self) -> io::Result<()> {
        self.answer.begin();
        self.payload.clear();
        self.number = 1;
        self.start_sending()
    }

    /// Sends as many whole packets of rows as there are.
    pub(super) async fn send_rows(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.payload.extend_from_slice(bytes);
        self.packets.clear();
        let piece_bytes = self.packet_bytes - HEAD_BYTES;
        let mut rest = &self.payload[..];
        while let Some((piece, more)) = rest.split_at_checked(piece_bytes) {
            put_packet(&mut self.packets, kind::ROWS, self.number, piece, false);
            (self.number, rest) = (self.number.wrapping_add(1), more);
        }
        let sent = self.payload.len() - rest.len();
        self.payload.drain(..sent);
        self.stream.send(&self.packets).await
    }

    /// Ends the rows, and waits until they are stored.
    pub(super) async fn finish_rows(&mut self) -> Result<(), Failed> {
        self.packets.clear();
        put_packet(
            &mut self.packets,
            kind::ROWS,
            self.number,
            &self.payload,
            true,
        );
        self.finish_sending().await?;
        self.read_to_end(|_| ()).await
    }

    /// Ends the sending half; what is under way is undone.
    pub(super) async fn close(mut self) {
        self.stream.close().await;
    }
}

/// Begins a call of one of the server's own procedures.
pub(super) fn put_procedure(out: &mut Vec<u8>, number: u16) {
    const BY_NUMBER: u16 = 0xFFFF;
    out.extend_from_slice(&BY_NUMBER.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    put_no_options(out);
}

/// Begins a call of a procedure by its name.
pub(super) fn put_name(out: &mut Vec<u8>, name: &str) {
    let units = name.encode_utf16().count();
    out.extend_from_slice(&(units as u16).to_le_bytes());
    put_wide(out, name);
    put_no_options(out);
}

fn put_no_options(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}
