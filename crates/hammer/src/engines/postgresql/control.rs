//! A connection for what is asked once, through tokio-postgres.

use std::pin::{pin, Pin};

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt};
use stithy_wire::Sizes;
use tokio_postgres::{Client, CopyInSink};

use super::rows::{BinaryRows, HEADER, TRAILER};
use super::value::{cells, parameters};
use super::{open, tokio_stream, Target};
use crate::engines::control::too_many_connections;
use crate::engines::{self, RowFormat, TableOrder, Value};
use crate::error::HammerError;

/// Commits need not wait for the disk: the row that says "loaded to the end" is committed last and waits
/// for all of them. The memory suffices to sort the keys of a large slice at once and stays small beside
/// the database's own. A small sample tells the planner enough; a full VACUUM ANALYZE is the caller's.
const LOADING: &str = "SET synchronous_commit = off; SET maintenance_work_mem = '64MB'; \
     SET default_statistics_target = 10; SET client_min_messages = warning; \
     SET statement_timeout = 0; SET lock_timeout = 0";

/// The memory lets large sums be kept without files. Whole tables are read in their own order, once:
/// looking up the rows of each key would read a table larger than the memory in small pieces.
const SNAPSHOT: &str = "SET work_mem = '64MB'; SET enable_nestloop = off; SET jit = off; \
     SET statement_timeout = 0; BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// A connection for what is asked once.
pub struct Control {
    client: Client,
    target: Target,
}

impl Control {
    /// Opens one.
    pub(super) async fn open(target: &Target) -> Result<Self, HammerError> {
        let opened = open::open_and(target, |opened| tokio_stream::start(target, opened)).await;
        let (client, driving) = opened.map_err(|e| target.not_opened(e))?;
        // The error of a lost connection also reaches whoever waits on the client.
        tokio::spawn(async move {
            let _ = driving.await;
        });
        Ok(Control {
            client,
            target: target.clone(),
        })
    }

    /// One row of sizes; None where they cannot be read.
    async fn row_of_sizes(&self) -> Option<Vec<Value>> {
        let sql = "SELECT pg_database_size(current_database()), \
                          pg_size_bytes(current_setting('shared_buffers'))";
        let rows = engines::Control::query(self, "reading sizes", sql, &[]).await;
        rows.ok()?.pop()
    }
}

impl engines::Control for Control {
    const FORMAT: &'static dyn RowFormat = &BinaryRows;
    const TABLE_ORDER: TableOrder = TableOrder::Any;
    type Copying = Copying;

    async fn execute(&self, doing: &str, sql: &str) -> Result<(), HammerError> {
        let executed = self.client.batch_execute(sql).await;
        executed.map_err(|e| self.target.error(doing, e))
    }

    async fn each_row(
        &self,
        doing: &str,
        sql: &str,
        values: &[Value],
        mut take: impl FnMut(Vec<Value>),
    ) -> Result<(), HammerError> {
        let failed = |e| self.target.error(doing, e);
        let rows = self.client.query_raw(sql, parameters(values)).await;
        let mut rows = pin!(rows.map_err(failed)?);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            take(cells(&row).map_err(failed)?);
        }
        Ok(())
    }

    /// What was created in the same transaction is frozen at once: no later vacuum has to write it again.
    async fn copy(&self, doing: &str, table: &str, created: bool) -> Result<Copying, HammerError> {
        let options = if created { ", FREEZE" } else { "" };
        let sql = format!("COPY {table} FROM STDIN (FORMAT binary{options})");
        let sink = self.client.copy_in::<_, Bytes>(&sql).await;
        let sink = sink.map_err(|e| self.target.error(doing, e))?;
        let mut copying = Copying {
            sink: Box::pin(sink),
            target: self.target.clone(),
            doing: doing.into(),
        };
        copying.feed(Bytes::from_static(HEADER)).await?;
        Ok(copying)
    }

    async fn cancel(&self) {
        tokio_stream::cancel(&self.target, &self.client).await;
    }

    async fn present_tables(&self, names: &[&str]) -> Result<Vec<String>, HammerError> {
        let sql = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL";
        let rows = self.client.query(sql, &[&names]).await;
        let rows = rows.map_err(|e| self.target.error("looking for tables", e))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn require_connections(&self, count: u32) -> Result<(), HammerError> {
        // One more asks what there is before, and what came of it after.
        let needed = i64::from(count) + 1;
        let sql = "SELECT current_setting('max_connections')::bigint, \
             CASE WHEN usesuper THEN 0 \
                  ELSE current_setting('superuser_reserved_connections')::bigint END, \
             (SELECT count(*) FROM pg_stat_activity \
               WHERE backend_type IN ('client backend', 'walsender') AND pid <> pg_backend_pid()) \
             FROM pg_user WHERE usename = current_user";
        let row = self.client.query_one(sql, &[]).await;
        let row = row.map_err(|e| self.target.error("reading max_connections", e))?;
        let (allowed, reserved, used): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        let free = allowed - reserved - used;
        if needed <= free {
            return Ok(());
        }
        Err(too_many_connections(
            &self.target.place,
            (needed, free),
            &format!("max_connections {allowed}, reserved {reserved}, in use {used}"),
            ("max_connections", needed + reserved + used),
        ))
    }

    async fn sizes(&self) -> Sizes {
        let row = self.row_of_sizes().await;
        let size = |at: usize| row.as_ref()?.get(at)?.integer().try_into().ok();
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

    async fn drop_tables(&self, tables: &[&str]) -> Result<(), HammerError> {
        let sql = format!("ROLLBACK; DROP TABLE IF EXISTS {}", tables.join(", "));
        self.execute("dropping what was made", &sql).await
    }

    /// Autovacuum would only find work that loading is about to do, and hold up the building of indexes.
    fn create_for_loading(create: &str, table: &str) -> String {
        format!("{create}; ALTER TABLE {table} SET (autovacuum_enabled = false)")
    }

    fn end_loading(table: &str) -> Option<String> {
        Some(format!("ALTER TABLE {table} RESET (autovacuum_enabled)"))
    }

    fn analyze(table: &str) -> String {
        format!("ANALYZE {table}")
    }
}

/// Rows under way to a table.
pub struct Copying {
    sink: Pin<Box<CopyInSink<Bytes>>>,
    target: Target,
    doing: String,
}

impl Copying {
    async fn feed(&mut self, bytes: Bytes) -> Result<(), HammerError> {
        let fed = self.sink.feed(bytes).await;
        fed.map_err(|e| self.target.error(&self.doing, e))
    }
}

impl engines::Copying for Copying {
    async fn send(&mut self, rows: Vec<u8>) -> Result<(), HammerError> {
        self.feed(rows.into()).await
    }

    async fn finish(mut self) -> Result<(), HammerError> {
        self.feed(Bytes::from_static(TRAILER)).await?;
        let finished = self.sink.as_mut().finish().await;
        finished.map_err(|e| self.target.error(&self.doing, e))?;
        Ok(())
    }
}
