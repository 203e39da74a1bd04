//! A connection for what is asked once: loading, checking, counting. Nothing here is on the path of a
//! transaction.

use std::future::Future;

use stithy_wire::Sizes;

use super::rows::RowFormat;
use crate::error::HammerError;

/// A parameter, or a cell of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Missing.
    Null,
    /// An integer of any size.
    Integer(i64),
    /// Text.
    Text(String),
    /// A list of integers of one size; only as a parameter.
    Integers(Vec<i64>),
}

impl Value {
    /// The integer; 0 where it is none.
    pub fn integer(&self) -> i64 {
        match self {
            Value::Integer(value) => *value,
            _ => 0,
        }
    }

    /// The text; None where it is null.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The order in which an engine wants the rows of a table that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOrder {
    /// Any: rows are appended, and keys are made of indexes that are built afterwards.
    Any,
    /// That of the primary key, in whose tree the rows lie; only further indexes come afterwards.
    Key,
}

impl TableOrder {
    /// How many of the loaders may share a table.
    pub fn sharing(self, loaders: u32) -> u32 {
        match self {
            TableOrder::Any => loaders,
            TableOrder::Key => 1,
        }
    }
}

/// A connection for what is asked once. `doing` tells in an error's place what it was for.
///
/// Errors of all that asks the server: `connection-lost`, `disk-full`, `server-error` (infrastructure),
/// `not-permitted` (precondition).
pub trait Control: Sized + 'static {
    /// How rows are sent.
    const FORMAT: &'static dyn RowFormat;
    /// In which order.
    const TABLE_ORDER: TableOrder;
    /// Rows under way to a table.
    type Copying: Copying;

    /// Executes statements, separated by semicolons.
    fn execute(&self, doing: &str, sql: &str) -> impl Future<Output = Result<(), HammerError>>;

    /// Asks, and hands over each row of the answer as it comes.
    fn each_row(
        &self,
        doing: &str,
        sql: &str,
        values: &[Value],
        take: impl FnMut(Vec<Value>),
    ) -> impl Future<Output = Result<(), HammerError>>;

    /// Asks, and gives all rows.
    fn query(
        &self,
        doing: &str,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Vec<Value>>, HammerError>> {
        async move {
            let mut rows = Vec::new();
            self.each_row(doing, sql, values, |row| rows.push(row))
                .await?;
            Ok(rows)
        }
    }

    /// Asks for one number of at least 0; 0 where nothing is answered.
    fn query_count(
        &self,
        doing: &str,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<u64, HammerError>> {
        async move {
            let rows = self.query(doing, sql, values).await?;
            let first = rows.first().and_then(|row| row.first());
            Ok(first.map_or(0, |value| value.integer().unsigned_abs()))
        }
    }

    /// Begins to copy rows into a table; `created` says that this connection has created it in the
    /// transaction that is open.
    fn copy(
        &self,
        doing: &str,
        table: &str,
        created: bool,
    ) -> impl Future<Output = Result<Self::Copying, HammerError>>;

    /// Asks the server to cancel what this connection does. Where the request does not arrive, closing
    /// the connection ends it.
    fn cancel(&self) -> impl Future<Output = ()>;

    /// Those of the tables that the database holds already.
    fn present_tables(
        &self,
        names: &[&str],
    ) -> impl Future<Output = Result<Vec<String>, HammerError>>;

    /// Refuses more connections than the engine allows, before anything starts.
    ///
    /// Errors: `too-many-connections` (precondition), which names the limit.
    fn require_connections(&self, count: u32) -> impl Future<Output = Result<(), HammerError>>;

    /// What the server says of its own size.
    fn sizes(&self) -> impl Future<Output = Sizes>;

    /// From now on this connection loads: what it commits need not be durable before the last commit.
    fn begin_loading(&self) -> impl Future<Output = Result<(), HammerError>>;

    /// What was loaded is committed: from now on it is durable, and the database as its URL wants it.
    fn finish_loading(&self) -> impl Future<Output = Result<(), HammerError>> {
        async { Ok(()) }
    }

    /// From now on this connection sees one state of the database, which it does not change, and reads
    /// whole tables in their own order.
    fn begin_snapshot(&self) -> impl Future<Output = Result<(), HammerError>>;

    /// Begins a transaction.
    fn begin(&self, doing: &str) -> impl Future<Output = Result<(), HammerError>> {
        self.execute(doing, "BEGIN")
    }

    /// Commits it.
    fn commit(&self, doing: &str) -> impl Future<Output = Result<(), HammerError>> {
        self.execute(doing, "COMMIT")
    }

    /// Ends a transaction without effect, where there is one, and drops those of the tables that are there.
    fn drop_tables(&self, tables: &[&str]) -> impl Future<Output = Result<(), HammerError>>;

    /// SQL that creates a table which the server's own housekeeping leaves alone while it is loaded.
    fn create_for_loading(create: &str, _table: &str) -> String {
        create.into()
    }

    /// SQL that gives the table back to the server's housekeeping, where that left it alone.
    fn end_loading(_table: &str) -> Option<String> {
        None
    }

    /// SQL that lets the planner know a table.
    fn analyze(table: &str) -> String;
}

/// Rows under way to a table.
pub trait Copying {
    /// Sends rows, encoded in the engine's [`RowFormat`].
    fn send(&mut self, rows: Vec<u8>) -> impl Future<Output = Result<(), HammerError>>;

    /// Ends the copy.
    fn finish(self) -> impl Future<Output = Result<(), HammerError>>;
}

/// Those of the tables that `sql` lists among all.
pub(super) async fn select_present(
    control: &impl Control,
    sql: &str,
    names: &[&str],
) -> Result<Vec<String>, HammerError> {
    let rows = control.query("looking for tables", sql, &[]).await?;
    let present: Vec<&str> = rows.iter().filter_map(|row| row.first()?.text()).collect();
    let names = names.iter().filter(|name| present.contains(name));
    Ok(names.map(|name| (*name).to_string()).collect())
}

/// The numbers of an answer of one row.
pub(super) async fn read_numbers(
    control: &impl Control,
    doing: &str,
    sql: &str,
) -> Result<Vec<i64>, HammerError> {
    let rows = control.query(doing, sql, &[]).await?;
    let row = rows.into_iter().next().unwrap_or_default();
    Ok(row.iter().map(Value::integer).collect())
}

/// A server has fewer connections free than are needed, one of them for questions. `counted` says by which
/// numbers; `setting` would have to be at least `least`.
pub(super) fn too_many_connections(
    place: &str,
    (needed, free): (i64, i64),
    counted: &str,
    (setting, least): (&str, i64),
) -> HammerError {
    HammerError::precondition(
        "too-many-connections",
        format!(
            "{needed} connections are needed, one of them for questions; the server has {free} free \
             ({counted})"
        ),
        place,
        format!("set {setting} to {least} or more, or use fewer users, connections or loaders"),
    )
}
