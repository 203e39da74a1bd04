//! SQLite, embedded in the hammer: a URL names a file, and a connection is a thread of its own, because
//! every call blocks.
//!
//! A database has one writer at a time. SQLite's own waiting polls and is unfair, so the writers of a job
//! stand in line here first (`Writers`); what other processes do meets them as `SQLITE_BUSY`.

mod answer;
mod control;
mod failure;
mod rows;
mod session;
mod url;
mod worker;

pub use answer::{Answer, Params, Row};
pub use control::Control;
pub use rows::TaggedRows;
pub use session::Session;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::engines::{self, SessionSettings};
use crate::error::HammerError;

/// The line in which the writers of a database stand, first come, first served.
type Writers = Arc<Mutex<()>>;
/// The right to write, until it is dropped.
type Turn = OwnedMutexGuard<()>;

/// How the pages that a transaction changes reach the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    Wal,
    Delete,
    Truncate,
    Persist,
}

impl Journal {
    const ALL: [Journal; 4] = [
        Journal::Wal,
        Journal::Delete,
        Journal::Truncate,
        Journal::Persist,
    ];

    fn name(self) -> &'static str {
        match self {
            Journal::Wal => "wal",
            Journal::Delete => "delete",
            Journal::Truncate => "truncate",
            Journal::Persist => "persist",
        }
    }
}

/// What a URL says of its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Settings {
    journal: Journal,
    /// `off`, `normal`, `full` or `extra`.
    synchronous: &'static str,
    /// Of each connection.
    cache_kib: u32,
    /// Bytes of a page of a database that is made.
    page_bytes: u32,
    /// After so many pages of log a commit also checkpoints; 0: never.
    autocheckpoint_pages: u32,
    busy_timeout: Duration,
}

/// A database file and how it is used.
#[derive(Debug, Clone)]
pub struct Target {
    path: PathBuf,
    place: String,
    settings: Settings,
    writers: Writers,
}

impl engines::Target for Target {
    const ENGINE: &'static str = "sqlite";
    const SCHEMES: &'static [&'static str] = &["sqlite://"];
    type Session = Session;
    type Control = Control;

    fn version() -> Option<&'static str> {
        Some(rusqlite::version())
    }

    /// Reads `sqlite:///path/to/file.db?journal=wal&synchronous=full&cache_kib=2000`.
    ///
    /// Errors: `url-invalid` (usage).
    fn parse(url: &str) -> Result<Self, HammerError> {
        url::parse(url)
    }

    /// The file's path.
    fn place(&self) -> &str {
        &self.place
    }

    /// Every isolation that a job can ask for holds: writers come one after the other.
    ///
    /// Errors: `no-such-database`, `not-permitted`, `not-a-database` (precondition), `database-busy`,
    /// `connect-failed` (infrastructure).
    async fn open(&self, settings: SessionSettings) -> Result<Session, HammerError> {
        Session::open(self, settings).await
    }

    async fn connect(&self) -> Result<Control, HammerError> {
        Control::open(self, Use::Read).await
    }

    /// Makes the file where there is none. A database is loaded with a rollback journal, which keeps no
    /// page that is new, and becomes what its URL wants when all rows are there.
    async fn connect_to_load(&self) -> Result<Control, HammerError> {
        Control::open(self, Use::Load).await
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Transactions or questions, on a database that is there.
    Read,
    /// Reads that change no file.
    ReadOnly,
    /// Loading.
    Load,
}

impl Target {
    /// Opens the file and sets the connection up; blocks.
    fn open_blocking(&self, purpose: Use) -> rusqlite::Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if purpose == Use::Load {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let connection = Connection::open_with_flags(&self.path, flags)?;
        let settings = &self.settings;
        connection.busy_timeout(settings.busy_timeout)?;
        if purpose == Use::Load {
            connection.execute_batch(&format!("PRAGMA page_size = {}", settings.page_bytes))?;
            set_journal(&connection, Journal::Delete)?;
        } else {
            set_journal(&connection, settings.journal)?;
        }
        let synchronous = match purpose {
            Use::Load => "full",
            _ => settings.synchronous,
        };
        connection.execute_batch(&format!(
            "PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -{}; \
             PRAGMA wal_autocheckpoint = {}; PRAGMA query_only = {}; PRAGMA foreign_keys = {}",
            settings.cache_kib,
            settings.autocheckpoint_pages,
            purpose == Use::ReadOnly,
            purpose != Use::Load,
        ))?;
        Ok(connection)
    }
}

/// Changes the journal's mode, which is a property of the file, where it is another; refused as busy while
/// another connection uses the file.
fn set_journal(connection: &Connection, wanted: Journal) -> rusqlite::Result<()> {
    let mode = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0));
    if mode("PRAGMA journal_mode")? != wanted.name() {
        mode(&format!("PRAGMA journal_mode = {}", wanted.name()))?;
    }
    Ok(())
}
