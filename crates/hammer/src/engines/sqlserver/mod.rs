//! Connections to SQL Server: where a URL leads, and what the server's errors mean.
//!
//! Everything here is shared by loading, checking and running; no SQL of a workload is known here.

mod answer;
mod client;
mod column;
mod control;
mod copying;
mod failure;
mod packet;
mod params;
mod reply;
mod rows;
mod session;
mod startup;
mod statement;
mod tunnel;
mod url;
mod value;

pub use answer::Answer;
pub use control::Control;
pub use copying::Copying;
pub use params::Params;
pub use rows::TaggedRows;
pub use session::Session;
pub use value::Row;

use std::time::Duration;

use stithy_wire::Isolation;

use crate::engines::network::{Dialect, Password, Tls};
use crate::engines::target::isolation_level;
use crate::engines::{self, SessionError, SessionSettings};
use crate::error::HammerError;

/// SQL logins only.
const DIALECT: Dialect = Dialect {
    product: "SQL Server",
    schemes: &["sqlserver://"],
    remedy:
        "write it as sqlserver://me@host:1433/database, and percent-encode all but letters and \
             digits: me:p@ss/w@host is me:p%40ss%2Fw@host",
    options: &[
        "password",
        "connect_timeout",
        "encrypt",
        "trustServerCertificate",
        "ca",
    ],
    mode: "encrypt",
    modes: "strict, true, false",
    root: "ca",
    trust_any: Some("trustServerCertificate=true"),
    ciphers: "network.tlsprotocols and tlsciphers",
    port: 1433,
    is_of_libpq: false,
};

/// Settings of every session, whatever the server's defaults are: an error undoes the whole transaction, and
/// statements tell how many rows they changed. The rest is what tables with indexes of a part of their rows want.
const SETTINGS: &str = "SET XACT_ABORT ON; SET NOCOUNT OFF; SET IMPLICIT_TRANSACTIONS OFF; \
     SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON; \
     SET NUMERIC_ROUNDABORT OFF; ";

/// Packets of a virtual user's session, as small as its messages.
const SMALL_PACKETS: usize = 4096;
/// Packets of a connection that loads: the larger, the faster, and TLS has records of 16 KiB.
const LARGE_PACKETS: usize = 16_000;

/// What of a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encryption {
    /// User and password, as drivers do where encryption is off.
    OfLogin,
    /// All but the first message of each side.
    OfAll,
    /// All: TDS 8.
    FromTheStart,
}

/// Where a connection URL leads.
#[derive(Debug, Clone)]
pub struct Target {
    host: String,
    port: u16,
    user: String,
    password: Password,
    database: String,
    encryption: Encryption,
    tls: Tls,
    patience: Duration,
    place: String,
}

impl engines::Target for Target {
    const ENGINE: &'static str = "sqlserver";
    const SCHEMES: &'static [&'static str] = DIALECT.schemes;
    type Session = Session;
    type Control = Control;

    /// Reads `sqlserver://user:password@host:port/database?encrypt=strict&ca=file`.
    ///
    /// Errors: `url-invalid`, `root-certificate-invalid` (usage).
    fn parse(url: &str) -> Result<Self, HammerError> {
        url::parse(url)
    }

    /// Host, port and database.
    fn place(&self) -> &str {
        &self.place
    }

    /// Errors: `host-unknown`, `connect-refused`, `connect-timeout`, `connect-failed`, `not-sqlserver`,
    /// `tls-failed`, `not-ready` (infrastructure), `wrong-password`, `not-admitted`, `not-permitted`,
    /// `no-such-database`, `too-many-connections`, `tls-not-offered`, `certificate-not-trusted`,
    /// `certificate-other-host` (precondition).
    async fn open(&self, settings: SessionSettings) -> Result<Session, HammerError> {
        let opening = async {
            let mut client = startup::open(self, SMALL_PACKETS).await?;
            let sql = format!("{SETTINGS}{}", isolate(settings));
            client.execute(&sql).await?;
            Ok::<_, failure::NotOpened>(Session::new(client))
        };
        opening.await.map_err(|e| self.not_opened(e))
    }

    /// Errors: as [`Target::open`], `server-too-old`, `wrong-collation` (precondition).
    async fn connect(&self) -> Result<Control, HammerError> {
        Control::open(self).await
    }

    fn precondition(e: &SessionError) -> Option<(&'static str, String)> {
        failure::precondition(e)
    }
}

/// Readers see what was committed; no session of this server is read-only.
fn isolate(settings: SessionSettings) -> String {
    let isolation = match settings {
        SessionSettings::ReadOnly => Isolation::ReadCommitted,
        SessionSettings::Load(isolation) => isolation,
    };
    set_level(isolation_level(isolation))
}

fn set_level(level: &str) -> String {
    format!("SET TRANSACTION ISOLATION LEVEL {level}")
}
