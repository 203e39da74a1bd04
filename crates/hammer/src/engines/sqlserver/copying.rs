//! Rows under way to a table.
//!
//! Source: MS-TDS, section 2.2.6.1 "Bulk Load BCP".

use tokio::sync::OwnedMutexGuard;

use super::client::{Client, Failed};
use super::column::Column;
use super::packet::put_wide;
use super::reply::{token, ServerError};
use super::rows::encode_rows;
use super::Target;
use crate::engines::{self, Value};
use crate::error::HammerError;

/// Rows become a transaction after so many bytes, unless one is open: what the log must keep stays small.
const LOAD_BYTES: usize = 64 << 20;

const NAMES: &str =
    "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID(@p1) ORDER BY column_id";
/// The columns of the tree that the rows lie in.
const ORDER: &str = "SELECT c.name, CAST(ic.is_descending_key AS int) FROM sys.indexes i \
     JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id \
     JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id \
     WHERE i.object_id = OBJECT_ID(@p1) AND i.type = 1 AND ic.key_ordinal > 0 \
     ORDER BY ic.key_ordinal";

/// A table that is loaded, as the server takes its rows.
#[derive(Debug)]
struct Table {
    /// The statement before rows.
    insert: String,
    /// What stands before rows.
    head: Vec<u8>,
    columns: Vec<Column>,
}

impl Table {
    async fn read(client: &mut Client, name: &str) -> Result<Self, Failed> {
        let names = read_rows(client, NAMES, name).await?;
        let order = read_rows(client, ORDER, name).await?;
        client
            .execute(&format!("SELECT TOP 0 * FROM {name}"))
            .await?;
        let columns = client.answer.reply.columns.clone();
        if names.is_empty() || names.len() != columns.len() {
            let text = format!("the columns of {name} cannot be read");
            return Err(Failed::Refused(ServerError::made(text)));
        }
        let mut head = vec![token::COLUMNS];
        head.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        let mut listed = Vec::new();
        for (column, row) in columns.iter().zip(&names) {
            let title = row.first().and_then(Value::text).unwrap_or_default();
            let sql = column.sql().ok_or_else(|| {
                let text = format!("{name}.{title} is of a type that is not loaded");
                Failed::Refused(ServerError::made(text))
            })?;
            listed.push(format!("{} {sql}", quote(title)));
            column.write_to(&mut head);
            head.push(title.encode_utf16().count() as u8);
            put_wide(&mut head, title);
        }
        let order: Vec<String> = order.iter().map(|row| write_order(row)).collect();
        let order = match &order[..] {
            [] => String::new(),
            order => format!(", ORDER({})", order.join(", ")),
        };
        let listed = listed.join(", ");
        Ok(Table {
            insert: format!("INSERT BULK {name} ({listed}) WITH (TABLOCK{order})"),
            head,
            columns,
        })
    }
}

async fn read_rows(client: &mut Client, sql: &str, name: &str) -> Result<Vec<Vec<Value>>, Failed> {
    let mut rows = Vec::new();
    let values = [Value::Text(name.into())];
    client
        .query(sql, &values, |row| rows.push(row.values()))
        .await?;
    Ok(rows)
}

fn write_order(row: &[Value]) -> String {
    let name = row.first().and_then(Value::text).unwrap_or_default();
    let descends = row.get(1).is_some_and(|value| value.integer() == 1);
    format!("{} {}", quote(name), if descends { "DESC" } else { "ASC" })
}

fn quote(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Rows under way to a table. Where they are given up, the connection is of no more use.
pub struct Copying {
    client: OwnedMutexGuard<Client>,
    target: Target,
    doing: String,
    table: Table,
    encoded: Vec<u8>,
    /// Bytes of the load that is under way.
    sent: Option<usize>,
}

impl Copying {
    pub(super) async fn start(
        mut client: OwnedMutexGuard<Client>,
        target: Target,
        doing: &str,
        table: &str,
    ) -> Result<Self, HammerError> {
        let table = Table::read(&mut client, table).await;
        Ok(Copying {
            table: table.map_err(|e| target.error(doing, e))?,
            client,
            target,
            doing: doing.into(),
            encoded: Vec::new(),
            sent: None,
        })
    }

    async fn send_rows(&mut self, rows: &[u8]) -> Result<(), Failed> {
        self.encoded.clear();
        let encoded = encode_rows(&mut self.encoded, rows, &self.table.columns);
        encoded.map_err(Failed::Refused)?;
        if self.sent.is_none() {
            self.client.execute(&self.table.insert).await?;
            self.client.start_rows()?;
            self.client.send_rows(&self.table.head).await?;
        }
        self.client.send_rows(&self.encoded).await?;
        let sent = self.sent.unwrap_or(0) + self.encoded.len();
        self.sent = Some(sent);
        match sent >= LOAD_BYTES {
            true => self.store().await,
            false => Ok(()),
        }
    }

    async fn store(&mut self) -> Result<(), Failed> {
        const END: [u8; 13] = [token::DONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        if self.sent.take().is_none() {
            return Ok(());
        }
        self.client.send_rows(&END).await?;
        self.client.finish_rows().await
    }
}

impl engines::Copying for Copying {
    async fn send(&mut self, rows: Vec<u8>) -> Result<(), HammerError> {
        if rows.is_empty() {
            return Ok(());
        }
        let sent = self.send_rows(&rows).await;
        sent.map_err(|e| self.target.error(&self.doing, e))
    }

    async fn finish(mut self) -> Result<(), HammerError> {
        let stored = self.store().await;
        stored.map_err(|e| self.target.error(&self.doing, e))
    }
}
