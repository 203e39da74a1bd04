//! A connection for what is asked once.

use std::cell::RefCell;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::Connection;
use stithy_wire::Sizes;
use tokio::sync::{mpsc, oneshot};

use super::rows::{insert, TaggedRows};
use super::worker::Worker;
use super::{set_journal, Target, Turn, Use};
use crate::engines::control::select_present;
use crate::engines::{self, RowFormat, TableOrder, Value};
use crate::error::HammerError;

/// Rows that come to whoever asked at once.
const ROWS_AT_ONCE: usize = 1_000;

/// Commits of a loader need not wait for the disk: the last one, of another connection, syncs the whole file.
/// A sample of each index suffices for a plan.
const LOADING: &str =
    "PRAGMA synchronous = off; PRAGMA cache_size = -65536; PRAGMA analysis_limit = 1000";

/// A row that refers to none.
const ORPHAN: &str = "SELECT \"table\", parent FROM pragma_foreign_key_check() LIMIT 1";

/// The database as it is when the first of the questions is asked.
const SNAPSHOT: &str = "PRAGMA cache_size = -65536; PRAGMA query_only = on; BEGIN; \
     SELECT count(*) FROM sqlite_schema";

/// Files of a connection (database, log or journal) and of all (shared memory, what else is open).
const FILES_PER_CONNECTION: u64 = 2;
const FILES_BESIDE: u64 = 64;

/// A connection for what is asked once.
pub struct Control {
    // Before the turn: closing comes first.
    worker: Worker,
    /// Held while a transaction is open.
    turn: RefCell<Option<Turn>>,
    target: Target,
}

impl Control {
    /// Loaders stand in line even to be opened: one that loads locks the file from its readers, too.
    ///
    /// Errors: those of [`Worker::start`].
    pub(super) async fn open(target: &Target, purpose: Use) -> Result<Self, HammerError> {
        let turn = match purpose {
            Use::Load => Some(target.writers.clone().lock_owned().await),
            _ => None,
        };
        let (worker, _) = Worker::start(target, purpose).await?;
        drop(turn);
        Ok(Control {
            worker,
            turn: RefCell::default(),
            target: target.clone(),
        })
    }

    async fn call<R: Send + 'static>(
        &self,
        doing: &str,
        function: impl FnOnce(&Connection) -> rusqlite::Result<R> + Send + 'static,
    ) -> Result<R, HammerError> {
        let result = self.worker.call(function).await;
        let result = result.map_err(|_| self.target.gone())?;
        result.map_err(|e| self.target.error(doing, e))
    }

    /// Executes SQL while it is this connection's turn to write.
    async fn write(&self, doing: &str, sql: &str) -> Result<(), HammerError> {
        let waits = self.turn.borrow().is_none();
        let turn = match waits {
            true => Some(self.target.writers.clone().lock_owned().await),
            false => None,
        };
        let sql = sql.to_string();
        let written = self.call(doing, move |connection| connection.execute_batch(&sql));
        let written = written.await;
        drop(turn);
        written
    }
}

impl engines::Control for Control {
    const FORMAT: &'static dyn RowFormat = &TaggedRows;
    const TABLE_ORDER: TableOrder = TableOrder::Key;
    type Copying = Copying;

    async fn execute(&self, doing: &str, sql: &str) -> Result<(), HammerError> {
        self.write(doing, sql).await
    }

    async fn each_row(
        &self,
        doing: &str,
        sql: &str,
        values: &[Value],
        mut take: impl FnMut(Vec<Value>),
    ) -> Result<(), HammerError> {
        let (sender, mut receiver) = mpsc::channel(2);
        let (sql, values) = (sql.to_string(), values.to_vec());
        let ended = self.call(doing, move |connection| {
            send_rows(connection, &sql, &values, &sender)
        });
        let taken = async {
            while let Some(rows) = receiver.recv().await {
                rows.into_iter().for_each(&mut take);
            }
        };
        let (ended, ()) = tokio::join!(ended, taken);
        ended
    }

    async fn copy(&self, doing: &str, table: &str, _: bool) -> Result<Copying, HammerError> {
        Ok(Copying {
            worker: self.worker.clone(),
            target: self.target.clone(),
            doing: doing.into(),
            table: table.into(),
            under_way: None,
        })
    }

    async fn cancel(&self) {
        self.worker.interrupt();
    }

    async fn present_tables(&self, names: &[&str]) -> Result<Vec<String>, HammerError> {
        let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')";
        select_present(self, sql, names).await
    }

    /// Each connection needs files of this process.
    async fn require_connections(&self, count: u32) -> Result<(), HammerError> {
        let needed = FILES_PER_CONNECTION * u64::from(count) + FILES_BESIDE;
        let Some(allowed) = allowed_files().filter(|allowed| needed > *allowed) else {
            return Ok(());
        };
        Err(HammerError::precondition(
            "too-many-connections",
            format!(
                "{count} connections need {needed} open files; this process may open {allowed}"
            ),
            &self.target.place,
            format!(
                "allow it with `ulimit -n {needed}`, or use fewer users, connections or loaders"
            ),
        ))
    }

    async fn sizes(&self) -> Sizes {
        let bytes = self.call("reading sizes", |connection| {
            let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            Ok((number("PRAGMA page_count")? * number("PRAGMA page_size")?).unsigned_abs())
        });
        Sizes {
            database_bytes: bytes.await.ok(),
            cache_bytes: Some(u64::from(self.target.settings.cache_kib) << 10),
        }
    }

    async fn begin_loading(&self) -> Result<(), HammerError> {
        self.write("preparing a loader", LOADING).await
    }

    /// Loaders do not look at foreign keys: whether all hold is looked up at once.
    async fn finish_loading(&self) -> Result<(), HammerError> {
        let doing = "checking foreign keys";
        if let Some(orphan) = self.query(doing, ORPHAN, &[]).await?.first() {
            let [child, parent] = [0, 1].map(|at| orphan[at].text().unwrap_or_default());
            let problem = format!("a row of {child} refers to none of {parent}");
            return Err(HammerError::bug(problem, &self.target.place));
        }
        let journal = self.target.settings.journal;
        let turn = self.target.writers.clone().lock_owned().await;
        let finished = self.call("setting the journal's mode", move |connection| {
            set_journal(connection, journal)?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
        let finished = finished.await;
        drop(turn);
        finished
    }

    async fn begin_snapshot(&self) -> Result<(), HammerError> {
        let begun = self.call("starting to read", |connection| {
            connection.execute_batch(SNAPSHOT)
        });
        begun.await
    }

    async fn begin(&self, doing: &str) -> Result<(), HammerError> {
        let turn = self.target.writers.clone().lock_owned().await;
        let begun = self.call(doing, |connection| {
            connection.execute_batch("BEGIN IMMEDIATE")
        });
        begun.await?;
        self.turn.replace(Some(turn));
        Ok(())
    }

    async fn commit(&self, doing: &str) -> Result<(), HammerError> {
        self.write(doing, "COMMIT").await?;
        self.turn.take();
        Ok(())
    }

    async fn drop_tables(&self, tables: &[&str]) -> Result<(), HammerError> {
        let drops: Vec<String> = tables
            .iter()
            .map(|table| format!("DROP TABLE IF EXISTS {table};"))
            .collect();
        let drops = drops.concat();
        let doing = "dropping what was made";
        let left = self.call(doing, |connection| match connection.is_autocommit() {
            true => Ok(()),
            false => connection.execute_batch("ROLLBACK"),
        });
        left.await?;
        self.turn.take();
        self.write(doing, &drops).await
    }

    fn analyze(table: &str) -> String {
        format!("ANALYZE {table}")
    }
}

/// None where there is no limit.
fn allowed_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

fn send_rows(
    connection: &Connection,
    sql: &str,
    values: &[Value],
    sender: &mpsc::Sender<Vec<Vec<Value>>>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, parameter(value))?;
    }
    let mut rows = statement.raw_query();
    let mut some = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = (0..columns).map(|at| row.get_ref(at).map(cell));
        some.push(cells.collect::<rusqlite::Result<Vec<Value>>>()?);
        if some.len() == ROWS_AT_ONCE && sender.blocking_send(std::mem::take(&mut some)).is_err() {
            return Ok(());
        }
    }
    // Nobody listens any more only where the question was given up.
    let _ = sender.blocking_send(some);
    Ok(())
}

fn parameter(value: &Value) -> ToSqlOutput<'_> {
    match value {
        Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        Value::Integer(value) => ToSqlOutput::Borrowed(ValueRef::Integer(*value)),
        Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Value::Integers(values) => {
            ToSqlOutput::Owned(serde_json::Value::from(values.clone()).to_string().into())
        }
    }
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Text(value.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Value::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// Rows under way to a table: some are inserted while the next ones are made.
pub struct Copying {
    worker: Worker,
    target: Target,
    doing: String,
    table: String,
    under_way: Option<oneshot::Receiver<rusqlite::Result<()>>>,
}

impl Copying {
    async fn wait(&mut self) -> Result<(), HammerError> {
        let Some(under_way) = self.under_way.take() else {
            return Ok(());
        };
        let inserted = under_way.await.map_err(|_| self.target.gone())?;
        inserted.map_err(|e| self.target.error(&self.doing, e))
    }
}

impl engines::Copying for Copying {
    async fn send(&mut self, rows: Vec<u8>) -> Result<(), HammerError> {
        self.wait().await?;
        let table = self.table.clone();
        let insert = self
            .worker
            .call(move |connection| insert(connection, &table, &rows));
        self.under_way = Some(insert);
        Ok(())
    }

    async fn finish(mut self) -> Result<(), HammerError> {
        self.wait().await
    }
}
