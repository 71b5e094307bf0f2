//! One tool server: the task that connects to it, lists its tools, monitors it and reconnects; and its calls.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use parking_lot::{Mutex, MutexGuard};
use tallybook_tools::{FairSemaphore, ProgressSender, Secrets, Slot, ToolError, ToolOutput, UserKey};
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use url::Position;

use super::{
    client::Connection,
    endpoint::{Endpoint, call_timeout},
    error::ServerError,
    exact::Arguments,
    limits::{
        CLOSE_TIMEOUT, FIRST_PAUSE, HANDSHAKE_TIMEOUT, MAX_CONCURRENT_CALLS, MAX_PAUSE, MIN_REFRESH, REFRESH_INTERVAL,
        SETTLED_AFTER,
    },
    listing::{ListedTool, Listing, list},
    pins::{DefinitionHash, PinStore},
    result::tool_result,
    settings::{OAuthSettings, ToolServerSettings},
    text,
    tool_selection::{ToolSelection, apply_filters, select_tools, tools_with_approval},
    transport::{OpenTransport, Transport},
};

/// Connection state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its tools are available.
    Connected,
    /// The first connection is being made.
    Connecting,
    /// The server cannot be used. Tallybook tries again, unless the settings are at fault.
    Failed,
}

impl Status {
    /// Returns the name of the state in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Failed => "failed",
        }
    }
}

/// One tool server.
pub(crate) struct Server {
    pub(crate) name: Arc<str>,
    settings: ToolServerSettings,
    transport: Result<Transport, ServerError>,
    state: Mutex<State>,
    pins: Arc<dyn PinStore>,
    secrets: Secrets,
    slots: FairSemaphore<UserKey>,
    /// Notified when a call finds that the server may be gone.
    health_check_requested: Notify,
    /// `true` if the server gets `initialize` at once, because it gave an unexpected answer to the first request of the
    /// newer protocol.
    uses_initialize: AtomicBool,
}

pub(crate) struct State {
    pub(crate) status: Status,
    pub(crate) error: Option<ServerError>,
    pub(crate) selection: ToolSelection,
    connection: Option<Connection>,
    /// Last list of the server, without the tools that the settings leave out.
    listing: Listing,
    /// Accepted definitions; `None` until they could be read.
    accepted: Option<HashMap<String, DefinitionHash>>,
}

impl State {
    /// Returns the tools that the server lists and that are not available.
    pub(crate) fn withheld(&self) -> impl Iterator<Item = &ListedTool> {
        let is_offered = |name: &str| self.selection.tools.iter().any(|tool| tool.listed.name == name);
        self.listing.tools.iter().filter(move |tool| !is_offered(&tool.name))
    }
}

impl Server {
    pub(crate) fn new(
        name: &str,
        settings: ToolServerSettings,
        oauth: Option<&OAuthSettings>,
        pins: Arc<dyn PinStore>,
        secrets: &Secrets,
        find: &impl Fn(&str) -> Option<String>,
    ) -> Self {
        let endpoint = Endpoint::of(&settings, oauth, find).map_err(ServerError::from);
        let transport = endpoint.and_then(|endpoint| Transport::of(endpoint, secrets));
        let (status, error) = match &transport {
            Ok(_) => (Status::Connecting, None),
            Err(error) => (Status::Failed, Some(error.clone())),
        };
        let state = State {
            status,
            error,
            selection: ToolSelection::default(),
            connection: None,
            listing: Listing::default(),
            accepted: None,
        };
        Self {
            name: name.into(),
            settings,
            transport,
            state: Mutex::new(state),
            pins,
            secrets: secrets.clone(),
            slots: FairSemaphore::new(MAX_CONCURRENT_CALLS),
            health_check_requested: Notify::new(),
            uses_initialize: AtomicBool::new(false),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns `true` until the server has connected or failed once.
    pub(crate) fn is_new(&self) -> bool {
        self.state().status == Status::Connecting
    }

    /// Keeps the server connected until `stop` is cancelled. Calls `changed` after each change of the state or of the
    /// available tools.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken, changed: impl Fn() + Send) {
        let server = &*self.name;
        let transport = match &self.transport {
            Ok(transport) => transport,
            Err(error) => {
                tracing::error!(
                    server,
                    %error,
                    "the settings of a tool server are not valid; correct them and restart"
                );
                return;
            }
        };
        let backoff = ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(MAX_PAUSE);
        let backoff = backoff.without_max_times().with_jitter();
        let mut pauses = backoff.build();
        loop {
            let begun = Instant::now();
            let over = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                over = self.connect_and_watch(transport, &stop, &changed) => over,
            };
            let Err(error) = over else { return };
            if begun.elapsed() > SETTLED_AFTER {
                pauses = backoff.build();
            }
            let pause = pauses.next().map_or(MAX_PAUSE, |pause| pause.min(MAX_PAUSE));
            tracing::warn!(
                server,
                %error,
                retry_secs = pause.as_secs(),
                "a tool server is unavailable; its tools are not offered"
            );
            self.lose(&error);
            changed();
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
        }
    }

    /// Connects to the server and monitors it. Closes the connection at the end. Returns `Ok` only if `stop` was
    /// cancelled.
    async fn connect_and_watch(
        &self,
        transport: &Transport,
        stop: &CancellationToken,
        changed: &impl Fn(),
    ) -> Result<(), ServerError> {
        let mut open = self.connect_once(transport, HANDSHAKE_TIMEOUT).await?;
        let watched = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            watched = self.watch(&mut open, changed) => watched,
        };
        let _ = open.service.close_with_timeout(2 * CLOSE_TIMEOUT).await;
        watched
    }

    /// Connects to the server once, lists its tools, and closes the connection. If the timeout of a call is shorter
    /// than that of the handshake, it applies to the handshake and to the list, too.
    pub(crate) async fn probe(&self) -> Result<ToolSelection, ServerError> {
        let transport = self.transport.as_ref().map_err(Clone::clone)?;
        let limit = call_timeout(&self.settings).map_or(HANDSHAKE_TIMEOUT, |limit| limit.min(HANDSHAKE_TIMEOUT));
        let mut connected = self.connect_once(transport, limit).await;
        if connected.is_err() && self.uses_initialize.load(Ordering::Relaxed) {
            // The server speaks only the older era's handshake.
            connected = self.connect_once(transport, limit).await;
        }
        let mut open = connected?;
        let listed = timeout(limit, list(&open.connection, &self.secrets)).await;
        let _ = open.service.close_with_timeout(2 * CLOSE_TIMEOUT).await;
        Ok(self.select_all(listed.map_err(|_| ServerError::Timeout(limit.as_secs()))??))
    }

    /// Lists the tools for a test. Connects again over HTTP, as [`Self::probe`] does. A program is not started a second
    /// time: its running connection lists the tools.
    pub(crate) async fn test(&self) -> Result<ToolSelection, ServerError> {
        if !matches!(self.transport, Ok(Transport::Program(_))) {
            return self.probe().await;
        }
        let connection = {
            let state = self.state();
            let missing = || ServerError::Unavailable("its program is being started".to_owned());
            state.connection.clone().ok_or_else(|| state.error.clone().unwrap_or_else(missing))?
        };
        let listing = list(&connection, &self.secrets).await?;
        Ok(self.select_all(listing))
    }

    /// Selects the tools of a list as if all their definitions were accepted.
    fn select_all(&self, listing: Listing) -> ToolSelection {
        let accepted = listing.tools.iter().map(|tool| (tool.name.clone(), tool.hash)).collect();
        select_tools(&self.settings, &apply_filters(&self.settings, listing), Some(&accepted))
    }

    async fn connect_once(&self, transport: &Transport, limit: Duration) -> Result<OpenTransport, ServerError> {
        let connected = timeout(limit, transport.connect(&self.name, &self.uses_initialize));
        connected.await.map_err(|_| ServerError::Timeout(limit.as_secs()))?
    }

    /// Lists the tools, and lists them again whenever they may have changed. Ends when the server is lost.
    async fn watch(&self, open: &mut OpenTransport, changed: &impl Fn()) -> Result<(), ServerError> {
        let mut refresh = interval_at(Instant::now() + REFRESH_INTERVAL, REFRESH_INTERVAL);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let listing = list(&open.connection, &self.secrets).await?;
            // Passes the complete listing: tools that the settings leave out also count as seen, so that a tool that is
            // included later is not new.
            let accepted = self.accepted(&listing).await;
            let is_known = accepted.is_some();
            if self.offer(apply_filters(&self.settings, listing), accepted, &open.connection) {
                changed();
            }
            let listed_at = Instant::now();
            let ended = open.ended.clone();
            let notified = async {
                open.tools_changed().await;
                // Limits how often the server can cause a new list.
                sleep_until(listed_at + MIN_REFRESH).await;
            };
            tokio::select! {
                biased;
                () = ended.cancelled() => {
                    return Err(ServerError::Unavailable("its program ended".to_owned()));
                }
                () = self.health_check_requested.notified() => {}
                () = notified => {}
                // Tries again to read the accepted definitions. Until then, only definitions that were read before are
                // accepted.
                () = sleep_until(listed_at + MIN_REFRESH), if !is_known => {}
                _ = refresh.tick() => open.subscribe_again().await,
            }
        }
    }

    /// Returns the accepted definitions, or `None` if they cannot be read.
    async fn accepted(&self, listing: &Listing) -> Option<HashMap<String, DefinitionHash>> {
        let seen = listing.tools.iter().map(|tool| (tool.name.clone(), tool.hash)).collect();
        match self.pins.accepted(self.name.clone(), seen).await {
            Ok(accepted) => Some(accepted),
            Err(error) => {
                tracing::warn!(server = &*self.name, error, "cannot load the accepted tool definitions");
                None
            }
        }
    }

    /// Stores a new list. If `accepted` is `None`, the definitions that were accepted before stay accepted. Returns
    /// `true` if the state or the available tools changed.
    fn offer(
        &self,
        listing: Listing,
        accepted: Option<HashMap<String, DefinitionHash>>,
        connection: &Connection,
    ) -> bool {
        let mut state = self.state();
        let was_connected = state.status == Status::Connected;
        state.status = Status::Connected;
        state.error = None;
        state.connection = Some(connection.clone());
        state.listing = listing;
        if accepted.is_some() {
            state.accepted = accepted;
        }
        let is_different = self.evaluate(&mut state);
        if !was_connected {
            tracing::info!(
                server = &*self.name,
                tools = state.selection.tools.len(),
                left_out = state.selection.left_out.len(),
                needs_approval = text::message(&tools_with_approval(&state.selection)),
                "connected to a tool server"
            );
        }
        is_different || !was_connected
    }

    /// Selects the available tools again from the last list. Returns `true` if they changed.
    fn evaluate(&self, state: &mut State) -> bool {
        let new = select_tools(&self.settings, &state.listing, state.accepted.as_ref());
        let is_different = state.selection != new;
        if is_different && let Some(accepted) = &state.accepted {
            let (added, changed): (Vec<_>, Vec<_>) = new.changed().partition(|&tool| !accepted.contains_key(tool));
            for tool in changed {
                tracing::warn!(server = &*self.name, tool, "the definition of a tool differs from the accepted one");
            }
            for tool in added {
                tracing::warn!(
                    server = &*self.name,
                    tool,
                    "a tool server added a tool after its first listing; an admin must accept it"
                );
            }
        }
        state.selection = new;
        is_different
    }

    /// Returns the hash of a tool's current definition, or `None` if the server does not list the tool.
    pub(crate) fn definition(&self, tool: &str) -> Option<DefinitionHash> {
        self.state().listing.tools.iter().find(|listed| listed.name == tool).map(|listed| listed.hash)
    }

    /// Marks this definition of a tool as accepted. Has no effect until the accepted definitions could be read.
    pub(crate) fn accept(&self, tool: &str, definition: DefinitionHash) {
        let mut state = self.state();
        if let Some(accepted) = &mut state.accepted {
            accepted.insert(tool.to_owned(), definition);
        }
        self.evaluate(&mut state);
    }

    /// Reads the accepted definitions again: an admin may have accepted one on another replica. Returns `true` if the
    /// available tools changed.
    pub(crate) async fn read_accepted(&self) -> bool {
        let listing = {
            let state = self.state();
            match state.status {
                Status::Connected => state.listing.clone(),
                _ => return false,
            }
        };
        let Some(read) = self.accepted(&listing).await else { return false };
        let mut state = self.state();
        // A newer list, which has read the definitions itself, may contain other tools.
        state.accepted.get_or_insert_default().extend(read);
        self.evaluate(&mut state)
    }

    /// Describes an error without the server's address, which the server may have repeated in its own message.
    pub(crate) fn plain(&self, error: &ServerError) -> String {
        let text = error.plain(&self.name);
        let Ok(Transport::Http(_, endpoint)) = &self.transport else { return text };
        let address = &endpoint.url[Position::BeforeHost..Position::AfterPort];
        let host = endpoint.url.host_str().filter(|host| host.contains(['.', ':'])).unwrap_or(address);
        text.replace(address, "[address]").replace(host, "[address]")
    }

    /// Creates the error of a failed call. It is stored and shown to the call's user, so it contains only what every
    /// user may read.
    fn failed(&self, error: &ServerError) -> ToolError {
        ToolError::other(error.error_type(), self.plain(error))
    }

    fn lose(&self, error: &ServerError) {
        let mut state = self.state();
        state.status = Status::Failed;
        state.error = Some(error.clone());
        state.listing = Listing::default();
        state.selection = ToolSelection::default();
        state.connection = None;
    }

    /// Waits for a free slot for a call of this user. Fails if the server is being closed.
    pub(crate) async fn acquire_slot(&self, user_key: UserKey) -> Result<Slot, ToolError> {
        let closed = || self.failed(&ServerError::Unavailable("it is being closed".to_owned()));
        self.slots.acquire(user_key).await.ok_or_else(closed)
    }

    /// Calls a tool by the name that the server uses. The caller holds a slot from [`Self::acquire_slot`]. A request
    /// that was sent is never retried here. Dropping the future notifies the server of the cancellation.
    pub(crate) async fn call(
        &self,
        tool: String,
        arguments: Arguments,
        progress: ProgressSender,
    ) -> Result<ToolOutput, ToolError> {
        let called = async {
            let connection = self.state().connection.clone();
            let lost = || ServerError::Unavailable("the connection was lost; reconnecting".to_owned());
            let connection = connection.ok_or_else(lost)?;
            connection.call_tool(tool, arguments, progress).await.map_err(ServerError::from)
        };
        let answered = match call_timeout(&self.settings) {
            Some(limit) => timeout(limit, called).await.unwrap_or(Err(ServerError::Timeout(limit.as_secs()))),
            None => called.await,
        };
        match answered {
            Ok(result) => tool_result(&result),
            Err(error) => {
                if error.is_loss() {
                    self.health_check_requested.notify_one();
                }
                tracing::warn!(server = &*self.name, %error, "a call to a tool server failed");
                Err(self.failed(&error))
            }
        }
    }
}
