//! The transport over a program's standard input and output: one line a message. The program runs in a process group of
//! its own, with an environment of its own, and the whole group ends with the connection.

use std::{io, process::Stdio, sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    model::{ErrorCode, ErrorData, NumberOrString, RequestId, ServerJsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::Mutex,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    endpoint::Program,
    limits::{CONNECT_TIMEOUT, FAREWELL_TIMEOUT, MAX_MESSAGE_BYTES, MAX_STDERR_LINES},
    text,
};

/// What is kept of a line that is too long: enough to find out whose answer it was.
const KEPT_BYTES: usize = 256;
/// How long the output of a program that ended is still read, where something that it started holds it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A running program, as a transport.
pub(super) struct ProgramTransport {
    child: Child,
    group: Group,
    input: Arc<Mutex<Option<ChildStdin>>>,
    lines: Lines<BufReader<ChildStdout>>,
    /// Set when the program has ended.
    silent_from: Option<Instant>,
    ended: CancellationToken,
    _errors: AbortOnDropHandle<()>,
}

impl ProgramTransport {
    /// Starts the program. `ended` is cancelled when nothing more can come from it.
    pub(super) fn start(server: &Arc<str>, program: &Program, ended: CancellationToken) -> io::Result<Self> {
        let mut child = Command::new(&program.command)
            .args(&program.args)
            .env_clear()
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        let missing = || io::Error::other("the program has no standard streams");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        Ok(Self {
            child,
            group,
            input: Arc::new(Mutex::new(Some(input))),
            lines: Lines::new(BufReader::new(output)),
            silent_from: None,
            ended,
            _errors: AbortOnDropHandle::new(tokio::spawn(log_errors(server.clone(), errors))),
        })
    }

    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let Self { child, lines, silent_from, .. } = self;
            tokio::select! {
                biased;
                line = lines.next() => return line.ok().flatten(),
                _ = child.wait(), if silent_from.is_none() => *silent_from = Some(Instant::now() + LAST_WORDS),
                () = sleep_until(silent_from.unwrap_or_else(Instant::now)), if silent_from.is_some() => return None,
            }
        }
    }
}

impl Transport<RoleClient> for ProgramTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = self.input.clone();
        async move {
            let mut line = serde_json::to_vec(&item).map_err(io::Error::other)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            // Taken out meanwhile: after half of a line nothing more may follow.
            let Some(mut open) = input.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
            timeout(CONNECT_TIMEOUT, async {
                open.write_all(&line).await?;
                open.flush().await
            })
            .await??;
            *input = Some(open);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(line) = self.next_line().await else {
                self.ended.cancel();
                return None;
            };
            match line.message() {
                Read::Message(message) => return Some(*message),
                Read::Nothing => {}
                Read::Lost => {
                    tracing::warn!("a tool server wrote a line that is too long and answers nobody knows what");
                    self.ended.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        if let Ok(mut input) = timeout(FAREWELL_TIMEOUT, self.input.lock()).await {
            input.take();
        }
        // A server ends when its input does; what it does not end by itself ends with the group.
        let _ = timeout(FAREWELL_TIMEOUT, self.child.wait()).await;
        self.group.kill();
        self.ended.cancel();
        Ok(())
    }
}

impl Drop for ProgramTransport {
    fn drop(&mut self) {
        self.group.kill();
        self.ended.cancel();
    }
}

/// The program and all that it started.
struct Group(Option<Pid>);

impl Group {
    /// Once: afterwards the number may belong to somebody else.
    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Lines of bounded length. Waiting for one can be given up and begun again.
struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// The last bytes of a line that is too long, whose first ones are in `line`.
    tail: Option<Vec<u8>>,
}

#[derive(Debug, PartialEq)]
enum Line {
    Whole(Vec<u8>),
    TooLong { head: Vec<u8>, tail: Vec<u8> },
}

/// What a line was.
enum Read {
    Message(Box<ServerJsonRpcMessage>),
    /// No message, and nobody waits for it.
    Nothing,
    /// An answer that cannot be told whose it is.
    Lost,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), tail: None }
    }

    /// The next line without its end; `None` at the end of all.
    async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            match &mut self.tail {
                Some(tail) => {
                    tail.extend_from_slice(&piece[piece.len().saturating_sub(KEPT_BYTES)..]);
                    tail.drain(..tail.len().saturating_sub(KEPT_BYTES));
                }
                None if self.line.len() + piece.len() > MAX_MESSAGE_BYTES => {
                    self.line.extend_from_slice(piece);
                    self.tail = Some(self.line.split_off(self.line.len() - KEPT_BYTES));
                    self.line.truncate(KEPT_BYTES);
                    self.line.shrink_to_fit();
                }
                None => self.line.extend_from_slice(piece),
            }
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Ok(Some(match self.tail.take() {
                    Some(tail) => Line::TooLong { head: line, tail },
                    None => Line::Whole(line),
                }));
            }
        }
    }
}

impl Line {
    fn message(&self) -> Read {
        let (head, tail, reason) = match self {
            Self::Whole(line) => match serde_json::from_slice(line) {
                Ok(message) => return Read::Message(Box::new(message)),
                // Some servers write their log here.
                Err(_) => {
                    (&line[..line.len().min(KEPT_BYTES)], &line[line.len().saturating_sub(KEPT_BYTES)..], UNREADABLE)
                }
            },
            Self::TooLong { head, tail } => (&head[..], &tail[..], TOO_LONG),
        };
        match id_of(head, tail) {
            Some(id) => {
                let error = ErrorData::new(ErrorCode::PARSE_ERROR, reason, None);
                Read::Message(Box::new(ServerJsonRpcMessage::error(error, Some(id))))
            }
            None if reason == TOO_LONG => Read::Lost,
            None => Read::Nothing,
        }
    }
}

const UNREADABLE: &str = "the server's answer cannot be read";
const TOO_LONG: &str = "the server's answer is longer than 2 MiB";

/// The id of an answer that was not read, from its first or last members. A quote inside of a string is escaped, so what
/// stands before the last brace, or after the first, is the message's own.
fn id_of(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let plain =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let (head, tail) = (plain(head), plain(tail));
    let after = head.strip_prefix(r#"{"jsonrpc":"2.0","#).or_else(|| head.strip_prefix('{')).unwrap_or_default();
    let first = after.strip_prefix(r#""id":"#).and_then(|rest| rest.split_once(',')).map(|(id, _)| id);
    let before = tail.strip_suffix(r#","jsonrpc":"2.0"}"#).or_else(|| tail.strip_suffix('}')).unwrap_or_default();
    let last = before.rsplit_once(r#","id":"#).map(|(_, id)| id);
    first.or(last)?.parse().ok().map(NumberOrString::Number)
}

/// What a program says beside its messages, for the log, so much of it in a minute.
async fn log_errors(server: Arc<str>, errors: ChildStderr) {
    let mut lines = Lines::new(BufReader::new(errors));
    let (mut since, mut logged) = (Instant::now(), 0_usize);
    while let Ok(Some(line)) = lines.next().await {
        if since.elapsed() > Duration::from_mins(1) {
            (since, logged) = (Instant::now(), 0);
        }
        logged += 1;
        let (Line::Whole(line) | Line::TooLong { head: line, .. }) = line;
        let line = text::message(&String::from_utf8_lossy(&line[..line.len().min(4096)]));
        match logged {
            ..MAX_STDERR_LINES => tracing::info!(%server, line, "a tool server says"),
            MAX_STDERR_LINES => tracing::info!(%server, "a tool server says more than is logged in a minute"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<Line> {
        let mut lines = Lines::new(text);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn long_lines_are_skipped_and_the_next_is_read() {
        let long = "x".repeat(2 * MAX_MESSAGE_BYTES);
        let read =
            lines(format!("one\n{{\"id\":7,\"result\":\"{long}\",\"jsonrpc\":\"2.0\"}}\ntwo\nrest").as_bytes()).await;
        assert_eq!(read.len(), 3);
        assert_eq!(read[0], Line::Whole(b"one".to_vec()));
        assert_eq!(read[2], Line::Whole(b"two".to_vec()));
        let Line::TooLong { head, tail } = &read[1] else { panic!("{:?}", read[1]) };
        assert_eq!(id_of(head, tail), Some(NumberOrString::Number(7)));
    }

    #[test]
    fn ids_are_found_at_both_ends_and_nowhere_else() {
        let id = |line: &str| id_of(line.as_bytes(), line.as_bytes());
        assert_eq!(id(r#"{"jsonrpc": "2.0", "id": 3, "result": {}}"#), Some(NumberOrString::Number(3)));
        assert_eq!(id(r#"{"result":{},"jsonrpc":"2.0","id":4}"#), Some(NumberOrString::Number(4)));
        assert_eq!(id(r#"{"result":{},"id":5,"jsonrpc":"2.0"}"#), Some(NumberOrString::Number(5)));
        assert_eq!(id(r#"{"result":"\",\"id\":6}"}"#), None);
        assert_eq!(id("a line of a log"), None);
    }
}
