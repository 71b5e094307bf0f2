//! Connects to a server: the transport, the handshake in both eras of the protocol, and the open connection with its
//! notifications of changed tools.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rmcp::{
    RoleClient,
    model::{ProtocolVersion, SubscriptionFilter},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService, Subscription},
};
use tallybook_tools::Secrets;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    client::{Connection, NotificationHandler},
    endpoint::{Endpoint, HttpEndpoint, Program},
    error::ServerError,
    http::HttpClient,
    limits::CLOSE_TIMEOUT,
    stdio::ProgramTransport,
};

/// Transport to a server.
pub(crate) enum Transport {
    Http(HttpClient, Box<HttpEndpoint>),
    Program(Program),
}

/// An open connection. `ended` is cancelled when a program can send nothing more; it is never cancelled over HTTP.
pub(crate) struct OpenTransport {
    pub(crate) service: RunningService<RoleClient, NotificationHandler>,
    pub(crate) connection: Connection,
    pub(crate) ended: CancellationToken,
    subscription: Option<Subscription>,
}

impl Transport {
    /// Creates the transport to an endpoint. OAuth tokens that it uses are added to `secrets`. Fails if no HTTP client
    /// can be created.
    pub(crate) fn of(endpoint: Endpoint, secrets: &Secrets) -> Result<Self, ServerError> {
        match endpoint {
            Endpoint::Program(program) => Ok(Self::Program(program)),
            Endpoint::Http(mut endpoint) => {
                let client = HttpClient::new(&mut endpoint, secrets);
                let client = client.map_err(|error| ServerError::Unavailable(error.to_string()))?;
                Ok(Self::Http(client, endpoint))
            }
        }
    }

    /// Connects and performs the handshake. `uses_initialize` selects the older era's handshake. If the server answers
    /// the handshake with an unexpected message, inverts `uses_initialize` for the next attempt.
    pub(crate) async fn connect(
        &self,
        server: &Arc<str>,
        uses_initialize: &AtomicBool,
    ) -> Result<OpenTransport, ServerError> {
        let sent_initialize = uses_initialize.load(Ordering::Relaxed);
        let lifecycle = if sent_initialize {
            ClientLifecycleMode::Initialize
        } else {
            // Sends the newer era's request first. If the server refuses it, the older era's handshake follows.
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            }
        };
        let notifications = NotificationHandler::default();
        let ended = CancellationToken::new();
        let service = match self {
            Self::Http(client, endpoint) => {
                notifications.clone().serve_with_lifecycle(client.transport(endpoint), lifecycle).await
            }
            Self::Program(program) => {
                let transport = ProgramTransport::start(server, program, ended.clone())?;
                notifications.clone().serve_with_lifecycle(transport, lifecycle).await
            }
        };
        let service = service.inspect_err(|error| {
            if let ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) = error
            {
                // The next attempt uses the other kind of handshake.
                uses_initialize.store(!sent_initialize, Ordering::Relaxed);
            }
        })?;
        let answered = service.peer().peer_info().map(|info| info.protocol_version.clone());
        if let Some(version) = answered.filter(|version| !ProtocolVersion::KNOWN_VERSIONS.contains(version)) {
            let _ = service.cancel().await;
            return Err(ServerError::unknown_version(version.as_str()));
        }
        let connection = Connection { peer: service.peer().clone(), notifications };
        let subscription = subscription(&connection).await;
        Ok(OpenTransport { service, connection, ended, subscription })
    }
}

impl OpenTransport {
    /// Waits until the server reports that its tools changed, or until the subscription to such reports ends.
    pub(crate) async fn tools_changed(&mut self) {
        tokio::select! {
            () = self.connection.notifications.tools_changed.notified() => {}
            () = next_change(&mut self.subscription) => {}
        }
    }

    /// Subscribes again if the subscription has ended: networks close streams that are silent for a long time.
    pub(crate) async fn subscribe_again(&mut self) {
        if self.subscription.is_none() {
            self.subscription = subscription(&self.connection).await;
        }
    }
}

/// Subscribes to changes of the tools: servers of the newer era report them only to subscribers. Returns `None` if the
/// server is of the older era, reports no changes, or does not accept the subscription in time.
async fn subscription(connection: &Connection) -> Option<Subscription> {
    let info = connection.peer.peer_info()?;
    let reports_changes = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
    if info.protocol_version.has_initialize() || !reports_changes {
        return None;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    timeout(2 * CLOSE_TIMEOUT, connection.peer.listen(filter)).await.ok()?.ok()
}

/// Waits for the next change that a subscription reports, or for its end. Without a subscription, waits forever.
async fn next_change(subscription: &mut Option<Subscription>) {
    if let Some(open) = subscription {
        if !matches!(open.next().await, Ok(Some(_))) {
            *subscription = None;
        }
        return;
    }
    std::future::pending::<()>().await;
}
