//! A connection for what is asked once.

use std::sync::Arc;

use stithy_wire::Sizes;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::client::{Client, Failed};
use super::failure::NotOpened;
use super::message::{capability, ServerError};
use super::rows::{TextRows, END_OF_ROW, FORMAT};
use super::startup::open;
use super::Target;
use crate::engines::control::{read_numbers, select_present, too_many_connections};
use crate::engines::{self, RowFormat, TableOrder, Value};
use crate::error::HammerError;

/// Text and numbers that do not fit are errors, whatever the server's default is. What is grouped is grouped once:
/// MariaDB would do it again for each row that it is joined to, in four times the time.
const SETTINGS: &str = "SET NAMES utf8mb4; \
     SET SESSION autocommit = 1, time_zone = '+00:00', foreign_key_checks = 1, \
     sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION' \
     /*M!100304 , optimizer_switch = 'split_materialized=off' */";

/// Rows come in the order of their keys from one source, which needs no checks against others.
const LOADING: &str = "SET SESSION unique_checks = 0, foreign_key_checks = 0";

const SNAPSHOT: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
     START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/// Rows of a load become a transaction after so many bytes: what the server keeps to undo it, and the memory
/// in which it sorts the rows of an empty table, stay small.
const LOAD_BYTES: usize = 16 << 20;

/// A connection for what is asked once.
pub struct Control {
    client: Arc<Mutex<Client>>,
    thread: u32,
    target: Target,
}

impl Control {
    /// Opens one.
    pub(super) async fn open(target: &Target) -> Result<Self, HammerError> {
        let client = open_client(target).await?;
        Ok(Control {
            thread: client.thread,
            client: Arc::new(Mutex::new(client)),
            target: target.clone(),
        })
    }

    /// How many connections the server has, which it tells in a row of name and text.
    async fn count_connections(&self, doing: &str) -> Result<i64, HammerError> {
        let sql = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
        let rows = engines::Control::query(self, doing, sql, &[]).await?;
        let text = rows
            .first()
            .and_then(|row| row.get(1)?.text()?.parse().ok());
        Ok(text.unwrap_or(0))
    }
}

/// Waiting for an answer has no end but the server's own.
async fn open_client(target: &Target) -> Result<Client, HammerError> {
    let more = capability::LOCAL_FILES | capability::MULTI_STATEMENTS;
    let opening = async {
        let mut client = open(target, more).await?;
        let forever = match client.mariadb {
            true => "max_statement_time = 0",
            // MySQL tells sizes that it measured a day ago, unless it is told not to.
            false => "max_execution_time = 0, information_schema_stats_expiry = 0",
        };
        client.execute(&format!("{SETTINGS}, {forever}")).await?;
        Ok::<_, NotOpened>(client)
    };
    opening.await.map_err(|e| target.not_opened(e))
}

impl engines::Control for Control {
    const FORMAT: &'static dyn RowFormat = &TextRows;
    const TABLE_ORDER: TableOrder = TableOrder::Key;
    type Copying = Copying;

    async fn execute(&self, doing: &str, sql: &str) -> Result<(), HammerError> {
        let executed = self.client.lock().await.execute(sql).await;
        executed.map_err(|e| self.target.error(doing, e))
    }

    async fn each_row(
        &self,
        doing: &str,
        sql: &str,
        values: &[Value],
        mut take: impl FnMut(Vec<Value>),
    ) -> Result<(), HammerError> {
        let mut client = self.client.lock().await;
        let read = client.query(sql, values, |row| take(row.values())).await;
        read.map(|_| ()).map_err(|e| self.target.error(doing, e))
    }

    async fn copy(&self, doing: &str, table: &str, _: bool) -> Result<Copying, HammerError> {
        Ok(Copying {
            client: self.client.clone().lock_owned().await,
            target: self.target.clone(),
            doing: doing.into(),
            sql: format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} {FORMAT}"),
            sent: None,
        })
    }

    async fn cancel(&self) {
        if let Ok(mut client) = open_client(&self.target).await {
            let kill = format!("KILL QUERY {}", self.thread);
            // It may have ended by itself.
            let _ = client.execute(&kill).await;
        }
    }

    async fn present_tables(&self, names: &[&str]) -> Result<Vec<String>, HammerError> {
        let sql =
            "SELECT table_name FROM information_schema.tables WHERE table_schema = database()";
        select_present(self, sql, names).await
    }

    async fn require_connections(&self, count: u32) -> Result<(), HammerError> {
        let doing = "reading max_connections";
        let sql = "SELECT @@global.max_connections, @@max_user_connections";
        let limits = read_numbers(self, doing, sql).await?;
        // This connection is one of them, which asks what there is before, and what came of it after.
        let (needed, used) = (
            i64::from(count) + 1,
            self.count_connections(doing).await? - 1,
        );
        let user_limit = limits.get(1).copied().filter(|limit| *limit > 0);
        let (name, allowed, used) = match user_limit {
            Some(limit) if limit < needed => ("max_user_connections", limit, 0),
            _ => (
                "max_connections",
                limits.first().copied().unwrap_or(0),
                used,
            ),
        };
        let free = allowed - used;
        if needed <= free {
            return Ok(());
        }
        Err(too_many_connections(
            &self.target.place,
            (needed, free),
            &format!("{name} {allowed}, in use {used}"),
            (name, needed + used),
        ))
    }

    async fn sizes(&self) -> Sizes {
        let sql =
            "SELECT CAST(sum(data_length + index_length) AS SIGNED), @@innodb_buffer_pool_size \
                   FROM information_schema.tables WHERE table_schema = database()";
        let numbers = read_numbers(self, "reading sizes", sql).await.ok();
        let size = |at: usize| numbers.as_ref()?.get(at).copied()?.try_into().ok();
        Sizes {
            database_bytes: size(0),
            cache_bytes: size(1),
        }
    }

    async fn begin_loading(&self) -> Result<(), HammerError> {
        self.execute("preparing a loader", LOADING).await
    }

    async fn begin_snapshot(&self) -> Result<(), HammerError> {
        self.execute("starting to read", SNAPSHOT).await
    }

    /// Where a statement was given up, another connection drops them; the server ends that of the first one
    /// when it is closed.
    async fn drop_tables(&self, tables: &[&str]) -> Result<(), HammerError> {
        let mut client = self.client.lock().await;
        if client.busy {
            *client = open_client(&self.target).await?;
        }
        let sql = format!(
            "ROLLBACK; SET SESSION foreign_key_checks = 0; DROP TABLE IF EXISTS {}",
            tables.join(", ")
        );
        let dropped = client.execute(&sql).await;
        dropped.map_err(|e| self.target.error("dropping what was made", e))
    }

    fn analyze(table: &str) -> String {
        format!("ANALYZE TABLE {table}")
    }
}

/// Rows under way to a table. Where they are given up, the connection is of no more use.
pub struct Copying {
    client: OwnedMutexGuard<Client>,
    target: Target,
    doing: String,
    sql: String,
    /// Bytes of the statement that is under way.
    sent: Option<usize>,
}

impl Copying {
    async fn send_rows(&mut self, mut rows: Vec<u8>) -> Result<(), Failed> {
        let sent = match self.sent {
            Some(sent) => sent,
            None => {
                self.client.begin_load(&self.sql).await?;
                0
            }
        };
        rows.push(END_OF_ROW);
        self.client.send_file(&rows).await?;
        self.sent = Some(sent + rows.len());
        match self.sent {
            Some(sent) if sent >= LOAD_BYTES => self.store().await,
            _ => Ok(()),
        }
    }

    /// Ends the statement. What a load from a client cannot store is skipped or changed and only warned of.
    async fn store(&mut self) -> Result<(), Failed> {
        if self.sent.take().is_none() {
            return Ok(());
        }
        let done = self.client.finish_load().await?;
        if done.warnings == 0 {
            return Ok(());
        }
        let mut text = String::new();
        let take = |row: super::value::Row<'_>| {
            if let (true, [_, _, Value::Text(why)]) = (text.is_empty(), &row.values()[..]) {
                text.clone_from(why);
            }
        };
        // The count is known in any case.
        let _ = self.client.query("SHOW WARNINGS LIMIT 1", &[], take).await;
        let text = format!("{} rows or values were not stored: {text}", done.warnings);
        Err(Failed::Refused(ServerError { code: 0, text }))
    }
}

impl engines::Copying for Copying {
    async fn send(&mut self, rows: Vec<u8>) -> Result<(), HammerError> {
        if rows.is_empty() {
            return Ok(());
        }
        let sent = self.send_rows(rows).await;
        sent.map_err(|e| self.target.error(&self.doing, e))
    }

    async fn finish(mut self) -> Result<(), HammerError> {
        let stored = self.store().await;
        stored.map_err(|e| self.target.error(&self.doing, e))
    }
}
