//! Helpers that the tests share.

use std::{
    cell::RefCell,
    collections::HashMap,
    future::ready,
    io,
    sync::{
        Arc, Once,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tallybook_mcp::{
    DefinitionHash, PinError, PinStore, ServerReport, Status, ToolServers, ToolServersSettings, read_servers_file,
};
use tallybook_mock_mcp::{MockMcp, Program};
use tallybook_tools::{AdmittedCall, Progress, ProgressSender, Secrets, ToolError, UserKey, builtin};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time,
};

/// Timeout of a test that waits for something that must happen.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the settings of servers, written as in `.mcp_servers`.
pub(crate) fn settings(servers: &Value) -> ToolServersSettings {
    read_servers_file(&json!({ "mcpServers": servers }).to_string()).unwrap()
}

/// Starts servers. The environment for their settings contains `PATH`, client credentials, and the secret `SECRET`.
pub(crate) fn start(settings: ToolServersSettings) -> ToolServers {
    start_with(settings, Pins::default())
}

/// Starts servers with this store of definitions.
pub(crate) fn start_with(settings: ToolServersSettings, pins: Pins) -> ToolServers {
    start_all(settings, pins, &Secrets::default())
}

/// Starts servers whose texts may contain these secrets.
pub(crate) fn start_hiding(settings: ToolServersSettings, secrets: &Secrets) -> ToolServers {
    start_all(settings, Pins::default(), secrets)
}

fn start_all(settings: ToolServersSettings, pins: Pins, secrets: &Secrets) -> ToolServers {
    static TLS: Once = Once::new();
    TLS.call_once(|| {
        tallybook_http_client::install_crypto_provider();
    });
    let pins: Arc<dyn PinStore> = Arc::new(pins);
    ToolServers::start(builtin().unwrap(), settings, &pins, secrets, |name| match name {
        "PATH" => std::env::var("PATH").ok(),
        "CLIENT_ID" => Some("id".to_owned()),
        "CLIENT_SECRET" => Some("secret".to_owned()),
        "SECRET" => Some("top secret".to_owned()),
        _ => None,
    })
}

/// Store that accepts the definitions that were first seen.
#[derive(Default)]
pub(crate) struct Pins {
    first_seen: Mutex<HashMap<String, DefinitionHash>>,
    /// Number of requests that still fail.
    failures: AtomicU32,
}

impl Pins {
    pub(crate) fn failing(times: u32) -> Self {
        Self { failures: AtomicU32::new(times), ..Self::default() }
    }
}

impl PinStore for Pins {
    fn accepted(
        &self,
        _: Arc<str>,
        seen: Vec<(String, DefinitionHash)>,
    ) -> BoxFuture<'_, Result<HashMap<String, DefinitionHash>, PinError>> {
        if self.failures.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            return ready(Err("the database is unreachable".into())).boxed();
        }
        let mut pins = self.first_seen.lock();
        if pins.is_empty() {
            pins.extend(seen);
        }
        ready(Ok(pins.clone())).boxed()
    }
}

/// Starts one server `mock` over HTTP, and waits until it is connected.
pub(crate) async fn over_http(mock: &MockMcp) -> ToolServers {
    let servers = start(settings(&json!({ "mock": { "url": mock.url(), "risk": "low" } })));
    connected(&servers).await;
    servers
}

/// Starts one server `mock` over standard streams, and waits until it is connected.
pub(crate) async fn over_stdio(faults: &[&str]) -> ToolServers {
    let servers = start(settings(&json!({ "mock": stdio_entry(faults) })));
    connected(&servers).await;
    servers
}

/// Returns the settings of a server over standard streams.
pub(crate) fn stdio_entry(faults: &[&str]) -> Value {
    let Program { command, args, env } = Program::of_test("support::tool_server_process", faults);
    json!({ "command": command, "args": args, "env": env, "risk": "low" })
}

/// Runs this test binary as a tool server; see [`Program`].
#[test]
fn tool_server_process() {
    tallybook_mock_mcp::serve_if_asked();
}

/// Waits until the first server's report satisfies `is_so`.
pub(crate) async fn until(servers: &ToolServers, is_so: impl Fn(&ServerReport) -> bool) -> ServerReport {
    let mut changes = servers.changes();
    let waited = time::timeout(WAIT_TIMEOUT, async {
        loop {
            let report = servers.reports().remove(0);
            if is_so(&report) {
                return report;
            }
            changes.changed().await.unwrap();
        }
    });
    waited.await.unwrap_or_else(|_| panic!("not in time; it is {:?}", servers.reports()))
}

pub(crate) async fn connected(servers: &ToolServers) -> ServerReport {
    until(servers, |report| report.status == Status::Connected).await
}

pub(crate) async fn failed(servers: &ToolServers) -> ServerReport {
    until(servers, |report| report.status == Status::Failed).await
}

thread_local! {
    /// Log of this thread, while a test reads it.
    static LOG: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Collects what a test logs while this value exists. Each test runs on its own thread, and all tests share one
/// subscriber. With one subscriber per test, `tracing` may cache that an event has no subscriber while another test
/// emits it.
pub(crate) struct Logged(());

impl Logged {
    pub(crate) fn new() -> Self {
        static SUBSCRIBER: Once = Once::new();
        SUBSCRIBER.call_once(|| {
            let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(|| ThreadLog).finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
        LOG.set(Some(Vec::new()));
        Self(())
    }

    /// Returns the log so far.
    #[expect(clippy::unused_self, reason = "the log exists while this value exists")]
    pub(crate) fn text(&self) -> String {
        LOG.with_borrow(|log| String::from_utf8_lossy(log.as_deref().unwrap_or_default()).into_owned())
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        LOG.set(None);
    }
}

/// Writes to the log of the current thread.
struct ThreadLog;

impl io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| log.as_mut().map(|log| log.extend_from_slice(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Advances the timers of this test by this time at once.
pub(crate) async fn pass(time: Duration) {
    time::pause();
    time::advance(time).await;
    time::resume();
}

/// Returns a sender of progress, and a receiver for what it sends.
pub(crate) fn progress() -> (ProgressSender, UnboundedReceiver<Progress>) {
    let (sender, receiver) = unbounded_channel();
    (ProgressSender::new(move |progress| drop(sender.send(progress))), receiver)
}

/// Calls a tool of the server `mock` for a user who receives its progress.
pub(crate) fn call_for(
    whose: UserKey,
    servers: &ToolServers,
    tool: &str,
    arguments: &str,
    progress: ProgressSender,
) -> AdmittedCall {
    let waiting = servers.tools().begin(&format!("mock__{tool}"), arguments, whose, progress);
    async move { waiting.await.await }.boxed()
}

/// Calls a tool of the server `mock`.
pub(crate) async fn call(servers: &ToolServers, tool: &str, arguments: &Value) -> Result<String, ToolError> {
    let called = servers.tools().call(&format!("mock__{tool}"), &arguments.to_string());
    time::timeout(WAIT_TIMEOUT, called).await.expect("a call must end").map(|output| output.text)
}

/// Returns the `error_type` of a call that must fail.
pub(crate) async fn failure(servers: &ToolServers, tool: &str) -> String {
    call(servers, tool, &json!({})).await.unwrap_err().error_type
}
