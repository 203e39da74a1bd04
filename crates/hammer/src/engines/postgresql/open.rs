//! From a target to an open byte stream, before the server is told any user.

use std::future::Future;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::config::Host;

use super::failure::NotOpened;
use super::Target;
use crate::engines::network::{open_tcp, open_unix, try_ways, within, Opened, Unreached, Way};

/// Opens a stream and starts a session on it, in each way that the target's `sslmode` allows until
/// one leads there.
pub(super) async fn open_and<T, F: Future<Output = Result<T, NotOpened>>>(
    target: &Target,
    start: impl Fn(Opened) -> F,
) -> Result<T, NotOpened> {
    let start = &start;
    try_ways(target.ways(), NotOpened::leads_on, |way| async move {
        start(open(target, way).await?).await
    })
    .await
}

/// Opens a stream in one way.
pub(super) async fn open(target: &Target, way: Way) -> Result<Opened, NotOpened> {
    let patience = target.patience;
    match target.host() {
        Host::Unix(directory) => {
            let path = directory.join(format!(".s.PGSQL.{}", target.port()));
            Ok(open_unix(&path, patience).await.map(Opened::Unix)?)
        }
        Host::Tcp(name) => {
            let address = target.config.get_hostaddrs().first().copied();
            let stream = open_tcp(name, address, target.port(), patience).await?;
            match way {
                Way::Plain => Ok(Opened::Tcp(Box::new(stream), None)),
                Way::Offered | Way::Demanded => {
                    within(patience, encrypt(target, name, stream, way))
                        .await
                        .unwrap_or(Err(Unreached::Silent(patience).into()))
                }
            }
        }
    }
}

/// Asks the server for TLS. One byte answers; whatever came with it would not be encrypted, and is
/// left for the handshake to stumble over.
///
/// Source: PostgreSQL documentation, "SSL Session Encryption".
async fn encrypt(
    target: &Target,
    name: &str,
    mut stream: TcpStream,
    way: Way,
) -> Result<Opened, NotOpened> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await?;
    match (stream.read_u8().await?, way) {
        (b'S', _) => {
            let (stream, binding) = target.tls.encrypt(stream, name).await?;
            Ok(Opened::Tcp(Box::new(stream), binding))
        }
        (b'N', Way::Demanded) => Err(NotOpened::TlsNotOffered),
        (b'N', _) => Ok(Opened::Tcp(Box::new(stream), None)),
        // An error that is not encrypted may be anyone's; the server's log has it.
        (b'E', _) => Err(Unreached::Ended("the server answered with an error".into()).into()),
        _ => Err(NotOpened::NotPostgresql),
    }
}
