//! Where a connection URL leads, and how connections are opened there.

use std::future::Future;

use stithy_wire::Isolation;

use super::control::Control;
use super::failure::SessionError;
use super::session::Session;
use crate::error::HammerError;

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSettings {
    /// Short transactions of a virtual user.
    Load(Isolation),
    /// Reads that change no file of the database.
    ReadOnly,
}

/// An isolation as the SQL standard calls it.
pub(super) fn isolation_level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// A server of one engine, as a URL names it. Never shows the password.
pub trait Target: Clone + Send + Sync + 'static {
    /// The engine's name, by which workloads find their SQL.
    const ENGINE: &'static str;
    /// How the URLs of its databases begin.
    const SCHEMES: &'static [&'static str];

    /// A session of a virtual user.
    type Session: Session;
    /// A connection for what is asked once.
    type Control: Control;

    /// The version of a database that is a part of the hammer; a server has its own.
    fn version() -> Option<&'static str> {
        None
    }

    /// Reads a URL.
    ///
    /// Errors: those of the engine's URLs (usage).
    fn parse(url: &str) -> Result<Self, HammerError>;

    /// The place in words; never user or password.
    fn place(&self) -> &str;

    /// Opens a session, with nothing prepared in it yet.
    ///
    /// Errors: those of the engine's connections (infrastructure, precondition).
    fn open(
        &self,
        settings: SessionSettings,
    ) -> impl Future<Output = Result<Self::Session, HammerError>> + Send;

    /// Opens a connection for what is asked once. Errors: as [`Target::open`].
    fn connect(&self) -> impl Future<Output = Result<Self::Control, HammerError>>;

    /// The same for loading, where an embedded engine may make the database first.
    fn connect_to_load(&self) -> impl Future<Output = Result<Self::Control, HammerError>> {
        self.connect()
    }

    /// Code and remedy of an error that must be prevented before a run, where the engine knows one.
    fn precondition(_: &SessionError) -> Option<(&'static str, String)> {
        None
    }
}
