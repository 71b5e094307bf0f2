//! What stands between a server and its MySQL, and can be made to fail: a TCP proxy that cuts, stalls, delays and counts, and makes
//! the database seem to take less than it does.

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

/// How bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// At once.
    Open,
    /// After a pause each time.
    Slow(Duration),
    /// Not at all, but connections stay.
    Stalled,
    /// Not at all: connections are closed, and new ones too.
    Cut,
}

/// The first statement of a session.
const SESSION: &[u8] = b"SET SESSION innodb_lock_wait_timeout = 5";

/// The question how large a statement may be.
const STATEMENT_LIMIT: &[u8] = b"SELECT @@max_allowed_packet";

/// What the proxy does beside carrying, on all its connections.
#[derive(Default)]
struct Tricks {
    /// Whether the answer to the next COMMIT is lost.
    loses_commit: AtomicBool,
    /// What is answered to [`STATEMENT_LIMIT`] in place of the truth; 0 for nothing.
    statement_limit: AtomicU32,
    /// The time of the database's clock in seconds; 0 for the real one.
    clock: AtomicI64,
    /// A packet with more bytes closes its connection; 0 for no limit.
    packet_limit: AtomicU32,
    /// How many bytes the server has answered so far.
    answered_bytes: AtomicUsize,
}

impl Tricks {
    fn play(&self, portion: &mut [u8]) {
        let limit = self.statement_limit.load(Ordering::SeqCst);
        if limit > 0 {
            // The operator makes it as unsigned as the server's own number.
            replace(portion, STATEMENT_LIMIT, &format!("SELECT {limit}|0"));
        }
        let clock = self.clock.load(Ordering::SeqCst);
        if clock > 0 {
            replace(portion, SESSION, &format!("SET SESSION timestamp = {clock}"));
        }
    }
}

/// Puts other words in the place of these. The length stays, since packets begin with it.
fn replace(portion: &mut [u8], words: &[u8], other: &str) {
    let Some(at) = portion.windows(words.len()).position(|found| found == words) else { return };
    let other = format!("{other:<0$}", words.len());
    portion[at..at + words.len()].copy_from_slice(other.as_bytes());
}

/// A proxy before one server. Ends when dropped.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    line: watch::Sender<Line>,
    tricks: Arc<Tricks>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// A proxy before the server at `upstream`, which is `host:port`.
    pub(crate) async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let line = watch::Sender::new(Line::Open);
        let tricks = Arc::new(Tricks::default());
        let (told, to_play) = (line.subscribe(), Arc::clone(&tricks));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (upstream, line, tricks) = (upstream.clone(), told.clone(), Arc::clone(&to_play));
                tokio::spawn(async move {
                    if *line.borrow() != Line::Cut
                        && let Ok(server) = TcpStream::connect(upstream).await
                    {
                        // However it ends, both connections are closed.
                        let _ = carry(client, server, line, &tricks).await;
                    }
                });
            }
        });
        Self { port, line, tricks, accepting }
    }

    /// Closes every connection, and each new one as it comes.
    pub(crate) fn cut(&self) {
        self.line.send_replace(Line::Cut);
    }

    /// Lets nothing through any more, without a word to either side.
    pub(crate) fn stall(&self) {
        self.line.send_replace(Line::Stalled);
    }

    /// Lets each portion wait for so long.
    pub(crate) fn slow_down(&self, pause: Duration) {
        self.line.send_replace(Line::Slow(pause));
    }

    /// Lets everything through again.
    pub(crate) fn restore(&self) {
        self.line.send_replace(Line::Open);
    }

    /// Lets the next COMMIT through, but closes its connection in place of the answer.
    pub(crate) fn lose_next_commit(&self) {
        self.tricks.loses_commit.store(true, Ordering::SeqCst);
    }

    /// Has the server believe that the database takes so many bytes in one statement.
    pub(crate) fn tell_statement_limit(&self, bytes: u32) {
        self.tricks.statement_limit.store(bytes, Ordering::SeqCst);
    }

    /// Stops the database's clock at this time, in seconds, on new connections.
    pub(crate) fn set_clock(&self, seconds: i64) {
        self.tricks.clock.store(seconds, Ordering::SeqCst);
    }

    /// Closes each connection on which the server sends a packet of more bytes, without a word.
    pub(crate) fn refuse_packets_over(&self, bytes: u32) {
        self.tricks.packet_limit.store(bytes, Ordering::SeqCst);
    }

    /// Whether a COMMIT's answer was asked to be lost and has not been yet.
    pub(crate) fn is_waiting_for_commit(&self) -> bool {
        self.tricks.loses_commit.load(Ordering::SeqCst)
    }

    /// How many bytes the server has answered so far.
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
                    // It is done when the server answers.
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

/// Where the packets begin that a client sends.
#[derive(Default)]
struct Packets {
    /// Bytes that are still to come of the last one.
    left: usize,
}

impl Packets {
    /// Reads on, and returns the size of the largest packet that begins in this portion.
    fn largest_begun(&mut self, portion: &[u8]) -> u32 {
        let (mut rest, mut largest) = (portion, 0);
        loop {
            let skipped = self.left.min(rest.len());
            self.left -= skipped;
            rest = &rest[skipped..];
            // Three bytes of length and one of number. A client that waits for each answer never tears them apart.
            let Some(([low, middle, high, _], content)) = rest.split_first_chunk() else { return largest };
            let bytes = u32::from_le_bytes([*low, *middle, *high, 0]);
            self.left = bytes as usize;
            largest = largest.max(bytes);
            rest = content;
        }
    }
}

/// Waits until the line lets a portion through. False when it is cut.
async fn is_let_through(line: &mut watch::Receiver<Line>) -> bool {
    let Ok(line) = line.wait_for(|line| *line != Line::Stalled).await.map(|line| *line) else { return false };
    if let Line::Slow(pause) = line {
        tokio::time::sleep(pause).await;
    }
    line != Line::Cut
}
