//! A connection that does one thing at a time: what sessions begin with, and what is asked once.

use std::io;

use super::message::{
    Column, Completion, ServerError, ASKS_FOR_FILE, CLOSE_STATEMENT, END, ERROR, EXECUTE, OK,
    PREPARE, QUERY,
};
use super::packet::{put_packet, Fields, Incoming};
use super::params::Params;
use super::text;
use super::value::Row;
use crate::engines::network::{self, not_understood, Stream};
use crate::engines::Value;

/// Rows on their way to the server are cut into packets of so many bytes.
const FILE_PIECE_BYTES: usize = 1 << 20;

/// Why a command has no answer.
pub(super) type Failed = network::Failed<ServerError>;

/// An open connection.
pub(super) struct Client {
    stream: Stream,
    incoming: Incoming,
    out: Vec<u8>,
    /// Whether rows end as those of older servers do.
    eof_packets: bool,
    /// Its number on the server.
    pub(super) thread: u32,
    pub(super) mariadb: bool,
    /// Whether a command is under way; still so where nobody waited for its answer.
    pub(super) busy: bool,
}

impl Client {
    pub(super) fn new(
        stream: Stream,
        incoming: Incoming,
        eof_packets: bool,
        thread: u32,
        mariadb: bool,
    ) -> Self {
        Client {
            stream,
            incoming,
            out: Vec::new(),
            eof_packets,
            thread,
            mariadb,
            busy: false,
        }
    }

    /// What a session goes on with: the stream, and whether rows end as those of older servers do.
    pub(super) fn into_parts(self) -> (Stream, bool) {
        (self.stream, self.eof_packets)
    }

    async fn send(&mut self, command: u8, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Failed> {
        if self.busy {
            let text = "an answer was not waited for";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, text).into());
        }
        self.busy = true;
        self.out.clear();
        let number = put_packet(&mut self.out, 0, |out| {
            out.push(command);
            write(out);
        });
        self.incoming.clear();
        self.incoming.expect(number);
        Ok(self.stream.send(&self.out).await?)
    }

    /// Executes statements, separated by semicolons; rows are not looked at.
    pub(super) async fn execute(&mut self, sql: &str) -> Result<(), Failed> {
        self.send(QUERY, |out| out.extend_from_slice(sql.as_bytes()))
            .await?;
        self.read_results(|_| ()).await.map(|_| ())
    }

    /// Executes one statement with parameters, and hands over the rows of its first result.
    pub(super) async fn query(
        &mut self,
        sql: &str,
        values: &[Value],
        take: impl FnMut(Row<'_>),
    ) -> Result<Completion, Failed> {
        let parts = text::parts(sql);
        let [part] = &parts[..] else {
            let text = "one statement is needed".into();
            return Err(Failed::Refused(ServerError { code: 0, text }));
        };
        self.send(PREPARE, |out| out.extend_from_slice(part.sql.as_bytes()))
            .await?;
        let prepared =
            read_prepared(&mut self.stream, &mut self.incoming, self.eof_packets).await?;
        self.busy = false;
        let (id, count) = prepared.map_err(Failed::Refused)?;
        let (params, numbers) = (Params::of(values), &part.numbers);
        if usize::from(count) != numbers.len() || !params.suffice(numbers) {
            let text = format!("{count} parameters are needed, {} were given", values.len());
            return Err(Failed::Refused(ServerError { code: 0, text }));
        }
        self.send(EXECUTE, |out| {
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&super::session::EXECUTE_ONCE);
            params.write_to(out, numbers);
        })
        .await?;
        let result = self.read_results(take).await;
        if !self.busy {
            self.send(CLOSE_STATEMENT, |out| {
                out.extend_from_slice(&id.to_le_bytes())
            })
            .await?;
            // The server answers nothing.
            self.busy = false;
        }
        result
    }

    /// Asks to load rows; the server is ready to take them.
    pub(super) async fn begin_load(&mut self, sql: &str) -> Result<(), Failed> {
        self.send(QUERY, |out| out.extend_from_slice(sql.as_bytes()))
            .await?;
        let payload = self.incoming.next(&mut self.stream).await?;
        match self.incoming.bytes().get(payload.start) {
            Some(&ASKS_FOR_FILE) => Ok(()),
            Some(&ERROR) => {
                self.busy = false;
                let error = ServerError::read(&self.incoming.bytes()[payload]);
                Err(Failed::Refused(error))
            }
            _ => Err(not_understood().into()),
        }
    }

    /// Sends some of the rows.
    pub(super) async fn send_file(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        for piece in bytes.chunks(FILE_PIECE_BYTES) {
            self.send_piece(piece).await?;
        }
        Ok(())
    }

    async fn send_piece(&mut self, piece: &[u8]) -> Result<(), Failed> {
        self.out.clear();
        let write = |out: &mut Vec<u8>| out.extend_from_slice(piece);
        let number = put_packet(&mut self.out, self.incoming.number(), write);
        self.incoming.expect(number);
        Ok(self.stream.send(&self.out).await?)
    }

    /// Ends the rows, and waits until they are stored.
    pub(super) async fn finish_load(&mut self) -> Result<Completion, Failed> {
        self.send_piece(&[]).await?;
        self.read_results(|_| ()).await
    }

    /// All results of a command; rows of the first one are handed over.
    async fn read_results(&mut self, mut take: impl FnMut(Row<'_>)) -> Result<Completion, Failed> {
        let mut first = true;
        let result = loop {
            let payload = self.incoming.next(&mut self.stream).await?;
            let payload = &self.incoming.bytes()[payload];
            let done = match payload.first() {
                Some(&OK) => Ok(Completion::read(payload)?),
                Some(&ERROR) => Err(Failed::Refused(ServerError::read(payload))),
                None | Some(&ASKS_FOR_FILE) => return Err(not_understood().into()),
                Some(_) => {
                    let columns = Fields(payload).length()?;
                    self.read_rows(columns, |row| {
                        if first {
                            take(row);
                        }
                    })
                    .await?
                }
            };
            first = false;
            match done {
                Ok(done) if done.more_results() => {}
                done => break done,
            }
        };
        self.busy = false;
        result
    }

    /// Rows of a text result have another form; nobody reads them.
    async fn read_rows(
        &mut self,
        count: u64,
        mut take: impl FnMut(Row<'_>),
    ) -> Result<Result<Completion, Failed>, Failed> {
        let mut columns = Vec::new();
        for _ in 0..count {
            let definition = self.incoming.next(&mut self.stream).await?;
            columns.push(Column::read(&self.incoming.bytes()[definition])?);
        }
        if self.eof_packets {
            self.incoming.next(&mut self.stream).await?;
        }
        loop {
            self.incoming.forget_taken();
            let payload = self.incoming.next(&mut self.stream).await?;
            let payload = &self.incoming.bytes()[payload];
            match payload.first() {
                // A text of 16 MiB and more begins so, too.
                Some(&END) if payload.len() < 1 << 24 => {
                    return Ok(Ok(Completion::read_end(payload, self.eof_packets)?));
                }
                Some(&ERROR) => return Ok(Err(Failed::Refused(ServerError::read(payload)))),
                _ => take(Row {
                    columns: &columns,
                    payload,
                }),
            }
        }
    }
}

/// The answer to one PREPARE: the statement's number and how many parameters it has; the definitions of
/// these and of its columns follow.
pub(super) async fn read_prepared(
    stream: &mut Stream,
    incoming: &mut Incoming,
    eof_packets: bool,
) -> io::Result<Result<(u32, u16), ServerError>> {
    let payload = incoming.next(stream).await?;
    let payload = &incoming.bytes()[payload];
    match payload.first() {
        Some(&OK) => {}
        Some(&ERROR) => return Ok(Err(ServerError::read(payload))),
        _ => return Err(not_understood()),
    }
    let mut fields = Fields(&payload[1..]);
    let id = fields.integer::<4>()? as u32;
    let columns = fields.integer::<2>()?;
    let params = fields.integer::<2>()?;
    for count in [params, columns].into_iter().filter(|count| *count > 0) {
        for _ in 0..count + u64::from(eof_packets) {
            incoming.next(stream).await?;
        }
    }
    Ok(Ok((id, params as u16)))
}
