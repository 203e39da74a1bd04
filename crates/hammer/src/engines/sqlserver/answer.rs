//! The answers to one batch: rows by statement, read where they lie.

use std::io;

use super::reply::{Event, Reply, ServerError};
use super::value::Row;
use crate::engines;
use crate::engines::network::{not_understood, Stream};

/// The answers to a batch, and the messages under them.
#[derive(Debug, Default)]
pub struct Answer {
    pub(super) reply: Reply,
    rows: Vec<RowAt>,
    affected: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct RowAt {
    step: u16,
    columns: u16,
    columns_at: u32,
    cells_at: u32,
}

/// What a message told besides rows.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The first error.
    pub(super) error: Option<ServerError>,
    /// The number of the statement that was prepared.
    pub(super) handle: Option<i32>,
}

/// A statement whose answer is read.
#[derive(Debug, Default)]
struct Step {
    results: u32,
    rows: u64,
    counted: Option<u64>,
}

impl Answer {
    /// Makes room for the answers to a batch.
    pub(super) fn begin(&mut self) {
        self.reply.clear();
        self.rows.clear();
        self.affected.clear();
    }

    /// The answers to one message of calls: of each the rows of its first result.
    ///
    /// Errors: those of the stream; an answer that is none.
    pub(super) async fn read_calls(&mut self, stream: &mut Stream) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut step = Step::default();
        loop {
            match self.reply.next(stream).await? {
                Event::Columns => step.results += 1,
                Event::Row => {
                    step.rows += 1;
                    if step.results == 1 {
                        self.keep_row();
                    }
                }
                Event::Done(done) => {
                    step.counted = done.count.or(step.counted);
                    if done.ends_call {
                        // Babelfish counts none of the rows that an OUTPUT gives.
                        self.affected.push(step.counted.unwrap_or(0).max(step.rows));
                        step = Step::default();
                    }
                }
                Event::Error(error) => outcome.error = outcome.error.or(Some(error)),
                Event::Handle(handle) => outcome.handle = handle,
                Event::LoggedIn | Event::Other => {}
                Event::End if step.results > 0 && outcome.error.is_none() => {
                    return Err(not_understood());
                }
                Event::End => return Ok(outcome),
            }
        }
    }

    fn keep_row(&mut self) {
        let columns = self.reply.columns.len() - self.reply.columns_at;
        self.rows.push(RowAt {
            step: self.affected.len() as u16,
            columns: columns as u16,
            columns_at: self.reply.columns_at as u32,
            cells_at: (self.reply.cells.len() - columns) as u32,
        });
    }
}

impl engines::Answer for Answer {
    type Row<'a> = Row<'a>;

    fn rows(&self, step: u16) -> impl Iterator<Item = Row<'_>> {
        let rows = self.rows.iter().filter(move |row| row.step == step);
        rows.map(|row| {
            let (columns_at, cells_at) = (row.columns_at as usize, row.cells_at as usize);
            Row::of(&self.reply, columns_at, cells_at, row.columns.into())
        })
    }

    fn affected(&self, step: u16) -> u64 {
        let affected = self.affected.get(usize::from(step));
        affected.copied().unwrap_or(0)
    }
}
