//! A connection on which a test writes and reads raw bytes, as no client library would.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::{TIMEOUT, TestApp};

/// A connection to a server under test.
pub(crate) struct RawConnection(TcpStream);

impl RawConnection {
    pub(crate) async fn open(app: &TestApp) -> Self {
        let address = app.address.trim_start_matches("http://");
        Self(TcpStream::connect(address).await.expect("the server listens"))
    }

    /// Opens a connection that accepts little data before the test reads it.
    pub(crate) async fn open_narrow(app: &TestApp) -> Self {
        let address = app.address.trim_start_matches("http://").parse().expect("an address");
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        Self(socket.connect(address).await.expect("the server listens"))
    }

    /// Opens a connection, sends these bytes, and reads until the server closes the connection.
    pub(crate) async fn ask(app: &TestApp, bytes: &str) -> String {
        let mut connection = Self::open(app).await;
        connection.send(bytes).await;
        connection.rest().await
    }

    pub(crate) async fn send(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).await.expect("the connection is open");
    }

    /// Returns the server's data up to and including this text.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut seen = Vec::new();
        while !seen.ends_with(end.as_bytes()) {
            let byte = timeout(TIMEOUT, self.0.read_u8()).await.expect("the server answers within 20 s");
            seen.push(byte.expect("the connection is open"));
        }
        String::from_utf8(seen).expect("text")
    }

    /// Returns the server's data until it closes the connection.
    pub(crate) async fn rest(&mut self) -> String {
        String::from_utf8_lossy(&self.rest_bytes().await).into_owned()
    }

    /// Returns the bytes that the server sends until it closes the connection.
    pub(crate) async fn rest_bytes(&mut self) -> Vec<u8> {
        let mut seen = Vec::new();
        let read = self.0.read_to_end(&mut seen);
        // A connection that is reset is closed as well.
        let _ = timeout(TIMEOUT, read).await.expect("the server closes the connection within 20 s");
        seen
    }
}
