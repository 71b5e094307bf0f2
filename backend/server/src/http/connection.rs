//! A client's connection with an idle timeout: the connection fails if the server writes nothing to it for that time.
//! It is the only limit that applies for the connection's whole lifetime. The server writes regularly to clients that
//! it serves, so the timeout only ends connections of clients that keep the server waiting.

use std::{
    io::{self, ErrorKind, IoSlice},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};

use super::{connection_limits::ConnectionPermit, metrics::Open, peer::Peer};

/// A connection that fails if nothing is written to it for `idle_timeout`.
pub(crate) struct Connection {
    stream: TcpStream,
    idle_timeout: Duration,
    end: Pin<Box<Sleep>>,
    peer: Peer,
    _counted: Open,
    _permit: Option<ConnectionPermit>,
}

impl Connection {
    pub(crate) fn new(
        stream: TcpStream,
        idle_timeout: Duration,
        counted: Open,
        permit: Option<ConnectionPermit>,
    ) -> Self {
        let end = Box::pin(sleep(idle_timeout));
        Self { stream, idle_timeout, end, peer: Peer::default(), _counted: counted, _permit: permit }
    }

    /// Returns the client, as handlers see it.
    pub(crate) fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// Checks the timeout. Returns a `TimedOut` error if nothing was written for `idle_timeout` and no handler is
    /// producing a long answer. Otherwise returns `Pending`.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        while self.end.as_mut().poll(context).is_ready() {
            if !self.peer.is_served() {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
            self.end.as_mut().reset(Instant::now() + self.idle_timeout);
        }
        Poll::Pending
    }

    fn written(&mut self, result: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if result.is_pending() {
            return self.wait(context);
        }
        self.end.as_mut().reset(Instant::now() + self.idle_timeout);
        result
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The timeout is checked first, so that it also ends a client that never stops sending.
        if let Poll::Ready(over) = self.wait(context) {
            return Poll::Ready(over);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let is_over = buffer.filled().len() == before && buffer.remaining() > 0;
        if matches!(&read, Poll::Ready(result) if result.is_err() || is_over) {
            self.peer.note_gone();
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(result, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(result, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
