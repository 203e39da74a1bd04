//! The bytes of a TLS handshake, which stand in packets of TDS until it is done.
//!
//! Source: MS-TDS, section 2.2.6.5 "PRELOGIN", "TLS payload".

use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::packet::{kind, put_message, read_head, HEAD_BYTES};

/// Packets before both sides agreed on their size.
pub(super) const FIRST_PACKETS: usize = 4096;

/// A stream whose bytes stand in packets, until they no longer do.
pub(super) struct Tunnel<S> {
    inner: S,
    wraps: bool,
    /// Bytes that wait to be sent, without heads.
    unsent: Vec<u8>,
    /// Packets under way, and how much of them was sent.
    packets: (Vec<u8>, usize),
    head: Vec<u8>,
    /// Bytes that are left of the packet that is received.
    left: usize,
}

impl<S> Tunnel<S> {
    pub(super) fn new(inner: S) -> Self {
        Tunnel {
            inner,
            wraps: true,
            unsent: Vec::new(),
            packets: (Vec::new(), 0),
            head: Vec::new(),
            left: 0,
        }
    }

    /// From now on bytes stand alone.
    pub(super) fn stop_wrapping(&mut self) {
        self.wraps = false;
    }

    /// The stream alone.
    pub(super) fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: AsyncRead + Unpin> Tunnel<S> {
    /// Reads heads until there is a packet with bytes; false at the end of the stream.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.left == 0 {
            let mut bytes = [0; HEAD_BYTES];
            let mut buffer = ReadBuf::new(&mut bytes[self.head.len()..]);
            ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Ok(false));
            }
            self.head.extend_from_slice(buffer.filled());
            if let Ok(head) = self.head[..].try_into() {
                self.left = read_head(head, &[kind::PRELOGIN, kind::REPLY])?;
                self.head.clear();
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tunnel<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.wraps {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        }
        if !ready!(self.poll_head(cx))? {
            return Poll::Ready(Ok(()));
        }
        let count = self.left.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(count));
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut part))?;
        let count = part.filled().len();
        buffer.advance(count);
        self.left -= count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tunnel<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.wraps {
            return Pin::new(&mut self.inner).poll_write(cx, bytes);
        }
        self.unsent.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    /// What was written since the last time is one message.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let (packets, sent) = &mut this.packets;
            if *sent < packets.len() {
                let inner = Pin::new(&mut this.inner);
                *sent += ready!(inner.poll_write(cx, &packets[*sent..]))?;
                continue;
            }
            packets.clear();
            *sent = 0;
            if this.unsent.is_empty() {
                return Pin::new(&mut this.inner).poll_flush(cx);
            }
            put_message(packets, kind::PRELOGIN, &this.unsent, FIRST_PACKETS);
            this.unsent.clear();
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
