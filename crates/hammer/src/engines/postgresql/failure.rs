//! What can go wrong between a target and a session, and how it is reported.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::message::ServerError;
use super::trust::Mistrust;
use super::Target;
use crate::error::{ErrorClass, HammerError};

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotOpened {
    /// The name of the host has no address.
    #[error("the host's name has no address ({0})")]
    NoAddress(io::Error),
    /// Nobody answered the call.
    #[error("{0}")]
    NotConnected(io::Error),
    /// The call itself was not answered in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TooLate(Duration),
    /// The call was taken, and then nothing was said.
    #[error("the connection was accepted, and then nothing was answered for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// What was said is nothing that PostgreSQL says.
    #[error("what listens there does not speak PostgreSQL's protocol")]
    NotPostgresql,
    /// The connection ended before there was a session.
    #[error("the connection ended before the session began ({0})")]
    Ended(String),
    /// TLS is demanded, and the server has none.
    #[error("the server offers no TLS")]
    TlsNotOffered,
    /// The server's certificate does not prove what was asked for.
    #[error("{0}")]
    Mistrusted(Mistrust),
    /// Both ends could not agree on how to encrypt.
    #[error("the TLS handshake failed: {0}")]
    Handshake(io::Error),
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
            NotOpened::Handshake(_) => true,
            NotOpened::Refused(e) => e.sqlstate == "28000",
            _ => false,
        }
    }

    fn closed() -> Self {
        NotOpened::Ended("the server closed it".into())
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
            Some(io::ErrorKind::UnexpectedEof) => NotOpened::closed(),
            _ if e.is_closed() || text.contains("bytes remaining") => NotOpened::closed(),
            _ if text.contains("password missing") => NotOpened::NoPassword,
            _ if text.contains("channel binding") => NotOpened::NotBound,
            _ if text.contains("unexpected message") => NotOpened::NotPostgresql,
            _ => NotOpened::Ended(text),
        }
    }
}

impl From<io::Error> for NotOpened {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => NotOpened::closed(),
            _ => NotOpened::Ended(e.to_string()),
        }
    }
}

impl Target {
    /// The error of a session that could not be opened.
    pub(super) fn not_opened(&self, e: NotOpened) -> HammerError {
        let mut problem = e.to_string();
        let (class, code, remedy) = match &e {
            NotOpened::NoAddress(_) => down(
                "host-unknown",
                "correct the host in the URL, or make its name known to this machine",
            ),
            NotOpened::NotConnected(cause) => {
                let (code, text, remedy) = unreached(cause);
                problem = text;
                down(code, remedy)
            }
            NotOpened::TooLate(_) => down("connect-timeout", "check host, port and firewall"),
            NotOpened::Silent(_) => down(
                "connect-timeout",
                "make sure that a PostgreSQL server listens there; if one does, see its log",
            ),
            NotOpened::NotPostgresql => down("not-postgresql", "correct host and port in the URL"),
            NotOpened::Ended(_) => down(
                "connect-failed",
                "check host and port, and see the server's log",
            ),
            NotOpened::TlsNotOffered => unfit(
                "tls-not-offered",
                "set ssl = on in the server with a certificate and its key, or ask for less with \
                 sslmode=prefer",
            ),
            NotOpened::Mistrusted(mistrust) => unfit(mistrust.code(), mistrust.remedy()),
            NotOpened::Handshake(_) => down(
                "tls-failed",
                "see the server's log, and its ssl_min_protocol_version and ssl_ciphers",
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

/// Class, code and remedy of an error.
type Meaning = (ErrorClass, &'static str, &'static str);

fn down(code: &'static str, remedy: &'static str) -> Meaning {
    (ErrorClass::Infrastructure, code, remedy)
}

fn unfit(code: &'static str, remedy: &'static str) -> Meaning {
    (ErrorClass::Precondition, code, remedy)
}

/// Code, problem and remedy of a call that nobody took.
fn unreached(e: &io::Error) -> (&'static str, String, &'static str) {
    match e.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => (
            "connect-refused",
            "no server listens there".into(),
            "start the server, or correct host and port in the URL",
        ),
        io::ErrorKind::PermissionDenied => (
            "connect-failed",
            "the socket may not be opened by this user".into(),
            "run as a user who may, or open the socket's directory",
        ),
        _ => (
            "connect-failed",
            format!("the server cannot be reached: {e}"),
            "check host, port and the network",
        ),
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
