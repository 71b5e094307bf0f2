//! One tool server: the task that connects to it, lists its tools, watches it and tries again; and its calls.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tallybook_tools::{ProgressSender, Secrets, Slot, Slots, ToolError, ToolOutput, Whose};
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
        FAREWELL_TIMEOUT, FIRST_PAUSE, HANDSHAKE_TIMEOUT, MAX_CONCURRENT_CALLS, MAX_PAUSE, MIN_REFRESH, REFRESH_EVERY,
        SETTLED_AFTER,
    },
    listing::{ListedTool, Listing, list},
    offering::{Offering, asking, offering, taken},
    pins::{DefinitionHash, PinStore},
    result::tool_result,
    settings::{OAuthSettings, ToolServerSettings},
    text,
    way::{Open, Way},
};

/// How a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its tools are on offer.
    Connected,
    /// It is tried for the first time.
    Connecting,
    /// It could not be used; unless its settings are to blame, it is tried again.
    Failed,
}

impl Status {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Failed => "failed",
        }
    }
}

/// One tool server.
pub(super) struct Server {
    pub(super) name: Arc<str>,
    settings: ToolServerSettings,
    way: Result<Way, ServerError>,
    state: Mutex<State>,
    pins: Arc<dyn PinStore>,
    secrets: Secrets,
    slots: Slots<Whose>,
    /// A call found that the server may be gone.
    doubted: Notify,
    /// Whether it is greeted in the older era's way, without the newer one's question, which it answered with nonsense.
    is_old: AtomicBool,
}

pub(super) struct State {
    pub(super) status: Status,
    pub(super) error: Option<ServerError>,
    pub(super) offering: Offering,
    connection: Option<Connection>,
    /// What the server listed last, as far as the settings take it.
    listing: Listing,
    /// The accepted definitions. `None` until they could be read.
    accepted: Option<HashMap<String, DefinitionHash>>,
}

impl State {
    /// Tools that the server lists and that are not offered.
    pub(super) fn withheld(&self) -> impl Iterator<Item = &ListedTool> {
        let is_offered = |name: &str| self.offering.tools.iter().any(|tool| tool.listed.name == name);
        self.listing.tools.iter().filter(move |tool| !is_offered(&tool.name))
    }
}

impl Server {
    pub(super) fn new(
        name: &str,
        settings: ToolServerSettings,
        oauth: Option<&OAuthSettings>,
        pins: Arc<dyn PinStore>,
        secrets: &Secrets,
        find: &impl Fn(&str) -> Option<String>,
    ) -> Self {
        let endpoint = Endpoint::of(&settings, oauth, find).map_err(ServerError::from);
        let way = endpoint.and_then(|endpoint| Way::of(endpoint, secrets));
        let (status, error) = match &way {
            Ok(_) => (Status::Connecting, None),
            Err(error) => (Status::Failed, Some(error.clone())),
        };
        let state = State {
            status,
            error,
            offering: Offering::default(),
            connection: None,
            listing: Listing::default(),
            accepted: None,
        };
        Self {
            name: name.into(),
            settings,
            way,
            state: Mutex::new(state),
            pins,
            secrets: secrets.clone(),
            slots: Slots::new(MAX_CONCURRENT_CALLS),
            doubted: Notify::new(),
            is_old: AtomicBool::new(false),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true until it has connected or failed once.
    pub(super) fn is_new(&self) -> bool {
        self.state().status == Status::Connecting
    }

    /// Keeps the server connected until `stop`. `changed` is called after each change of what it offers.
    pub(super) async fn run(self: Arc<Self>, stop: CancellationToken, changed: impl Fn() + Send) {
        let server = &*self.name;
        let way = match &self.way {
            Ok(way) => way,
            Err(error) => {
                tracing::error!(server, %error, "a tool server cannot be used; correct its settings and start again");
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
                over = self.connect_and_watch(way, &stop, &changed) => over,
            };
            let Err(error) = over else { return };
            if begun.elapsed() > SETTLED_AFTER {
                pauses = backoff.build();
            }
            let pause = pauses.next().map_or(MAX_PAUSE, |pause| pause.min(MAX_PAUSE));
            tracing::warn!(server, %error, retry_secs = pause.as_secs(), "a tool server is not there; its tools are not offered");
            self.lose(&error);
            changed();
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
        }
    }

    /// Gives `Ok` when it was told to stop, and then has said good-bye.
    async fn connect_and_watch(
        &self,
        way: &Way,
        stop: &CancellationToken,
        changed: &impl Fn(),
    ) -> Result<(), ServerError> {
        let connected = timeout(HANDSHAKE_TIMEOUT, way.connect(&self.name, &self.is_old));
        let mut open = connected.await.map_err(|_| ServerError::handshake_timeout())??;
        let watched = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            watched = self.watch(&mut open, changed) => watched,
        };
        let _ = open.service.close_with_timeout(2 * FAREWELL_TIMEOUT).await;
        watched
    }

    /// Lists the tools, and again whenever they may have changed. Ends when the server is lost.
    async fn watch(&self, open: &mut Open, changed: &impl Fn()) -> Result<(), ServerError> {
        let mut refresh = interval_at(Instant::now() + REFRESH_EVERY, REFRESH_EVERY);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let listing = list(&open.connection, &self.secrets).await?;
            // Tools that the settings leave out count as seen too, so that including one later does not make it a new tool.
            let accepted = self.accepted(&listing).await;
            let is_known = accepted.is_some();
            if self.offer(taken(&self.settings, listing), accepted, &open.connection) {
                changed();
            }
            let listed_at = Instant::now();
            let ended = open.ended.clone();
            let told = async {
                open.tools_changed().await;
                // However often it says so.
                sleep_until(listed_at + MIN_REFRESH).await;
            };
            tokio::select! {
                biased;
                () = ended.cancelled() => {
                    return Err(ServerError::Unavailable("its program ended".to_owned()));
                }
                () = self.doubted.notified() => {}
                () = told => {}
                // Until then no definition is accepted, unless it was read before.
                () = sleep_until(listed_at + MIN_REFRESH), if !is_known => {}
                _ = refresh.tick() => open.subscribe_again().await,
            }
        }
    }

    /// The definitions that are accepted; `None` while that cannot be asked.
    async fn accepted(&self, listing: &Listing) -> Option<HashMap<String, DefinitionHash>> {
        let seen = listing.tools.iter().map(|tool| (tool.name.clone(), tool.hash)).collect();
        match self.pins.accepted(self.name.clone(), seen).await {
            Ok(accepted) => Some(accepted),
            Err(error) => {
                tracing::warn!(server = &*self.name, error, "which definitions of tools are accepted cannot be read");
                None
            }
        }
    }

    /// Takes a list over. While nobody knows which definitions are accepted, those are that were before. Gives whether anything
    /// is different.
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
                tools = state.offering.tools.len(),
                left_out = state.offering.left_out.len(),
                needs_approval = text::message(&asking(&state.offering)),
                "a tool server is connected"
            );
        }
        is_different || !was_connected
    }

    /// Says anew what is offered of what is listed. Gives whether that is different from before.
    fn evaluate(&self, state: &mut State) -> bool {
        let new = offering(&self.settings, &state.listing, state.accepted.as_ref());
        let is_different = state.offering != new;
        if is_different && let Some(accepted) = &state.accepted {
            let (added, changed): (Vec<_>, Vec<_>) = new.changed().partition(|&tool| !accepted.contains_key(tool));
            for tool in changed {
                tracing::warn!(server = &*self.name, tool, "the definition of a tool is not the accepted one");
            }
            for tool in added {
                tracing::warn!(
                    server = &*self.name,
                    tool,
                    "a tool server added a tool after its first listing; an admin has to accept it"
                );
            }
        }
        state.offering = new;
        is_different
    }

    /// The definition that a tool has now.
    pub(super) fn definition(&self, tool: &str) -> Option<DefinitionHash> {
        self.state().listing.tools.iter().find(|listed| listed.name == tool).map(|listed| listed.hash)
    }

    /// Takes over that this definition of a tool is the accepted one.
    pub(super) fn accept(&self, tool: &str, definition: DefinitionHash) {
        let mut state = self.state();
        if let Some(accepted) = &mut state.accepted {
            accepted.insert(tool.to_owned(), definition);
        }
        self.evaluate(&mut state);
    }

    /// Says why the server cannot be used, without its address, which it may have repeated in its own words.
    pub(super) fn plain(&self, error: &ServerError) -> String {
        let text = error.plain(&self.name);
        let Ok(Way::Http(_, endpoint)) = &self.way else { return text };
        let address = &endpoint.url[Position::BeforeHost..Position::AfterPort];
        let host = endpoint.url.host_str().filter(|host| host.contains(['.', ':'])).unwrap_or(address);
        text.replace(address, "[address]").replace(host, "[address]")
    }

    /// The failed call. It is stored and shown to its user, so it says what every user may read.
    fn failed(&self, error: &ServerError) -> ToolError {
        ToolError::other(error.error_type(), self.plain(error))
    }

    fn lose(&self, error: &ServerError) {
        let mut state = self.state();
        state.status = Status::Failed;
        state.error = Some(error.clone());
        state.listing = Listing::default();
        state.offering = Offering::default();
        state.connection = None;
    }

    /// Waits until there is room for a call of this person's.
    pub(super) async fn room(&self, whose: Whose) -> Result<Slot, ToolError> {
        let closed = || self.failed(&ServerError::Unavailable("it is being closed".to_owned()));
        self.slots.acquire(whose).await.ok_or_else(closed)
    }

    /// Calls a tool by the server's own name for it, which takes [`Self::room`]. What was sent is never sent again from here. Dropping the future tells
    /// the server to stop.
    pub(super) async fn call(
        &self,
        tool: String,
        arguments: Arguments,
        progress: ProgressSender,
    ) -> Result<ToolOutput, ToolError> {
        let called = async {
            let connection = self.state().connection.clone();
            let lost = || ServerError::Unavailable("it was lost, and is tried again in a moment".to_owned());
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
                    self.doubted.notify_one();
                }
                tracing::warn!(server = &*self.name, %error, "a call of a tool server failed");
                Err(self.failed(&error))
            }
        }
    }
}
