//! A batch on its way to the thread of a connection, and the answers to it on their way back, in buffers
//! that are kept.

use std::ops::Range;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

use super::failure::session_error;
use crate::engines::{self, Access, Batch, SessionError};

/// A value; the bytes of a text lie in a buffer of all texts.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Text { start: u32, length: u32 },
}

impl Cell {
    fn text(start: usize, end: usize) -> Self {
        Cell::Text {
            start: start as u32,
            length: (end - start) as u32,
        }
    }

    fn bytes(self, texts: &[u8]) -> Option<&[u8]> {
        match self {
            Cell::Text { start, length } => Some(&texts[start as usize..][..length as usize]),
            _ => None,
        }
    }
}

/// A batch and the answers to it.
#[derive(Debug)]
pub struct Answer {
    batch: Batch,
    steps: Vec<Step>,
    params: Vec<Cell>,
    param_texts: Vec<u8>,
    rows: Vec<RowAt>,
    cells: Vec<Cell>,
    texts: Vec<u8>,
    affected: Vec<u64>,
    error: Option<SessionError>,
    in_transaction: bool,
}

/// A queued statement.
#[derive(Debug)]
struct Step {
    statement: u16,
    params: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
struct RowAt {
    step: u16,
    start: u32,
}

impl Default for Answer {
    fn default() -> Self {
        Answer {
            batch: Batch::Middle,
            steps: Vec::new(),
            params: Vec::new(),
            param_texts: Vec::new(),
            rows: Vec::new(),
            cells: Vec::new(),
            texts: Vec::new(),
            affected: Vec::new(),
            error: None,
            in_transaction: false,
        }
    }
}

impl Answer {
    pub(super) fn start(&mut self, batch: Batch) {
        self.batch = batch;
        self.steps.clear();
        self.params.clear();
        self.param_texts.clear();
    }

    pub(super) fn queue(&mut self, statement: u16, write: impl FnOnce(&mut Params<'_>)) {
        let start = self.params.len();
        write(&mut Params {
            cells: &mut self.params,
            texts: &mut self.param_texts,
        });
        let params = start..self.params.len();
        self.steps.push(Step { statement, params });
    }

    /// Whether the batch begins a transaction that writes.
    pub(super) fn begins_writing(&self) -> bool {
        matches!(
            self.batch,
            Batch::Whole(Access::Write) | Batch::First(Access::Write)
        )
    }

    pub(super) fn take_error(&mut self) -> Option<SessionError> {
        self.error.take()
    }

    pub(super) fn end_transaction(&mut self) {
        self.in_transaction = false;
    }

    pub(super) fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// SQL that begins the transaction. One that writes takes its lock at once: a reader that becomes a
    /// writer fails where anybody wrote in between, and waiting would not help it.
    fn begin(&self) -> Option<&'static str> {
        match self.batch {
            // A statement alone is a transaction.
            Batch::Whole(_) if self.steps.len() == 1 => None,
            Batch::Whole(Access::Read) | Batch::First(Access::Read) => Some("BEGIN"),
            Batch::Whole(Access::Write) | Batch::First(Access::Write) => Some("BEGIN IMMEDIATE"),
            Batch::Middle | Batch::Last => None,
        }
    }

    fn commits(&self) -> bool {
        match self.batch {
            Batch::Whole(_) => self.begin().is_some(),
            batch => batch == Batch::Last,
        }
    }

    fn run(
        &mut self,
        connection: &Connection,
        statements: &mut [Statement<'_>],
    ) -> rusqlite::Result<()> {
        if let Some(begin) = self.begin() {
            connection.execute_batch(begin)?;
        }
        for at in 0..self.steps.len() {
            let number = usize::from(self.steps[at].statement);
            self.execute(connection, at, &mut statements[number])?;
        }
        if self.commits() {
            connection.execute_batch("COMMIT")?;
        }
        Ok(())
    }

    fn execute(
        &mut self,
        connection: &Connection,
        at: usize,
        statement: &mut Statement<'_>,
    ) -> rusqlite::Result<()> {
        for (index, cell) in (1..).zip(&self.params[self.steps[at].params.clone()]) {
            let value = match *cell {
                Cell::Null => ValueRef::Null,
                Cell::Integer(value) => ValueRef::Integer(value),
                text => ValueRef::Text(text.bytes(&self.param_texts).unwrap_or_default()),
            };
            statement.raw_bind_parameter(index, ToSqlOutput::Borrowed(value))?;
        }
        let columns = statement.column_count();
        let before = self.rows.len();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            self.rows.push(RowAt {
                step: at as u16,
                start: self.cells.len() as u32,
            });
            for column in 0..columns {
                let cell = match row.get_ref(column)? {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(value) => Cell::Integer(value),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        let start = self.texts.len();
                        self.texts.extend_from_slice(bytes);
                        Cell::text(start, self.texts.len())
                    }
                    ValueRef::Real(value) => {
                        let start = self.texts.len();
                        self.texts.extend_from_slice(value.to_string().as_bytes());
                        Cell::text(start, self.texts.len())
                    }
                };
                self.cells.push(cell);
            }
        }
        drop(rows);
        self.affected.push(match columns {
            0 => connection.changes(),
            _ => (self.rows.len() - before) as u64,
        });
        Ok(())
    }
}

/// Does a batch, in the thread of its connection. A batch that is a transaction is undone where it fails.
pub(super) fn perform(
    connection: &Connection,
    statements: &mut [Statement<'_>],
    batch: &mut Answer,
) {
    batch.rows.clear();
    batch.cells.clear();
    batch.texts.clear();
    batch.affected.clear();
    let result = batch.run(connection, statements);
    batch.error = result.err().map(|e| session_error(&e));
    let undo = batch.error.is_some() && matches!(batch.batch, Batch::Whole(_));
    if undo && !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    batch.in_transaction = !connection.is_autocommit();
}

impl engines::Answer for Answer {
    type Row<'a> = Row<'a>;

    fn rows(&self, step: u16) -> impl Iterator<Item = Row<'_>> {
        let rows = self.rows.iter().filter(move |row| row.step == step);
        rows.map(|row| Row {
            cells: &self.cells[row.start as usize..],
            texts: &self.texts,
        })
    }

    fn affected(&self, step: u16) -> u64 {
        self.affected.get(usize::from(step)).copied().unwrap_or(0)
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    cells: &'a [Cell],
    texts: &'a [u8],
}

impl<'a> engines::Row<'a> for Row<'a> {
    fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        self.cells[index].bytes(self.texts)
    }

    fn integer(&self, index: usize) -> Option<i64> {
        match self.cells[index] {
            Cell::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// There are no decimals: amounts are kept in hundredths.
    fn cents(&self, index: usize) -> Option<i64> {
        self.integer(index)
    }
}

/// The parameters of one statement, in order.
pub struct Params<'a> {
    cells: &'a mut Vec<Cell>,
    texts: &'a mut Vec<u8>,
}

impl Params<'_> {
    fn integer(&mut self, value: i64) {
        self.cells.push(Cell::Integer(value));
    }

    /// A JSON array, which `json_each` takes apart.
    fn list(&mut self, values: impl Iterator<Item = i64>) {
        let start = self.texts.len();
        for (number, value) in values.enumerate() {
            self.texts.push(if number == 0 { b'[' } else { b',' });
            self.texts.extend_from_slice(value.to_string().as_bytes());
        }
        if self.texts.len() == start {
            self.texts.push(b'[');
        }
        self.texts.push(b']');
        self.cells.push(Cell::text(start, self.texts.len()));
    }
}

impl engines::Params for Params<'_> {
    fn null(&mut self) {
        self.cells.push(Cell::Null);
    }

    fn boolean(&mut self, value: bool) {
        self.integer(value.into());
    }

    fn int2(&mut self, value: i16) {
        self.integer(value.into());
    }

    fn int4(&mut self, value: i32) {
        self.integer(value.into());
    }
    fn int8(&mut self, value: i64) {
        self.integer(value);
    }

    fn timestamp(&mut self, value_us: i64) {
        self.integer(value_us);
    }

    fn text(&mut self, value: &[u8]) {
        let start = self.texts.len();
        self.texts.extend_from_slice(value);
        self.cells.push(Cell::text(start, self.texts.len()));
    }

    fn cents(&mut self, value: u32) {
        self.integer(value.into());
    }

    fn int2_list(&mut self, values: impl ExactSizeIterator<Item = i16>) {
        self.list(values.map(i64::from));
    }

    fn int4_list(&mut self, values: impl ExactSizeIterator<Item = i32>) {
        self.list(values.map(i64::from));
    }

    fn int8_list(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.list(values);
    }
}
