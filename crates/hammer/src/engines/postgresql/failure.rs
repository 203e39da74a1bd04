//! What can go wrong between a target and a session, and how it is reported.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::error::SqlState;

use super::message::ServerError;
use super::{Target, DIALECT};
use crate::engines::network::{down, unfit, Meaning, Unreached};
use crate::error::HammerError;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotOpened {
    /// No byte stream leads there, or it ended.
    #[error(transparent)]
    Unreached(#[from] Unreached),
    /// What was said is nothing that PostgreSQL says.
    #[error("what listens there does not speak PostgreSQL's protocol")]
    NotPostgresql,
    /// TLS is demanded, and the server has none.
    #[error("the server offers no TLS")]
    TlsNotOffered,
    /// The server asks for a password.
    #[error("the server asks for a password and the URL has none")]
    NoPassword,
    /// Channel binding is demanded, and the server cannot do it.
    #[error("the server cannot bind the password to the TLS connection")]
    NotBound,
    /// The server answered with an error.
    #[error("the server refused the connection: {} (SQLSTATE {})", .0.text, .0.sqlstate)]
    Refused(ServerError),
}

impl NotOpened {
    /// Whether another way of encrypting may lead further: the handshake failed, or the server admits
    /// this user in that way only.
    pub(super) fn leads_on(&self) -> bool {
        match self {
            NotOpened::Unreached(Unreached::Handshake(_)) => true,
            NotOpened::Refused(e) => e.sqlstate == "28000",
            _ => false,
        }
    }

    /// What tokio-postgres says of a session that it could not begin.
    pub(super) fn of_client(e: &tokio_postgres::Error) -> Self {
        if let Some(db) = e.as_db_error() {
            return NotOpened::Refused(ServerError {
                sqlstate: db.code().code().to_string(),
                text: db.message().to_string(),
                ends_session: true,
            });
        }
        let text = with_cause(e);
        match io_kind(e) {
            // The library's word for bytes that are no message.
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                NotOpened::NotPostgresql
            }
            Some(io::ErrorKind::UnexpectedEof) => Unreached::closed().into(),
            _ if e.is_closed() || text.contains("bytes remaining") => Unreached::closed().into(),
            _ if text.contains("password missing") => NotOpened::NoPassword,
            _ if text.contains("channel binding") => NotOpened::NotBound,
            _ if text.contains("unexpected message") => NotOpened::NotPostgresql,
            _ => Unreached::Ended(text).into(),
        }
    }
}

impl From<io::Error> for NotOpened {
    fn from(e: io::Error) -> Self {
        Unreached::from(e).into()
    }
}

impl Target {
    /// The error of a session that could not be opened.
    pub(super) fn not_opened(&self, e: NotOpened) -> HammerError {
        let problem = e.to_string();
        let (class, code, remedy) = match &e {
            NotOpened::Unreached(e) => e.meaning(&DIALECT),
            NotOpened::NotPostgresql => down("not-postgresql", "correct host and port in the URL"),
            NotOpened::TlsNotOffered => unfit(
                "tls-not-offered",
                "set ssl = on in the server with a certificate and its key, or ask for less with \
                 sslmode=prefer",
            ),
            NotOpened::NoPassword => unfit("wrong-password", "give the password in the URL"),
            NotOpened::NotBound => unfit(
                "not-bound",
                "leave channel_binding=require out of the URL, or let the server use TLS and \
                 scram-sha-256",
            ),
            NotOpened::Refused(e) => refused(e),
        };
        HammerError::new(class, code, problem, &self.place, remedy).caused_by(e)
    }

    /// The meaning of an error that came while `doing` something on an open connection.
    ///
    /// Errors: `connection-lost`, `disk-full`, `server-error` (infrastructure), `not-permitted`
    /// (precondition).
    pub fn error(&self, doing: &str, e: tokio_postgres::Error) -> HammerError {
        let place = format!("{}, while {doing}", self.place);
        let (class, code, remedy) = classify(&e);
        let problem = match e.as_db_error() {
            Some(db) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
            None => with_cause(&e),
        };
        HammerError::new(class, code, problem, place, remedy).caused_by(e)
    }
}

fn refused(e: &ServerError) -> Meaning {
    match SqlState::from_code(&e.sqlstate) {
        SqlState::INVALID_PASSWORD => unfit(
            "wrong-password",
            "give the right user and password in the URL",
        ),
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => unfit(
            "not-admitted",
            "correct user and sslmode in the URL, or let the server's pg_hba.conf admit them",
        ),
        SqlState::INSUFFICIENT_PRIVILEGE => unfit(
            "not-permitted",
            "use a user who may connect to this database",
        ),
        SqlState::INVALID_CATALOG_NAME => unfit(
            "no-such-database",
            "create the database, or name another in the URL",
        ),
        SqlState::TOO_MANY_CONNECTIONS => unfit(
            "too-many-connections",
            "raise max_connections, or use fewer users or loaders",
        ),
        SqlState::PROTOCOL_VIOLATION if e.text.contains("startup parameter") => unfit(
            "pooled",
            "name the server itself: what answers is a connection pooler, such as pgbouncer",
        ),
        SqlState::CANNOT_CONNECT_NOW => down(
            "not-ready",
            "wait until the server has started, then try again",
        ),
        _ => down("connect-failed", "see the server's log"),
    }
}

/// The meaning of an error on an open connection.
fn classify(e: &tokio_postgres::Error) -> Meaning {
    match e.code() {
        Some(state) if *state == SqlState::INSUFFICIENT_PRIVILEGE => {
            unfit("not-permitted", "use a user who owns the database")
        }
        Some(state) if *state == SqlState::DISK_FULL => {
            down("disk-full", "give the database's volume more space")
        }
        Some(state) if is_shutdown(state) => {
            down("connection-lost", "see why the server stopped in its log")
        }
        Some(_) => down("server-error", "see the server's log"),
        None => down("connection-lost", "see the server's log for why it stopped"),
    }
}

/// Whether the server said that it goes away.
fn is_shutdown(state: &SqlState) -> bool {
    [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN].contains(state)
}

/// The error's own text and that of its cause.
pub(super) fn with_cause(e: &tokio_postgres::Error) -> String {
    match e.source() {
        Some(cause) => format!("{e}: {cause}"),
        None => e.to_string(),
    }
}

fn io_kind(e: &tokio_postgres::Error) -> Option<io::ErrorKind> {
    e.source()?.downcast_ref::<io::Error>().map(io::Error::kind)
}
