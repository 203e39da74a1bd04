//! From a place to an open byte stream, before the server is told any user.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{lookup_host, TcpStream, UnixStream};
use tokio::time::timeout;

use super::failure::Unreached;
use super::tls::Way;

/// What can be read and written.
pub(in crate::engines) trait Duplex:
    AsyncRead + AsyncWrite + Unpin + Send
{
}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// An open byte stream to the server.
pub(in crate::engines) enum Opened {
    /// A socket of this host.
    Unix(UnixStream),
    /// TCP or TLS over it, and what binds a password to that, where the certificate has such a thing.
    Tcp(Box<dyn Duplex>, Option<Vec<u8>>),
}

/// Opens a session in each of the ways, until one leads there.
pub(in crate::engines) async fn try_ways<T, E, F: Future<Output = Result<T, E>>>(
    ways: &[Way],
    leads_on: impl Fn(&E) -> bool,
    open: impl Fn(Way) -> F,
) -> Result<T, E> {
    let mut ways = ways.iter().peekable();
    loop {
        let way = ways.next().copied().unwrap_or(Way::Plain);
        match open(way).await {
            Err(e) if leads_on(&e) && ways.peek().is_some() => {}
            result => return result,
        }
    }
}

/// None where it takes longer.
pub(in crate::engines) async fn within<T>(
    patience: Duration,
    what: impl Future<Output = T>,
) -> Option<T> {
    timeout(patience, what).await.ok()
}

/// Opens a socket of this host.
pub(in crate::engines) async fn open_unix(
    path: &Path,
    patience: Duration,
) -> Result<UnixStream, Unreached> {
    let stream = within(patience, UnixStream::connect(path)).await;
    let stream = stream.ok_or(Unreached::TooLate(patience))?;
    stream.map_err(Unreached::NotConnected)
}

/// Opens a connection to a host, at an address where one is given.
pub(in crate::engines) async fn open_tcp(
    host: &str,
    address: Option<IpAddr>,
    port: u16,
    patience: Duration,
) -> Result<TcpStream, Unreached> {
    let opening = async {
        let addresses: Vec<SocketAddr> = match address {
            Some(address) => vec![(address, port).into()],
            None => {
                let addresses = lookup_host((host, port)).await;
                addresses.map_err(Unreached::NoAddress)?.collect()
            }
        };
        let stream = TcpStream::connect(&addresses[..]).await;
        let stream = stream.map_err(Unreached::NotConnected)?;
        // A request is one small packet that must not wait for the answer to the one before.
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let opened = within(patience, opening).await;
    opened.unwrap_or(Err(Unreached::TooLate(patience)))
}
