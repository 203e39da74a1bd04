//! A connection for what is asked once.

use std::sync::Arc;

use stithy_wire::Sizes;
use tokio::sync::Mutex;

use super::client::{Client, Failed, Transaction};
use super::copying::Copying;
use super::failure::NotOpened;
use super::rows::TaggedRows;
use super::startup::open;
use super::{set_level, Target, LARGE_PACKETS, SETTINGS};
use crate::engines::control::{read_numbers, select_present, too_many_connections};
use crate::engines::{self, RowFormat, TableOrder, Value};
use crate::error::HammerError;

/// The first number of the version of 2016.
const VERSION_OF_2016: u8 = 13;

/// Whether it is PostgreSQL that speaks this protocol, which numbers its versions as it likes and compares text as
/// its tables say; and how the database compares text.
const SERVER: &str = "SELECT CAST(SERVERPROPERTY('Babelfish') AS int), \
     CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS nvarchar(128))";

/// How many connections the server allows at a time, and how many there are.
const CONNECTIONS: &str =
    "SELECT COALESCE((SELECT CAST(value_in_use AS int) FROM sys.configurations \
     WHERE name = 'user connections' AND CAST(value_in_use AS int) > 0), @@MAX_CONNECTIONS), \
     (SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1)";

/// Pages that belong to tables and indexes.
const DATABASE_BYTES: &str =
    "SELECT SUM(CAST(total_pages AS bigint)) * 8192 FROM sys.allocation_units";
/// Memory that the server holds for its own use.
const CACHE_BYTES: &str = "SELECT CAST(committed_kb AS bigint) * 1024 FROM sys.dm_os_sys_info";

/// Whether a database keeps what its rows were: 1 is on.
const SNAPSHOTS: &str = "SELECT CAST(snapshot_isolation_state AS int) FROM sys.databases \
     WHERE database_id = DB_ID()";

/// A connection for what is asked once.
pub struct Control {
    client: Arc<Mutex<Client>>,
    target: Target,
}

impl Control {
    /// Opens one.
    pub(super) async fn open(target: &Target) -> Result<Self, HammerError> {
        let client = open_client(target).await;
        Ok(Control {
            client: Arc::new(Mutex::new(client.map_err(|e| target.not_opened(e))?)),
            target: target.clone(),
        })
    }

    /// None where the server tells none to this user.
    async fn read_size(&self, sql: &str) -> Option<u64> {
        let numbers = read_numbers(self, "reading sizes", sql).await.ok()?;
        let size = u64::try_from(*numbers.first()?).ok()?;
        Some(size).filter(|size| *size > 0)
    }

    async fn perform(&self, doing: &str, what: Transaction) -> Result<(), HammerError> {
        let performed = self.client.lock().await.perform(what).await;
        performed.map_err(|e| self.target.error(doing, e))
    }
}

async fn open_client(target: &Target) -> Result<Client, NotOpened> {
    let mut client = open(target, LARGE_PACKETS).await?;
    client.execute(SETTINGS).await?;
    let mut row = Vec::new();
    client
        .query(SERVER, &[], |first| row = first.values())
        .await?;
    let version = client.answer.reply.environment.version;
    let collation = row.get(1).and_then(Value::text).unwrap_or_default();
    match row.first() {
        Some(Value::Integer(_)) => Ok(client),
        _ if version < VERSION_OF_2016 => Err(NotOpened::TooOld(version)),
        _ if ["_BIN", "_BIN2", "_BIN2_UTF8"]
            .iter()
            .any(|end| collation.ends_with(end)) =>
        {
            Ok(client)
        }
        _ => Err(NotOpened::WrongCollation(collation.into())),
    }
}

impl engines::Control for Control {
    const FORMAT: &'static dyn RowFormat = &TaggedRows;
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
        read.map_err(|e| self.target.error(doing, e))
    }

    async fn copy(&self, doing: &str, table: &str, _: bool) -> Result<Copying, HammerError> {
        let client = self.client.clone().lock_owned().await;
        Copying::start(client, self.target.clone(), doing, table).await
    }

    async fn cancel(&self) {
        // It may have ended by itself, or with the connection.
        let _ = self.client.lock().await.cancel().await;
    }

    async fn present_tables(&self, names: &[&str]) -> Result<Vec<String>, HammerError> {
        select_present(self, "SELECT name FROM sys.tables", names).await
    }

    async fn require_connections(&self, count: u32) -> Result<(), HammerError> {
        let numbers = read_numbers(self, "reading 'user connections'", CONNECTIONS).await?;
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
        // This connection is one of them.
        let (needed, allowed, used) = (i64::from(count) + 1, number(0), (number(1) - 1).max(0));
        let free = allowed - used;
        if needed <= free {
            return Ok(());
        }
        Err(too_many_connections(
            &self.target.place,
            (needed, free),
            &format!("user connections {allowed}, in use {used}"),
            ("'user connections' by sp_configure", needed + used),
        ))
    }

    async fn sizes(&self) -> Sizes {
        Sizes {
            database_bytes: self.read_size(DATABASE_BYTES).await,
            cache_bytes: self.read_size(CACHE_BYTES).await,
        }
    }

    async fn begin_loading(&self) -> Result<(), HammerError> {
        Ok(())
    }

    /// Where the database keeps no versions of rows, locks keep what was read as it is.
    async fn begin_snapshot(&self) -> Result<(), HammerError> {
        let doing = "starting to read";
        let level = match read_numbers(self, doing, SNAPSHOTS).await?[..] {
            [1] => "SNAPSHOT",
            _ => "SERIALIZABLE",
        };
        self.execute(doing, &set_level(level)).await?;
        self.begin(doing).await
    }

    async fn begin(&self, doing: &str) -> Result<(), HammerError> {
        self.perform(doing, Transaction::Begin).await
    }

    async fn commit(&self, doing: &str) -> Result<(), HammerError> {
        self.perform(doing, Transaction::Commit).await
    }

    /// Where a statement was given up, another connection drops them; the server ends that of the first one
    /// when it is closed.
    async fn drop_tables(&self, tables: &[&str]) -> Result<(), HammerError> {
        let mut client = self.client.lock().await;
        if client.is_busy() {
            let opened = open_client(&self.target).await;
            *client = opened.map_err(|e| self.target.not_opened(e))?;
        }
        let dropped = drop_all(&mut client, tables).await;
        dropped.map_err(|e| self.target.error("dropping what was made", e))
    }

    fn analyze(table: &str) -> String {
        format!("UPDATE STATISTICS {table}")
    }
}

async fn drop_all(client: &mut Client, tables: &[&str]) -> Result<(), Failed> {
    if client.in_transaction() {
        client.perform(Transaction::RollBack).await?;
    }
    // A table goes before those to which it refers.
    let names: Vec<&str> = tables.iter().rev().copied().collect();
    client
        .execute(&format!("DROP TABLE IF EXISTS {}", names.join(", ")))
        .await
}
