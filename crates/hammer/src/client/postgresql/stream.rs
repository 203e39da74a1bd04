//! The byte stream under a session: a Unix socket or TCP.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::Pin;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::Host;
use tokio_postgres::Config;

/// Bytes asked for at a time. A read that gives less than it could tells the runtime, without a
/// further system call, that nothing is left.
const READ_BYTES: usize = 8192;

trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// An open byte stream to the server.
pub(super) struct Stream(Box<dyn Duplex>);

impl Stream {
    /// Opens a stream to the first host that the configuration names.
    pub(super) async fn open(config: &Config) -> io::Result<Self> {
        let host = config
            .get_hosts()
            .first()
            .ok_or(io::ErrorKind::InvalidInput)?;
        let port = config.get_ports().first().copied().unwrap_or(5432);
        Ok(match host {
            Host::Unix(directory) => Stream(Box::new(open_unix(directory, port).await?)),
            Host::Tcp(name) => Stream(Box::new(open_tcp(name, port).await?)),
        })
    }

    /// Sends all bytes.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// Appends what there is to read, at least a byte. Errors: `UnexpectedEof` at the end.
    pub(super) async fn receive(&mut self, into: &mut BytesMut) -> io::Result<()> {
        into.reserve(READ_BYTES);
        match self.0.read_buf(into).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Ends the sending half, so that the server sees the end at once.
    pub(super) async fn close(&mut self) {
        // The other end may be gone already; nothing is lost then.
        let _ = poll_fn(|cx| Pin::new(&mut self.0).poll_shutdown(cx)).await;
    }
}

async fn open_unix(directory: &Path, port: u16) -> io::Result<UnixStream> {
    UnixStream::connect(directory.join(format!(".s.PGSQL.{port}"))).await
}

async fn open_tcp(name: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((name, port)).await?;
    // A request is one small packet that must not wait for the answer to the one before.
    stream.set_nodelay(true)?;
    Ok(stream)
}
