//! From a target to an open byte stream, before the server is told any user.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{lookup_host, TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_postgres::config::Host;

use super::failure::NotOpened;
use super::tls::Way;
use super::Target;

/// What can be read and written.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// An open byte stream to the server.
pub(super) enum Opened {
    /// A socket of this host.
    Unix(UnixStream),
    /// TCP or TLS over it, and what binds a password to that, where the certificate has such a thing.
    Tcp(Box<dyn Duplex>, Option<Vec<u8>>),
}

/// Opens a stream and starts a session on it, in each way that the target's `sslmode` allows until
/// one leads there.
pub(super) async fn open_and<T, F: Future<Output = Result<T, NotOpened>>>(
    target: &Target,
    start: impl Fn(Opened) -> F,
) -> Result<T, NotOpened> {
    let mut ways = target.ways().iter().peekable();
    loop {
        let way = ways.next().copied().unwrap_or(Way::Plain);
        let result = match open(target, way).await {
            Ok(opened) => start(opened).await,
            Err(e) => Err(e),
        };
        match result {
            Err(e) if e.leads_on() && ways.peek().is_some() => {}
            result => return result,
        }
    }
}

/// Opens a stream in one way.
pub(super) async fn open(target: &Target, way: Way) -> Result<Opened, NotOpened> {
    let patience = target.patience;
    match target.host() {
        Host::Unix(directory) => open_unix(directory, target.port(), patience).await,
        Host::Tcp(name) => {
            let stream = open_tcp(target, name).await?;
            match way {
                Way::Plain => Ok(Opened::Tcp(Box::new(stream), None)),
                Way::Offered | Way::Demanded => {
                    within(patience, encrypt(target, name, stream, way))
                        .await
                        .unwrap_or(Err(NotOpened::Silent(patience)))
                }
            }
        }
    }
}

async fn within<T>(patience: Duration, what: impl Future<Output = T>) -> Option<T> {
    timeout(patience, what).await.ok()
}

async fn open_unix(directory: &Path, port: u16, patience: Duration) -> Result<Opened, NotOpened> {
    let path = directory.join(format!(".s.PGSQL.{port}"));
    let stream = within(patience, UnixStream::connect(path)).await;
    let stream = stream.ok_or(NotOpened::TooLate(patience))?;
    stream.map(Opened::Unix).map_err(NotOpened::NotConnected)
}

async fn open_tcp(target: &Target, name: &str) -> Result<TcpStream, NotOpened> {
    let opening = async {
        let addresses = addresses(target, name).await?;
        let stream = TcpStream::connect(&addresses[..]).await;
        let stream = stream.map_err(NotOpened::NotConnected)?;
        // A request is one small packet that must not wait for the answer to the one before.
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let opened = within(target.patience, opening).await;
    opened.unwrap_or(Err(NotOpened::TooLate(target.patience)))
}

async fn addresses(target: &Target, name: &str) -> Result<Vec<SocketAddr>, NotOpened> {
    let port = target.port();
    if let Some(address) = target.config.get_hostaddrs().first() {
        return Ok(vec![(*address, port).into()]);
    }
    let found = lookup_host((name, port)).await;
    found.map(Iterator::collect).map_err(NotOpened::NoAddress)
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
        (b'E', _) => Err(NotOpened::Ended("the server answered with an error".into())),
        _ => Err(NotOpened::NotPostgresql),
    }
}
