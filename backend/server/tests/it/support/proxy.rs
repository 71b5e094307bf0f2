//! A TCP proxy between a server and its MySQL database. It can close connections, stall, delay and count their data,
//! and make the database seem to accept smaller statements than it does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// State of the proxy's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Data passes at once.
    Open,
    /// Data passes after a pause.
    Slow(Duration),
    /// No data passes, but connections stay open.
    Stalled,
    /// Connections are closed, including new ones.
    Cut,
}

/// First statement of a session.
const SESSION: &[u8] = b"SET SESSION innodb_lock_wait_timeout = 5";

/// Query for the maximum size of a statement.
const STATEMENT_LIMIT: &[u8] = b"SELECT @@max_allowed_packet";

/// Faults that the proxy adds to all its connections.
#[derive(Default)]
struct Tricks {
    /// `true` if the answer to the next COMMIT is lost.
    loses_commit: AtomicBool,
    /// Answer to [`STATEMENT_LIMIT`], in bytes, that replaces the real one; 0 for the real one.
    statement_limit: AtomicU32,
    /// Time of the database's clock, in seconds; 0 for the real one.
    clock: AtomicI64,
    /// Maximum size of a packet, in bytes; a larger one closes its connection. 0 for no limit.
    packet_limit: AtomicU32,
    /// Number of bytes that the database server has sent so far.
    answered_bytes: AtomicUsize,
}

impl Tricks {
    fn play(&self, portion: &mut [u8]) {
        let limit = self.statement_limit.load(Ordering::SeqCst);
        if limit > 0 {
            // `|0` makes the number unsigned, as the server's own number is.
            replace(portion, STATEMENT_LIMIT, &format!("SELECT {limit}|0"));
        }
        let clock = self.clock.load(Ordering::SeqCst);
        if clock > 0 {
            replace(portion, SESSION, &format!("SET SESSION timestamp = {clock}"));
        }
    }
}

/// Replaces a text with another one, padded to the same length, because packets start with their length.
fn replace(portion: &mut [u8], words: &[u8], other: &str) {
    let Some(at) = portion.windows(words.len()).position(|found| found == words) else { return };
    let other = format!("{other:<0$}", words.len());
    portion[at..at + words.len()].copy_from_slice(other.as_bytes());
}

/// A proxy before one database server. Stops when dropped.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    line: watch::Sender<Line>,
    tricks: Arc<Tricks>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy before the server at `upstream`, which is `host:port`.
    pub(crate) async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let line = watch::Sender::new(Line::Open);
        let tricks = Arc::new(Tricks::default());
        let (states, to_play) = (line.subscribe(), Arc::clone(&tricks));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (upstream, line, tricks) = (upstream.clone(), states.clone(), Arc::clone(&to_play));
                tokio::spawn(async move {
                    if *line.borrow() != Line::Cut
                        && let Ok(server) = TcpStream::connect(upstream).await
                    {
                        // In any case, both connections are closed at the end.
                        let _ = carry(client, server, line, &tricks).await;
                    }
                });
            }
        });
        Self { port, line, tricks, accepting }
    }

    /// Closes all connections, and each new one as soon as it opens.
    pub(crate) fn cut(&self) {
        self.line.send_replace(Line::Cut);
    }

    /// Stops all data, without notifying either side.
    pub(crate) fn stall(&self) {
        self.line.send_replace(Line::Stalled);
    }

    /// Delays each portion of data by `pause`.
    pub(crate) fn slow_down(&self, pause: Duration) {
        self.line.send_replace(Line::Slow(pause));
    }

    /// Lets all data pass again.
    pub(crate) fn restore(&self) {
        self.line.send_replace(Line::Open);
    }

    /// Lets the next COMMIT pass, but closes its connection instead of sending the answer.
    pub(crate) fn lose_next_commit(&self) {
        self.tricks.loses_commit.store(true, Ordering::SeqCst);
    }

    /// Makes the server believe that the database accepts at most this number of bytes in a statement.
    pub(crate) fn report_statement_limit(&self, bytes: u32) {
        self.tricks.statement_limit.store(bytes, Ordering::SeqCst);
    }

    /// Stops the database's clock at this time, in seconds, on new connections.
    pub(crate) fn set_clock(&self, seconds: i64) {
        self.tricks.clock.store(seconds, Ordering::SeqCst);
    }

    /// Closes each connection on which the server sends a larger packet, without an error message.
    pub(crate) fn refuse_packets_over(&self, bytes: u32) {
        self.tricks.packet_limit.store(bytes, Ordering::SeqCst);
    }

    /// Returns `true` if the answer to a COMMIT is still to be lost.
    pub(crate) fn is_waiting_for_commit(&self) -> bool {
        self.tricks.loses_commit.load(Ordering::SeqCst)
    }

    /// Returns the number of bytes that the database server has sent so far.
    pub(crate) fn answered_bytes(&self) -> usize {
        self.tricks.answered_bytes.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    mut line: watch::Receiver<Line>,
    tricks: &Tricks,
) -> std::io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut packets = Packets::default();
    loop {
        tokio::select! {
            changed = line.changed() => {
                if changed.is_err() || *line.borrow() == Line::Cut {
                    return Ok(());
                }
            }
            bytes = client.read(&mut asked) => {
                let portion = &mut asked[..bytes?];
                if portion.is_empty() || !is_let_through(&mut line).await {
                    return Ok(());
                }
                let limit = tricks.packet_limit.load(Ordering::SeqCst);
                if packets.largest_begun(portion) > limit && limit > 0 {
                    return Ok(());
                }
                tricks.play(portion);
                server.write_all(portion).await?;
                let is_commit = portion.windows(6).any(|word| word == b"COMMIT");
                if is_commit && tricks.loses_commit.swap(false, Ordering::SeqCst) {
                    // The COMMIT is done when the server answers.
                    return server.readable().await;
                }
            }
            bytes = server.read(&mut answered) => {
                let portion = &answered[..bytes?];
                if portion.is_empty() || !is_let_through(&mut line).await {
                    return Ok(());
                }
                tricks.answered_bytes.fetch_add(portion.len(), Ordering::SeqCst);
                client.write_all(portion).await?;
            }
        }
    }
}

/// Position in the stream of packets that a client sends.
#[derive(Default)]
struct Packets {
    /// Number of bytes of the last packet that have not arrived yet.
    left: usize,
}

impl Packets {
    /// Reads a portion of the stream. Returns the size of the largest packet that starts in it, in bytes.
    fn largest_begun(&mut self, portion: &[u8]) -> u32 {
        let (mut rest, mut largest) = (portion, 0);
        loop {
            let skipped = self.left.min(rest.len());
            self.left -= skipped;
            rest = &rest[skipped..];
            // A header has three bytes of length and one byte of sequence number. A client that waits for each answer
            // never splits a header.
            let Some(([low, middle, high, _], content)) = rest.split_first_chunk() else { return largest };
            let bytes = u32::from_le_bytes([*low, *middle, *high, 0]);
            self.left = bytes as usize;
            largest = largest.max(bytes);
            rest = content;
        }
    }
}

/// Waits until a portion of data may pass. Returns `false` if the connection must be closed.
async fn is_let_through(line: &mut watch::Receiver<Line>) -> bool {
    let Ok(line) = line.wait_for(|line| *line != Line::Stalled).await.map(|line| *line) else { return false };
    if let Line::Slow(pause) = line {
        tokio::time::sleep(pause).await;
    }
    line != Line::Cut
}
