//! Connections to PostgreSQL: where a URL leads, and what the server's errors mean.
//!
//! Everything here is shared by loading, checking and running; no SQL of a workload is known here.

mod answer;
mod control;
mod failure;
mod message;
mod open;
mod params;
mod rows;
mod session;
mod startup;
mod tokio_stream;
mod url;
mod value;

pub use answer::{Answer, Row};
pub use control::Control;
pub use params::Params;
pub use rows::BinaryRows;
pub use session::Session;

use std::time::Duration;

use tokio_postgres::config::Host;
use tokio_postgres::Config;

use crate::engines::network::{Dialect, Tls, Way};
use crate::engines::{self, SessionSettings};
use crate::error::HammerError;
use startup::Setting;
use stithy_wire::Isolation;

/// Settings of every session: plans are made once, as those of an application's prepared statements,
/// and no transaction is long enough for compiling.
const SETTINGS: [Setting; 2] = [("plan_cache_mode", "force_generic_plan"), ("jit", "off")];

/// Options mean here what they mean to libpq.
const DIALECT: Dialect = Dialect {
    product: "PostgreSQL",
    schemes: &["postgresql://", "postgres://"],
    remedy: "write it as postgresql://me@host:5432/database or \
             postgresql://me@/database?host=/run/pg, and percent-encode all but letters and digits: \
             me:p@ss/w@host is me:p%40ss%2Fw@host",
    options: &[
        "host",
        "hostaddr",
        "port",
        "user",
        "password",
        "dbname",
        "options",
        "connect_timeout",
        "channel_binding",
        "sslmode",
        "sslrootcert",
    ],
    mode: "sslmode",
    modes: "disable, allow, prefer, require, verify-ca, verify-full",
    root: "sslrootcert",
    trust_any: None,
    ciphers: "ssl_min_protocol_version and ssl_ciphers",
    port: 5432,
    is_of_libpq: true,
};

/// Where a connection URL leads. `Debug` and [`Target::place`] never show the password.
#[derive(Debug, Clone)]
pub struct Target {
    config: Config,
    tls: Tls,
    patience: Duration,
    place: String,
}

impl engines::Target for Target {
    const ENGINE: &'static str = "postgresql";
    const SCHEMES: &'static [&'static str] = DIALECT.schemes;
    type Session = Session;
    type Control = Control;

    /// Reads `postgresql://user:password@host:port/database?sslmode=verify-full&sslrootcert=file`, or
    /// `postgresql://user:password@/database?host=/socket/directory`.
    ///
    /// Errors: `url-invalid`, `root-certificate-invalid` (usage).
    fn parse(url: &str) -> Result<Self, HammerError> {
        url::parse(url)
    }

    /// Host, port and database.
    fn place(&self) -> &str {
        &self.place
    }

    /// Errors: `host-unknown`, `connect-refused`, `connect-timeout`, `connect-failed`,
    /// `not-postgresql`, `tls-failed`, `not-ready` (infrastructure), `wrong-password`,
    /// `not-admitted`, `not-permitted`, `not-bound`, `pooled`, `no-such-database`, `too-many-connections`,
    /// `tls-not-offered`, `certificate-not-trusted`, `certificate-other-host` (precondition).
    async fn open(&self, settings: SessionSettings) -> Result<Session, HammerError> {
        let kept = kept(settings);
        let all: Vec<Setting> = SETTINGS.iter().copied().chain([kept]).collect();
        let opened = Session::open(self, &all).await;
        opened.map_err(|e| self.not_opened(e))
    }

    async fn connect(&self) -> Result<Control, HammerError> {
        Control::open(self).await
    }
}

/// The setting that a session of this kind has besides [`SETTINGS`].
fn kept(settings: SessionSettings) -> Setting {
    match settings {
        SessionSettings::ReadOnly => ("default_transaction_read_only", "on"),
        SessionSettings::Load(isolation) => {
            let level = match isolation {
                Isolation::ReadCommitted => "read committed",
                Isolation::RepeatableRead => "repeatable read",
                Isolation::Serializable => "serializable",
            };
            ("default_transaction_isolation", level)
        }
    }
}

impl Target {
    fn host(&self) -> &Host {
        // Parsing refuses a URL that does not name exactly one.
        &self.config.get_hosts()[0]
    }

    fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(5432)
    }

    /// What `sslmode` allows; a socket of this host is never encrypted.
    fn ways(&self) -> &'static [Way] {
        match self.host() {
            Host::Unix(_) => &[Way::Plain],
            Host::Tcp(_) => self.tls.ways,
        }
    }

    fn described(&self) -> String {
        let host = match self.host() {
            Host::Tcp(name) => name.clone(),
            Host::Unix(directory) => directory.display().to_string(),
        };
        let config = &self.config;
        let database = config.get_dbname().or(config.get_user()).unwrap_or("?");
        format!("{host} port {}, database {database}", self.port())
    }
}
