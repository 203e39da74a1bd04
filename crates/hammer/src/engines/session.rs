//! A session of a virtual user, whatever the engine: statements that are prepared once, queued into
//! batches, and answered in one wait.
//!
//! The traits are only ever used as bounds: a transaction runs through code that the compiler made for
//! its engine, without a call through a table.

use std::future::Future;

use super::failure::SessionError;

/// A statement prepared in a session: its place in the order in which that session's statements were
/// prepared. So sessions that prepare the same know them by the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(u16);

impl Statement {
    /// The statement of a place, counted from 0.
    pub const fn numbered(number: u16) -> Self {
        Statement(number)
    }

    /// Its place, counted from 0.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// Whether a transaction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing.
    Read,
    /// It may change rows.
    Write,
}

/// What a batch is to its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// One transaction, all of it.
    Whole(Access),
    /// The beginning of one, which stays open.
    First(Access),
    /// More of the open one.
    Middle,
    /// The end of the open one: it is committed.
    Last,
}

/// One connection with its prepared statements.
pub trait Session: Sized + Send + 'static {
    /// Where the parameters of a queued statement are written.
    type Params<'a>: Params;
    /// The answers to a batch.
    type Answer: Answer;

    /// Prepares statements, all in one wait.
    fn prepare(
        &mut self,
        texts: &[&str],
    ) -> impl Future<Output = Result<Vec<Statement>, SessionError>> + Send;

    /// Begins a batch, before its first statement is queued.
    fn start(&mut self, batch: Batch);

    /// Adds a statement to the batch; nothing is sent yet.
    fn queue(&mut self, statement: Statement, write: impl FnOnce(&mut Self::Params<'_>));

    /// Sends the batch and waits for all its answers.
    ///
    /// Errors: the first error of the engine, which skipped the rest of the batch and its commit, or a
    /// lost connection. A transaction that began with an earlier batch may then still be open
    /// ([`Session::in_transaction`]); nothing of it stays. The answers stay until the next batch.
    fn exchange(&mut self) -> impl Future<Output = Result<&Self::Answer, SessionError>> + Send;

    /// The answers to the last batch.
    fn answer(&self) -> &Self::Answer;

    /// Whether a transaction is open, failed or not.
    fn in_transaction(&self) -> bool;

    /// Whether the server runs on the driver's CPUs; false where that cannot be known.
    fn shares_cpus(&self) -> bool {
        false
    }

    /// Undoes an open transaction, failed or not.
    fn roll_back(&mut self) -> impl Future<Output = Result<(), SessionError>> + Send;

    /// Tells the server that the session ends, and closes it.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// The parameters of one statement, in order.
pub trait Params {
    /// Missing.
    fn null(&mut self);

    /// A truth value.
    fn boolean(&mut self, value: bool);

    /// An integer of two bytes.
    fn int2(&mut self, value: i16);

    /// An integer of four bytes.
    fn int4(&mut self, value: i32);

    /// An integer of eight bytes.
    fn int8(&mut self, value: i64);

    /// A moment, in microseconds since 2000-01-01 UTC.
    fn timestamp(&mut self, value_us: i64);

    /// Text in UTF-8.
    fn text(&mut self, value: &[u8]);

    /// A decimal number with two decimals, from 0.00 to 9999.99, in hundredths.
    fn cents(&mut self, value: u32);

    /// A list of integers of two bytes, in the engine's own encoding of lists.
    fn int2_list(&mut self, values: impl ExactSizeIterator<Item = i16>);

    /// A list of integers of four bytes, in the engine's own encoding of lists.
    fn int4_list(&mut self, values: impl ExactSizeIterator<Item = i32>);

    /// A list of integers of eight bytes, in the engine's own encoding of lists.
    fn int8_list(&mut self, values: impl ExactSizeIterator<Item = i64>);
}

/// The answers to one batch.
pub trait Answer: Send + Sync {
    /// One row.
    type Row<'a>: Row<'a>
    where
        Self: 'a;

    /// The rows of a statement of the batch, counted from 0.
    fn rows(&self, step: u16) -> impl Iterator<Item = Self::Row<'_>>;

    /// The first row of a statement of the batch.
    fn first(&self, step: u16) -> Option<Self::Row<'_>> {
        self.rows(step).next()
    }

    /// Rows that a statement of the batch gave or changed.
    fn affected(&self, step: u16) -> u64;
}

/// One row, read where it lies.
pub trait Row<'a> {
    /// The bytes of a column, counted from 0; None where it is null.
    ///
    /// `index` must be one of the statement's columns.
    fn bytes(&self, index: usize) -> Option<&'a [u8]>;

    /// An integer of any size; None where it is null.
    fn integer(&self, index: usize) -> Option<i64>;

    /// A decimal number in hundredths, further decimals cut; None where it is null or not a number.
    fn cents(&self, index: usize) -> Option<i64>;
}
