//! Connections to PostgreSQL: where a URL leads, and what the server's errors mean.
//!
//! Everything here is shared by loading, checking and running; no SQL of a workload is known here.

mod answer;
mod message;
mod params;
mod session;
mod startup;
mod stream;

pub use answer::{Answer, Row};
pub use params::Params;
pub use session::{ServerError, Session, SessionError, Statement};
pub use startup::Setting;

use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{Client, Config, Connection, NoTls, Socket};

use crate::error::{ErrorClass, HammerError};

/// A server that does not answer at all is given up after this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The driving half of a connection; it must be polled for the [`Client`] to get answers.
pub type Driving = Connection<Socket, NoTlsStream>;

/// Where a connection URL leads. `Debug` and [`Target::place`] never show the password.
#[derive(Debug, Clone)]
pub struct Target {
    config: Config,
    place: String,
}

impl Target {
    /// Reads `postgresql://user:password@host:port/database`, or
    /// `postgresql://user:password@/database?host=/socket/directory`.
    ///
    /// Errors: `url-invalid` (usage).
    pub fn parse(url: &str) -> Result<Self, HammerError> {
        let invalid =
            |problem: String| HammerError::usage("url-invalid", problem, "url", URL_REMEDY);
        let known = url.starts_with("postgresql://") || url.starts_with("postgres://");
        if !known {
            return Err(invalid(
                "the URL is not one of a PostgreSQL database".into(),
            ));
        }
        let mut config: Config = url
            .parse()
            .map_err(|e: tokio_postgres::Error| invalid(with_cause(&e)))?;
        if config.get_hosts().is_empty() {
            return Err(invalid(
                "the URL names neither a host nor a socket directory".into(),
            ));
        }
        // The library would look up the empty name for every second connection.
        if config.get_hosts().contains(&Host::Tcp(String::new())) {
            return Err(invalid(
                "the URL has a port where it has no host; a socket's port is written &port=5433"
                    .into(),
            ));
        }
        if config.get_user().is_none() {
            return Err(invalid("the URL names no user".into()));
        }
        config.application_name("stithy-hammer");
        config.connect_timeout(CONNECT_TIMEOUT);
        let place = describe(&config);
        Ok(Target { config, place })
    }

    /// Host, port and database in words; never user or password.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Hosts, user and password.
    fn config(&self) -> &Config {
        &self.config
    }

    /// Opens one connection; the caller polls the driving half itself.
    ///
    /// Errors: `connect-refused`, `connect-timeout`, `connect-failed` (infrastructure),
    /// `wrong-password`, `no-such-database`, `too-many-connections` (precondition).
    pub async fn connect_raw(&self) -> Result<(Client, Driving), HammerError> {
        self.config
            .connect(NoTls)
            .await
            .map_err(|e| self.connect_error(e))
    }

    /// Opens one connection and drives it in a task of its own.
    ///
    /// Errors: as [`Target::connect_raw`].
    pub async fn connect(&self) -> Result<Client, HammerError> {
        let (client, driving) = self.connect_raw().await?;
        // The error of a lost connection also reaches whoever waits on the client.
        tokio::spawn(async move {
            let _ = driving.await;
        });
        Ok(client)
    }

    fn connect_error(&self, e: tokio_postgres::Error) -> HammerError {
        match e.code() {
            Some(state) => self.refused_by_server(&state.clone(), e),
            None => self.not_reached(e),
        }
    }

    fn refused_by_server(&self, state: &SqlState, e: tokio_postgres::Error) -> HammerError {
        let (class, code, remedy) = match *state {
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => (
                ErrorClass::Precondition,
                "wrong-password",
                "give the right user and password in the URL",
            ),
            SqlState::INVALID_CATALOG_NAME => (
                ErrorClass::Precondition,
                "no-such-database",
                "create the database, or name another in the URL",
            ),
            SqlState::TOO_MANY_CONNECTIONS => (
                ErrorClass::Precondition,
                "too-many-connections",
                "raise max_connections, or use fewer users or loaders",
            ),
            SqlState::CANNOT_CONNECT_NOW => (
                ErrorClass::Infrastructure,
                "not-ready",
                "wait until the server has started, then try again",
            ),
            _ => (
                ErrorClass::Infrastructure,
                "connect-failed",
                "see the server's log",
            ),
        };
        HammerError::new(class, code, with_cause(&e), self.place(), remedy).caused_by(e)
    }

    fn not_reached(&self, e: tokio_postgres::Error) -> HammerError {
        let kind = io_kind(&e);
        let (code, problem, remedy) = match kind {
            Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => (
                "connect-refused",
                "no server listens there".into(),
                "start the server, or correct host and port in the URL",
            ),
            Some(io::ErrorKind::TimedOut) => (
                "connect-timeout",
                format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()),
                "check host, port and firewall",
            ),
            Some(io::ErrorKind::PermissionDenied) => (
                "connect-failed",
                "the socket may not be opened by this user".into(),
                "run as a user who may, or open the socket's directory",
            ),
            _ if with_cause(&e).contains("password missing") => {
                return HammerError::precondition(
                    "wrong-password",
                    "the server asks for a password and the URL has none",
                    self.place(),
                    "give the password in the URL",
                )
                .caused_by(e);
            }
            _ => (
                "connect-failed",
                with_cause(&e),
                "check host, port and the server's log",
            ),
        };
        HammerError::infrastructure(code, problem, self.place(), remedy).caused_by(e)
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

const URL_REMEDY: &str = "write it as postgresql://user:password@host:5432/database, \
     or postgresql://user:password@/database?host=/socket/directory";

/// Class, code and remedy of an error on an open connection.
fn classify(e: &tokio_postgres::Error) -> (ErrorClass, &'static str, &'static str) {
    use ErrorClass::{Infrastructure, Precondition};
    match e.code() {
        Some(state) if *state == SqlState::INSUFFICIENT_PRIVILEGE => (
            Precondition,
            "not-permitted",
            "use a user who owns the database",
        ),
        Some(state) if *state == SqlState::DISK_FULL => (
            Infrastructure,
            "disk-full",
            "give the database's volume more space",
        ),
        Some(state) if is_shutdown(state) => (
            Infrastructure,
            "connection-lost",
            "see why the server stopped in its log",
        ),
        Some(_) => (Infrastructure, "server-error", "see the server's log"),
        None => (
            Infrastructure,
            "connection-lost",
            "see the server's log for why it stopped",
        ),
    }
}

/// Whether the server said that it goes away.
fn is_shutdown(state: &SqlState) -> bool {
    [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN].contains(state)
}

/// The error's own text and that of its cause.
fn with_cause(e: &tokio_postgres::Error) -> String {
    match e.source() {
        Some(cause) => format!("{e}: {cause}"),
        None => e.to_string(),
    }
}

fn io_kind(e: &tokio_postgres::Error) -> Option<io::ErrorKind> {
    e.source()?.downcast_ref::<io::Error>().map(io::Error::kind)
}

fn describe(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(directory)) => shown(directory),
        None => "no host".into(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or("?");
    format!("{host} port {port}, database {database}")
}

fn shown(directory: &Path) -> String {
    directory.display().to_string()
}
