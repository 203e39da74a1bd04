//! Streams as tokio-postgres takes them, for loading, checking and whatever is asked once.

use std::future::{self, Ready};
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_postgres::{Client, Config, Connection};

use super::failure::NotOpened;
use super::message::ANSWERS_TO_START;
use super::{open, Target};
use crate::engines::network::{Duplex, Opened, Unreached};

/// The driving half of a connection; it must be polled for the [`Client`] to get answers.
type Driving = Connection<Box<dyn Duplex>, AsItIs>;

/// Starts a session on a stream.
pub(super) async fn start(target: &Target, opened: Opened) -> Result<(Client, Driving), NotOpened> {
    let (stream, binding) = parts(opened);
    let config = taking_streams_as_they_are(&target.config);
    let starting = config.connect_raw(stream, Take(binding));
    // Longer than for the first answer: reading the catalogue may wait for a device that stalls, and
    // after a run nobody tries again.
    let patience = 6 * target.patience;
    let started = tokio::time::timeout(patience, starting).await;
    let started = started.map_err(|_| NotOpened::from(Unreached::Silent(patience)))?;
    started.map_err(|e| NotOpened::of_client(&e))
}

/// Asks the server to cancel what a client does. Where the request does not arrive, nothing happens.
pub(super) async fn cancel(target: &Target, client: &Client) {
    let token = client.cancel_token();
    for way in target.ways() {
        let Ok(opened) = open::open(target, *way).await else {
            continue;
        };
        let (stream, binding) = parts(opened);
        if token.cancel_query_raw(stream, Take(binding)).await.is_ok() {
            return;
        }
    }
}

fn parts(opened: Opened) -> (Box<dyn Duplex>, Option<Vec<u8>>) {
    match opened {
        Opened::Unix(stream) => (Box::new(stream), None),
        Opened::Tcp(stream, binding) => (stream, binding),
    }
}

/// The library is told that TLS begins at once, so that it asks for nothing and hands the stream to
/// [`Take`], through which it learns what binds the password.
fn taking_streams_as_they_are(config: &Config) -> Config {
    let mut config = config.clone();
    config.ssl_mode(SslMode::Require);
    config.ssl_negotiation(SslNegotiation::Direct);
    config
}

/// Takes a stream as it is.
struct Take(Option<Vec<u8>>);

impl TlsConnect<Box<dyn Duplex>> for Take {
    type Stream = AsItIs;
    type Error = io::Error;
    type Future = Ready<Result<AsItIs, io::Error>>;

    fn connect(self, stream: Box<dyn Duplex>) -> Self::Future {
        future::ready(Ok(AsItIs {
            stream,
            binding: self.0,
            begun: false,
        }))
    }
}

/// A stream that needs nothing more, encrypted or not.
pub(super) struct AsItIs {
    stream: Box<dyn Duplex>,
    binding: Option<Vec<u8>>,
    /// Whether the server has answered with what PostgreSQL may say.
    begun: bool,
}

impl TlsStream for AsItIs {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.binding {
            Some(hash) => ChannelBinding::tls_server_end_point(hash.clone()),
            None => ChannelBinding::none(),
        }
    }
}

impl AsyncRead for AsItIs {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        let first = into.filled().get(before);
        if first.is_some_and(|tag| !self.begun && !ANSWERS_TO_START.contains(tag)) {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        self.begun |= first.is_some();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for AsItIs {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
