//! The answers to one batch: rows by statement, read where they lie.

use std::io;

use super::message::{Column, Completion, ServerError, ASKS_FOR_FILE, END, ERROR, OK};
use super::packet::{not_understood, Fields, Incoming};
use super::value::Row;
use crate::engines;
use crate::engines::network::Stream;

/// The answers to a batch, and the bytes under them.
#[derive(Debug, Default)]
pub struct Answer {
    pub(super) incoming: Incoming,
    columns: Vec<Column>,
    rows: Vec<RowAt>,
    affected: Vec<u64>,
    /// Statements of the session's own, before those of the batch.
    before: u16,
    error: Option<ServerError>,
    in_transaction: bool,
}

#[derive(Debug, Clone, Copy)]
struct RowAt {
    step: u16,
    columns: u16,
    columns_at: u32,
    start: u32,
    end: u32,
}

impl Answer {
    /// Makes room for the answers to a batch.
    pub(super) fn begin(&mut self, before: u16) {
        self.before = before;
        self.incoming.clear();
        self.columns.clear();
        self.rows.clear();
        self.affected.clear();
        self.error = None;
    }

    /// The first error of the server.
    pub(super) fn take_error(&mut self) -> Option<ServerError> {
        self.error.take()
    }

    /// Keeps the first error.
    fn fail(&mut self, error: ServerError) {
        self.error = self.error.take().or(Some(error));
    }

    pub(super) fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// The answer to one command, all its results: rows are those of the first one. `begins` says that the
    /// command is the first of its step, and none that goes on with the one before.
    ///
    /// Errors: those of the stream; an answer that is none.
    pub(super) async fn read_command(
        &mut self,
        stream: &mut Stream,
        number: u8,
        begins: bool,
        eof_packets: bool,
    ) -> io::Result<()> {
        if begins {
            self.affected.push(0);
        }
        let step = (self.affected.len() - 1) as u16;
        self.incoming.expect(number);
        let mut counted = None;
        let mut first = true;
        loop {
            let payload = self.incoming.next(stream).await?;
            let payload = &self.incoming.bytes()[payload];
            let done = match payload.first() {
                Some(&OK) => Completion::read(payload)?,
                Some(&ERROR) => {
                    let error = ServerError::read(payload);
                    self.fail(error);
                    return Ok(());
                }
                None | Some(&ASKS_FOR_FILE) => return Err(not_understood()),
                Some(_) => {
                    let columns = Fields(payload).length()? as u16;
                    let wanted = first.then_some(step);
                    let rows = self.rows.len();
                    let ended = self.read_rows(stream, columns, wanted, eof_packets).await?;
                    let Some(done) = ended else {
                        return Ok(());
                    };
                    counted = counted.or(Some((self.rows.len() - rows) as u64));
                    done
                }
            };
            first = false;
            self.in_transaction = done.in_transaction();
            if !done.more_results() {
                // What the part before has changed is more than what is read of it.
                let affected = &mut self.affected[usize::from(step)];
                *affected = match counted {
                    Some(rows) if begins => rows,
                    Some(_) => *affected,
                    None => done.affected,
                };
                return Ok(());
            }
        }
    }

    /// Columns and rows of one result, which are kept for a step; None where an error ended them.
    async fn read_rows(
        &mut self,
        stream: &mut Stream,
        columns: u16,
        kept_for: Option<u16>,
        eof_packets: bool,
    ) -> io::Result<Option<Completion>> {
        let columns_at = self.columns.len() as u32;
        for _ in 0..columns {
            let definition = self.incoming.next(stream).await?;
            if kept_for.is_some() {
                let column = Column::read(&self.incoming.bytes()[definition])?;
                self.columns.push(column);
            }
        }
        if eof_packets {
            self.incoming.next(stream).await?;
        }
        loop {
            let payload = self.incoming.next(stream).await?;
            let (start, end) = (payload.start as u32, payload.end as u32);
            let payload = &self.incoming.bytes()[payload];
            match (payload.first(), kept_for) {
                (Some(&OK), Some(step)) => self.rows.push(RowAt {
                    step,
                    columns,
                    columns_at,
                    start,
                    end,
                }),
                (Some(&OK), None) => {}
                (Some(&END), _) => return Completion::read_end(payload, eof_packets).map(Some),
                (Some(&ERROR), _) => {
                    let error = ServerError::read(payload);
                    self.fail(error);
                    return Ok(None);
                }
                _ => return Err(not_understood()),
            }
        }
    }

    fn row_at(&self, row: RowAt) -> Row<'_> {
        let columns = &self.columns[row.columns_at as usize..];
        Row {
            columns: &columns[..row.columns.into()],
            payload: &self.incoming.bytes()[row.start as usize..row.end as usize],
        }
    }
}

impl engines::Answer for Answer {
    type Row<'a> = Row<'a>;

    fn rows(&self, step: u16) -> impl Iterator<Item = Row<'_>> {
        let step = step + self.before;
        let rows = self.rows.iter().filter(move |row| row.step == step);
        rows.map(|row| self.row_at(*row))
    }

    fn affected(&self, step: u16) -> u64 {
        let step = usize::from(step + self.before);
        self.affected.get(step).copied().unwrap_or(0)
    }
}
