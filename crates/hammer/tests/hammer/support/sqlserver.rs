//! Databases of their own on the server that STITHY_TEST_SQLSERVER names by URL, for there is none to start. Where it
//! names none, a test says so and does nothing.

use std::io::Write;
use std::time::Duration;

use stithy_hammer::engines::{sqlserver, Control, Target};
use stithy_hammer::error::HammerError;

use super::jobs;

/// What names a server, with a user who may create databases.
const VARIABLE: &str = "STITHY_TEST_SQLSERVER";

/// The server's URL; None, which is told, where the environment names none.
pub fn server_url() -> Option<String> {
    let url = std::env::var(VARIABLE);
    if url.is_err() {
        // Not captured, as what a test prints is.
        let line = format!("SKIPPED on SQL Server: {VARIABLE} names no server by URL\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    url.ok()
}

/// One database.
pub struct SqlServer {
    name: String,
    base: String,
}

impl SqlServer {
    /// A new empty one, in place of one that another run of the tests left.
    pub async fn new_database(purpose: &str) -> Option<Self> {
        let base = server_url()?;
        let name = format!("stithy_test_{purpose}");
        let database = SqlServer { name, base };
        database.drop().await;
        let name = &database.name;
        let create = format!("CREATE DATABASE {name} COLLATE Latin1_General_100_BIN2");
        database.execute_in_master(&create).await.unwrap();
        Some(database)
    }

    /// The same with order entry in it.
    pub async fn loaded(purpose: &str, warehouses: u32) -> Option<Self> {
        let database = Self::new_database(purpose).await?;
        jobs::done(&jobs::prepare(&database.url(), warehouses, 2)).await;
        Some(database)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        self.url_of(&self.name)
    }

    /// Drops it; the server may take a moment to see that a connection is closed.
    pub async fn drop(&self) {
        let drop = format!("DROP DATABASE IF EXISTS {}", self.name);
        for _ in 0..50 {
            if self.execute_in_master(&drop).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        self.execute_in_master(&drop).await.unwrap();
    }

    async fn execute_in_master(&self, sql: &str) -> Result<(), HammerError> {
        let target = sqlserver::Target::parse(&self.url_of("master")).unwrap();
        let control = target.connect().await?;
        control.execute("making a database", sql).await
    }

    /// The server's URL with another path.
    fn url_of(&self, database: &str) -> String {
        let (server, options) = self.base.split_once('?').unwrap_or((&self.base, ""));
        let (server, _) = server.rsplit_once('/').expect("the URL names a database");
        format!("{server}/{database}?{options}")
    }
}
