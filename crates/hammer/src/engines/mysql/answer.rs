//! The answers to one batch: rows by statement, read where they lie.

use std::io;

use super::message::{Column, Completion, ServerError, ASKS_FOR_FILE, END, ERROR, OK};
use super::packet::{Fields, Incoming};
use super::value::Row;
use crate::engines;
use crate::engines::network::{not_understood, Stream};

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

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixStream;

    use super::super::packet::put_packet;
    use super::*;
    use crate::engines::network::Opened;
    use crate::engines::{Answer as _, Row as _};

    const COLUMN: &[u8] = b"\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
    const DONE: &[u8] = b"\0\x02\0\x01\0\0\0";

    /// Reads the answers to some commands, each of them in packets of its own.
    async fn read(commands: &[(bool, &[&[u8]])], eof_packets: bool) -> io::Result<Answer> {
        let (near, mut far) = UnixStream::pair()?;
        let (mut stream, _) = Stream::new(Opened::Unix(near))?;
        for (_, packets) in commands {
            let mut out = Vec::new();
            let mut number = 1;
            for payload in *packets {
                number = put_packet(&mut out, number, |out| out.extend_from_slice(payload));
            }
            far.write_all(&out).await?;
        }
        let mut answer = Answer::default();
        answer.begin(0);
        for (begins, _) in commands {
            let read = answer.read_command(&mut stream, 1, *begins, eof_packets);
            read.await?;
        }
        Ok(answer)
    }

    /// The rows of a call are those of its first result, however the end of rows is told.
    #[tokio::test]
    async fn both_ends_of_rows_end_a_call_s_results() {
        let row = |value| [0, 0, value, 0, 0, 0];
        let (one, two, three) = (row(1), row(2), row(3));
        let new: &[&[u8]] = &[
            &[1],
            COLUMN,
            &one,
            &two,
            b"\xfe\0\0\x0a\0\0\0",
            &[1],
            COLUMN,
            &three,
            b"\xfe\0\0\x0a\0\0\0",
            DONE,
        ];
        let end = b"\xfe\0\0\x0a\0";
        let old: &[&[u8]] = &[
            &[1],
            COLUMN,
            end,
            &one,
            &two,
            end,
            &[1],
            COLUMN,
            end,
            &three,
            end,
            DONE,
        ];
        for (packets, eof_packets) in [(new, false), (old, true)] {
            let answer = read(&[(true, packets), (true, &[DONE])], eof_packets).await;
            let answer = answer.unwrap();
            let rows = answer.rows(0).map(|row| row.integer(0));
            assert_eq!(vec![Some(1), Some(2)], rows.collect::<Vec<_>>());
            assert_eq!([2, 2, 0], [0, 1, 2].map(|step| answer.affected(step)));
            assert!(answer.first(1).is_none() && answer.in_transaction());
        }
    }

    /// The second part of a statement adds its rows to what the first one changed, and the first error counts.
    #[tokio::test]
    async fn parts_of_a_statement_are_one_step() {
        let rows: &[&[u8]] = &[&[1], COLUMN, &[0, 0, 7, 0, 0, 0], b"\xfe\0\0\x01\0\0\0"];
        let answer = read(&[(true, &[DONE]), (false, rows)], false).await;
        let answer = answer.unwrap();
        assert_eq!(
            (2, Some(7)),
            (answer.affected(0), answer.first(0).unwrap().integer(0))
        );
        let errors: [&[u8]; 2] = [b"\xff\x01\0#HY000one", b"\xff\x02\0#HY000two"];
        let in_rows: &[&[u8]] = &[&[1], COLUMN, errors[0]];
        let failed = read(&[(true, in_rows), (true, &errors[1..])], false).await;
        let error = failed.unwrap().take_error().unwrap();
        assert_eq!((1, "one"), (error.code, &error.text[..]));
    }

    /// A server that asks for a file of this machine gets none.
    #[tokio::test]
    async fn a_request_for_a_file_is_refused() {
        let asked = read(&[(true, &[b"\xfb/etc/passwd"])], false).await;
        assert_eq!(io::ErrorKind::InvalidData, asked.unwrap_err().kind());
    }
}
