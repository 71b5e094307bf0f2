//! All tool servers of a process: their tasks, and the tools that are currently available.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tallybook_tools::{Secrets, ToolRegistry};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, interval, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    limits::{CLOSE_TIMEOUT, FIRST_CONNECTION_TIMEOUT},
    listing::LeftOut,
    naming::tool_name,
    pins::{ChangedDefinition, DefinitionHash, PinStore},
    probe::ProbedTools,
    server::{Server, State, Status},
    settings::{ToolServerSettings, ToolServersSettings},
    tool::ServerTool,
};

/// Timeout for shutting down all servers together.
const SHUTDOWN_TIMEOUT: Duration = CLOSE_TIMEOUT.saturating_mul(3);

/// Maximum time for which a removed server stays connected, because turns that started with its tools still run.
const MAX_RETIREMENT: Duration = Duration::from_hours(1);

/// Interval at which a removed server is checked for such turns.
const RETIREMENT_CHECK: Duration = Duration::from_secs(1);

/// The tool servers of a process. Clones share the servers; [`ToolServers::shut_down`] stops them.
#[derive(Clone)]
pub struct ToolServers {
    shared: Arc<Shared>,
    tasks: Arc<Mutex<JoinSet<()>>>,
    stop: CancellationToken,
}

struct Shared {
    builtin: ToolRegistry,
    /// The configured servers, in the order of the settings.
    configured: Vec<Arc<Server>>,
    /// The servers that were added at run time.
    added: Mutex<Vec<AddedServer>>,
    pins: Arc<dyn PinStore>,
    secrets: Secrets,
    started_at: Instant,
    offer: Mutex<AvailableTools>,
    changes: watch::Sender<u64>,
}

/// A server that was added at run time.
struct AddedServer {
    settings: ToolServerSettings,
    server: Arc<Server>,
    /// Ends the server's task.
    stop: CancellationToken,
}

/// Currently available tools.
struct AvailableTools {
    tools: Arc<ToolRegistry>,
    /// State of each server when `tools` was built, in the order of the servers. A server that is reported as connected
    /// has its tools in `tools`.
    reports: Vec<ServerReport>,
    /// True while a server is connecting for the first time.
    is_awaited: bool,
}

/// Result of naming the tools of one server.
#[derive(Default)]
struct NamedTools {
    /// Tools for which no name was left.
    nameless: Vec<LeftOut>,
    /// Available tools whose definition is not the accepted one, by their names in the registry.
    changed: HashMap<String, ChangedDefinition>,
}

/// State of a server.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// Name of the server in the settings.
    pub name: Arc<str>,
    /// Connection state of the server.
    pub status: Status,
    /// Reason why the tools are not available, without secrets. It may contain internal addresses, so only admins may
    /// read it.
    pub error: Option<String>,
    /// Reason why the tools are not available, for all users.
    pub plain_error: Option<String>,
    /// Number of the server's available tools.
    pub tools: usize,
    /// The server's tools that are not available, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// The server's available tools whose definition is not the accepted one, by their names in the registry.
    pub changed: HashMap<String, ChangedDefinition>,
}

impl ToolServers {
    /// Starts all servers in the background and returns at once. At first, only the built-in tools are available; their
    /// names take precedence. `pins` stores accepted definitions of tools. `secrets` receives the tokens for the
    /// servers. `find` returns the value of an environment variable. Must be called within a Tokio runtime.
    pub fn start(
        builtin: ToolRegistry,
        settings: ToolServersSettings,
        pins: &Arc<dyn PinStore>,
        secrets: &Secrets,
        find: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let ToolServersSettings { servers, oauth } = settings;
        let servers: Vec<Arc<Server>> = servers
            .into_iter()
            .map(|(name, settings)| {
                Arc::new(Server::new(&name, settings, oauth.as_ref(), pins.clone(), secrets, &find))
            })
            .collect();
        let offer = AvailableTools {
            tools: Arc::new(builtin.clone()),
            reports: servers.iter().map(|server| report(server, &server.state(), NamedTools::default())).collect(),
            is_awaited: servers.iter().any(|server| server.is_new()),
        };
        let shared = Arc::new(Shared {
            builtin,
            configured: servers,
            added: Mutex::default(),
            pins: Arc::clone(pins),
            secrets: secrets.clone(),
            started_at: Instant::now(),
            offer: Mutex::new(offer),
            changes: watch::Sender::new(0),
        });
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for server in &shared.configured {
            shared.spawn(&mut tasks, server, stop.clone());
        }
        Self { shared, tasks: Arc::new(Mutex::new(tasks)), stop }
    }

    /// Replaces the servers that were added at run time. Servers whose settings did not change stay connected. Removed
    /// servers offer no tools to new turns, and are closed when no turn has their tools any more. Variables in the
    /// settings are not expanded, because these settings do not come from the operator. A server with the name of a
    /// configured one is left out. Must be called within a Tokio runtime.
    pub fn set_added(&self, servers: Vec<(String, ToolServerSettings)>) {
        let shared = &self.shared;
        let mut tasks = self.tasks.lock();
        // Forgets tasks of servers that were removed earlier.
        while tasks.try_join_next().is_some() {}
        let mut added = shared.added.lock();
        let mut before = std::mem::take(&mut *added);
        let mut has_new = false;
        for (name, settings) in servers {
            if shared.configured.iter().any(|server| *server.name == *name) {
                continue;
            }
            let is_same = |known: &AddedServer| *known.server.name == *name && known.settings == settings;
            if let Some(index) = before.iter().position(is_same) {
                added.push(before.swap_remove(index));
                continue;
            }
            let (pins, secrets) = (Arc::clone(&shared.pins), &shared.secrets);
            let server = Arc::new(Server::new(&name, settings.clone(), None, pins, secrets, &|_: &str| None));
            let stop = self.stop.child_token();
            shared.spawn(&mut tasks, &server, stop.clone());
            added.push(AddedServer { settings, server, stop });
            has_new = true;
        }
        let is_changed = has_new || !before.is_empty();
        for removed in before {
            tasks.spawn(retire(removed));
        }
        drop((added, tasks));
        // Every change of the available tools is reported to the open pages.
        if is_changed {
            shared.publish();
        }
    }

    /// Waits until each server has connected or failed once, at most until 10 seconds after the start. Without this,
    /// the first turns after a start would lack the tools of servers that are about to connect.
    pub async fn first_connections(&self) {
        let mut changes = self.changes();
        let settled = changes.wait_for(|_| !self.shared.offer().is_awaited);
        let _ = timeout_at(self.shared.started_at + FIRST_CONNECTION_TIMEOUT, settled).await;
    }

    /// Returns the tools that a turn may use if it starts now. A turn keeps the tools that it started with.
    pub fn tools(&self) -> Arc<ToolRegistry> {
        self.shared.offer().tools.clone()
    }

    /// Returns the state of each server, in the order of the settings.
    pub fn reports(&self) -> Vec<ServerReport> {
        self.shared.offer().reports.clone()
    }

    /// Tests a configured server: lists its tools. The error is a message for admins, without secrets. Returns `None`
    /// if no configured server has the name.
    pub async fn test_configured(&self, name: &str) -> Option<Result<ProbedTools, String>> {
        let server = self.shared.configured.iter().find(|server| *server.name == *name)?;
        let tested = server.test().await.map(ProbedTools::from);
        Some(tested.map_err(|error| self.shared.secrets.redact(error.to_string()).into_owned()))
    }

    /// Returns the hash of a tool's current definition, by the name that its server uses. Returns `None` if the server
    /// does not exist or does not list the tool.
    pub fn definition(&self, server: &str, tool: &str) -> Option<DefinitionHash> {
        self.shared.server(server)?.definition(tool)
    }

    /// Marks this definition of a tool as accepted from now on.
    pub fn accept(&self, server: &str, tool: &str, definition: DefinitionHash) {
        if let Some(server) = self.shared.server(server) {
            server.accept(tool, definition);
            self.shared.publish();
        }
    }

    /// Reads the accepted definitions of all servers' tools again, which another replica may have changed.
    pub async fn read_accepted(&self) {
        let mut is_changed = false;
        for server in self.shared.servers() {
            is_changed |= server.read_accepted().await;
        }
        if is_changed {
            self.shared.publish();
        }
    }

    /// Returns a receiver that is notified of every change of the available tools.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Stops all servers and their programs. Takes a few seconds at most. Afterwards, calls of their tools fail.
    pub async fn shut_down(&self) {
        self.stop.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        if timeout(SHUTDOWN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await.is_err() {
            tracing::warn!("some tool servers did not stop in time");
        }
    }
}

/// Closes a removed server when no registry has its tools any more.
async fn retire(removed: AddedServer) {
    let AddedServer { server, stop, .. } = removed;
    let begun = Instant::now();
    let mut check = interval(RETIREMENT_CHECK);
    // Two references remain: this task's and that of the server's own task.
    while Arc::strong_count(&server) > 2 && begun.elapsed() < MAX_RETIREMENT {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = check.tick() => {}
        }
    }
    stop.cancel();
}

impl Shared {
    /// Starts the task of a server.
    fn spawn(self: &Arc<Self>, tasks: &mut JoinSet<()>, server: &Arc<Server>, stop: CancellationToken) {
        let shared = Arc::clone(self);
        tasks.spawn(Arc::clone(server).run(stop, move || shared.publish()));
    }

    /// Returns all servers: the configured ones in the order of the settings, then the added ones.
    fn servers(&self) -> Vec<Arc<Server>> {
        let added: Vec<_> = self.added.lock().iter().map(|added| Arc::clone(&added.server)).collect();
        self.configured.iter().cloned().chain(added).collect()
    }

    fn server(&self, name: &str) -> Option<Arc<Server>> {
        self.servers().into_iter().find(|server| &*server.name == name)
    }

    fn offer(&self) -> MutexGuard<'_, AvailableTools> {
        self.offer.lock()
    }

    /// Rebuilds the registry of available tools, and notifies the receivers of changes.
    fn publish(&self) {
        let mut offer = self.offer();
        let mut tools = self.builtin.clone();
        let mut withheld = Vec::new();
        let mut reports = Vec::new();
        let mut is_awaited = false;
        for server in &self.servers() {
            let mut names = NamedTools::default();
            let state = server.state();
            is_awaited |= state.status == Status::Connecting;
            withheld.extend(state.withheld().map(|tool| (server.name.clone(), tool.clone())));
            for tool in &state.selection.tools {
                let original = &tool.listed.name;
                let name = tool_name(&server.name, original, |name| tools.find_spec(name).is_some());
                let added = name.filter(|name| {
                    let tool = ServerTool::new(name.clone(), tool, server.clone());
                    tools.add(Arc::new(tool)).is_ok()
                });
                match added {
                    None => {
                        let reason = "its name is taken by another tool";
                        names.nameless.push(LeftOut::new(original, reason));
                    }
                    Some(name) if tool.changed => {
                        names.changed.insert(name, tool.listed.changed());
                    }
                    Some(_) => {}
                }
            }
            reports.push(report(server, &state, names));
        }
        // Withheld tools get their names last, so that no available tool changes its name because of them.
        for (server, tool) in withheld {
            if let Some(name) = tool_name(&server, &tool.name, |name| tools.find_spec(name).is_some()) {
                tools.remember_schema(&name, &tool.input_schema);
            }
        }
        tools.inherit_schemas(&offer.tools);
        *offer = AvailableTools { tools: Arc::new(tools), reports, is_awaited };
        drop(offer);
        self.changes.send_modify(|version| *version += 1);
    }
}

fn report(server: &Server, state: &State, named: NamedTools) -> ServerReport {
    ServerReport {
        name: server.name.clone(),
        status: state.status,
        error: state.error.as_ref().map(ToString::to_string),
        plain_error: state.error.as_ref().map(|error| server.plain(error)),
        tools: state.selection.tools.len().saturating_sub(named.nameless.len()),
        left_out: state.selection.left_out.iter().chain(&named.nameless).cloned().collect(),
        changed: named.changed,
    }
}
