//! What stands between a server and its MySQL, and can be made to fail: a TCP proxy that cuts, stalls, delays and counts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
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

/// A proxy before one server. Ends when dropped.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    line: watch::Sender<Line>,
    traffic: Arc<Traffic>,
    accepting: JoinHandle<()>,
}

/// What all connections share.
#[derive(Default)]
struct Traffic {
    loses_commit: AtomicBool,
    answered_bytes: AtomicUsize,
}

impl Proxy {
    /// A proxy before the server at `upstream`, which is `host:port`.
    pub(crate) async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let line = watch::Sender::new(Line::Open);
        let traffic = Arc::new(Traffic::default());
        let (told, shared) = (line.subscribe(), Arc::clone(&traffic));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (upstream, line, traffic) = (upstream.clone(), told.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    if *line.borrow() != Line::Cut
                        && let Ok(server) = TcpStream::connect(upstream).await
                    {
                        // However it ends, both connections are closed.
                        let _ = carry(client, server, line, &traffic).await;
                    }
                });
            }
        });
        Self { port, line, traffic, accepting }
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
        self.traffic.loses_commit.store(true, Ordering::SeqCst);
    }

    /// Whether a COMMIT's answer was asked to be lost and has not been yet.
    pub(crate) fn is_waiting_for_commit(&self) -> bool {
        self.traffic.loses_commit.load(Ordering::SeqCst)
    }

    /// How many bytes the server has answered so far.
    pub(crate) fn answered_bytes(&self) -> usize {
        self.traffic.answered_bytes.load(Ordering::SeqCst)
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
    traffic: &Traffic,
) -> std::io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        tokio::select! {
            changed = line.changed() => {
                if changed.is_err() || *line.borrow() == Line::Cut {
                    return Ok(());
                }
            }
            bytes = client.read(&mut asked) => {
                let portion = &asked[..bytes?];
                if portion.is_empty() || !is_let_through(&mut line).await {
                    return Ok(());
                }
                server.write_all(portion).await?;
                let is_commit = portion.windows(6).any(|word| word == b"COMMIT");
                if is_commit && traffic.loses_commit.swap(false, Ordering::SeqCst) {
                    // It is done when the server answers.
                    return server.readable().await;
                }
            }
            bytes = server.read(&mut answered) => {
                let portion = &answered[..bytes?];
                if portion.is_empty() || !is_let_through(&mut line).await {
                    return Ok(());
                }
                traffic.answered_bytes.fetch_add(portion.len(), Ordering::SeqCst);
                client.write_all(portion).await?;
            }
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
