//! Transport over a program's standard input and output: one message per line. The program runs in its own process
//! group and with its own environment. The whole group ends with the connection.

use std::{io, process::Stdio, sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::Mutex,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    endpoint::Program,
    exact,
    group::Group,
    limits::{CLOSE_TIMEOUT, CONNECT_TIMEOUT, MAX_STDERR_LINES},
    lines::{Line, Lines, Read},
    text,
};

/// Maximum time for which the output of an ended program is still read, if a process that it started keeps the output
/// open.
const STDERR_GRACE: Duration = Duration::from_millis(500);

/// A running program, as a transport.
pub(crate) struct ProgramTransport {
    child: Child,
    group: Group,
    input: Arc<Mutex<Option<ChildStdin>>>,
    lines: Lines<BufReader<ChildStdout>>,
    /// Time at which reading of the output stops. Set when the program has ended.
    silent_from: Option<Instant>,
    ended: CancellationToken,
    _errors: AbortOnDropHandle<()>,
}

impl ProgramTransport {
    /// Starts the program. `ended` is cancelled when the program can send nothing more.
    pub(crate) fn start(server: &Arc<str>, program: &Program, ended: CancellationToken) -> io::Result<Self> {
        let group = Group::new()?;
        let mut command = Command::new(&program.command);
        command
            .args(&program.args)
            .env_clear()
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = group.spawn(&mut command)?;
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
                _ = child.wait(), if silent_from.is_none() => *silent_from = Some(Instant::now() + STDERR_GRACE),
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
            let mut line = match exact::written(&item)? {
                Some(line) => line,
                None => serde_json::to_vec(&item)?,
            };
            line.push(b'\n');
            let mut input = input.lock().await;
            // Taken out for the duration of the write. If the write fails or is cancelled, the input stays closed,
            // because nothing may follow a partial line.
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
                    tracing::warn!("a tool server wrote a line that is too long and has no request ID");
                    self.ended.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        if let Ok(mut input) = timeout(CLOSE_TIMEOUT, self.input.lock()).await {
            input.take();
        }
        // Servers should exit when their input is closed. Processes that are still running after the timeout are killed
        // with the group.
        let _ = timeout(CLOSE_TIMEOUT, self.child.wait()).await;
        self.group.kill();
        self.ended.cancel();
        Ok(())
    }
}

impl Drop for ProgramTransport {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// Logs a program's standard error, with at most [`MAX_STDERR_LINES`] log lines per minute.
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
            ..MAX_STDERR_LINES => tracing::info!(%server, line, "stderr of a tool server"),
            MAX_STDERR_LINES => {
                tracing::info!(%server, "stderr of a tool server is truncated: it wrote more lines than are logged per \
                                         minute");
            }
            _ => {}
        }
    }
}
