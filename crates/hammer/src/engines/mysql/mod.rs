//! Connections to MariaDB and MySQL, which speak one protocol: where a URL leads, and what the server's
//! errors mean. What differs between the two is asked of the server.
//!
//! Everything here is shared by loading, checking and running; no SQL of a workload is known here.

mod answer;
mod authentication;
mod client;
mod control;
mod failure;
mod message;
mod packet;
mod params;
mod rows;
mod session;
mod startup;
mod text;
mod url;
mod value;

pub use answer::Answer;
pub use control::{Control, Copying};
pub use params::Params;
pub use rows::TextRows;
pub use session::Session;
pub use value::Row;

use std::path::PathBuf;
use std::time::Duration;

use crate::engines::network::{Dialect, Password, Tls, Way};
use crate::engines::target::isolation_level;
use crate::engines::{self, SessionError, SessionSettings};
use crate::error::HammerError;

/// One server is named by host or socket.
const DIALECT: Dialect = Dialect {
    product: "MariaDB or MySQL",
    schemes: &["mariadb://", "mysql://"],
    remedy: "write it as mariadb://me@host:3306/database or \
             mariadb://me@/database?socket=/run/mariadb.sock, and percent-encode all but letters and \
             digits: me:p@ss/w@host is me:p%40ss%2Fw@host",
    options: &["socket", "password", "connect_timeout", "tls", "ca"],
    mode: "tls",
    modes: "disable, prefer, require, verify-ca, verify-full",
    root: "ca",
    trust_any: None,
    ciphers: "tls_version and ssl_cipher",
    port: 3306,
    is_of_libpq: false,
};

/// Settings of every session of a virtual user, whatever the server's defaults are.
const SETTINGS: &str = "SET SESSION autocommit = 1, time_zone = '+00:00', \
     sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Socket(PathBuf),
    Tcp(String),
}

/// Where a connection URL leads.
#[derive(Debug, Clone)]
pub struct Target {
    host: Host,
    port: u16,
    user: String,
    password: Password,
    database: String,
    tls: Tls,
    patience: Duration,
    place: String,
}

impl engines::Target for Target {
    const ENGINE: &'static str = "mysql";
    const SCHEMES: &'static [&'static str] = DIALECT.schemes;
    type Session = Session;
    type Control = Control;

    /// Reads `mariadb://user:password@host:port/database?tls=verify-full&ca=file`, or
    /// `mariadb://user:password@/database?socket=/path`.
    ///
    /// Errors: `url-invalid`, `root-certificate-invalid` (usage).
    fn parse(url: &str) -> Result<Self, HammerError> {
        url::parse(url)
    }

    /// Host and port or socket, and database.
    fn place(&self) -> &str {
        &self.place
    }

    /// Errors: `host-unknown`, `connect-refused`, `connect-timeout`, `connect-failed`, `not-mysql`,
    /// `tls-failed`, `not-ready` (infrastructure), `wrong-password`, `not-admitted`, `not-permitted`,
    /// `no-such-database`, `too-many-connections`, `server-too-old`, `tls-not-offered`,
    /// `certificate-not-trusted`, `certificate-other-host` (precondition).
    async fn open(&self, settings: SessionSettings) -> Result<Session, HammerError> {
        let opening = async {
            let mut client = startup::open(self, 0).await?;
            for sql in ["SET NAMES utf8mb4", SETTINGS, &kept(settings)] {
                client.execute(sql).await?;
            }
            Ok::<_, failure::NotOpened>(Session::new(client))
        };
        opening.await.map_err(|e| self.not_opened(e))
    }

    async fn connect(&self) -> Result<Control, HammerError> {
        Control::open(self).await
    }

    fn precondition(e: &SessionError) -> Option<(&'static str, String)> {
        failure::precondition(e)
    }
}

/// The setting that a session of this kind has besides [`SETTINGS`].
fn kept(settings: SessionSettings) -> String {
    match settings {
        SessionSettings::ReadOnly => "SET SESSION TRANSACTION READ ONLY".into(),
        SessionSettings::Load(isolation) => format!(
            "SET SESSION TRANSACTION ISOLATION LEVEL {}",
            isolation_level(isolation)
        ),
    }
}

impl Target {
    /// What the URL's `tls` allows; a socket of this host is never encrypted.
    fn ways(&self) -> &'static [Way] {
        match self.host {
            Host::Socket(_) => &[Way::Plain],
            Host::Tcp(_) => self.tls.ways,
        }
    }
}
