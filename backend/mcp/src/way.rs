//! How a server is reached, the handshake in both eras of the protocol, and what comes of it: a connection, and the changes
//! that the server tells of.

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
    client::{Connection, Ears},
    endpoint::{Endpoint, HttpEndpoint, Program},
    error::ServerError,
    http::HttpClient,
    limits::FAREWELL_TIMEOUT,
    stdio::ProgramTransport,
};

/// How a server is reached.
pub(super) enum Way {
    Http(HttpClient, Box<HttpEndpoint>),
    Program(Program),
}

/// A connection, and what shows that it is over.
pub(super) struct Open {
    pub(super) service: RunningService<RoleClient, Ears>,
    pub(super) connection: Connection,
    pub(super) ended: CancellationToken,
    subscription: Option<Subscription>,
}

impl Way {
    /// The way to what the settings name. The tokens that are shown on it are noted among the secrets.
    pub(super) fn of(endpoint: Endpoint, secrets: &Secrets) -> Result<Self, ServerError> {
        match endpoint {
            Endpoint::Program(program) => Ok(Self::Program(program)),
            Endpoint::Http(mut endpoint) => {
                let client = HttpClient::new(&mut endpoint, secrets);
                let client = client.map_err(|error| ServerError::Unavailable(error.to_string()))?;
                Ok(Self::Http(client, endpoint))
            }
        }
    }

    /// Connects and shakes hands.
    pub(super) async fn connect(&self, server: &Arc<str>, is_old: &AtomicBool) -> Result<Open, ServerError> {
        let greets_old = is_old.load(Ordering::Relaxed);
        let lifecycle = if greets_old {
            ClientLifecycleMode::Initialize
        } else {
            // The newer era's question first; a server that refuses it is greeted in the older one's way.
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            }
        };
        let ears = Ears::default();
        let ended = CancellationToken::new();
        let service = match self {
            Self::Http(client, endpoint) => {
                ears.clone().serve_with_lifecycle(client.transport(endpoint), lifecycle).await
            }
            Self::Program(program) => {
                let transport = ProgramTransport::start(server, program, ended.clone())?;
                ears.clone().serve_with_lifecycle(transport, lifecycle).await
            }
        };
        let service = service.inspect_err(|error| {
            if let ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) = error
            {
                // Tried the other way the next time.
                is_old.store(!greets_old, Ordering::Relaxed);
            }
        })?;
        let answered = service.peer().peer_info().map(|info| info.protocol_version.clone());
        if let Some(version) = answered.filter(|version| !ProtocolVersion::KNOWN_VERSIONS.contains(version)) {
            let _ = service.cancel().await;
            return Err(ServerError::unknown_version(version.as_str()));
        }
        let connection = Connection { peer: service.peer().clone(), ears };
        let subscription = subscription(&connection).await;
        Ok(Open { service, connection, ended, subscription })
    }
}

impl Open {
    /// Waits for the server to say that its tools changed.
    pub(super) async fn tools_changed(&mut self) {
        tokio::select! {
            () = self.connection.ears.tools_changed.notified() => {}
            () = next_change(&mut self.subscription) => {}
        }
    }

    /// Subscribes once more where the subscription has ended: networks break off what is silent for long.
    pub(super) async fn subscribe_again(&mut self) {
        if self.subscription.is_none() {
            self.subscription = subscription(&self.connection).await;
        }
    }
}

/// Servers of the newer era tell of changes only to who subscribes.
async fn subscription(connection: &Connection) -> Option<Subscription> {
    let info = connection.peer.peer_info()?;
    let tells = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
    if info.protocol_version.has_initialize() || !tells {
        return None;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    timeout(2 * FAREWELL_TIMEOUT, connection.peer.listen(filter)).await.ok()?.ok()
}

/// Waits for the next change that a subscription tells of; for ever where there is none.
async fn next_change(subscription: &mut Option<Subscription>) {
    if let Some(open) = subscription {
        if !matches!(open.next().await, Ok(Some(_))) {
            *subscription = None;
        }
        return;
    }
    std::future::pending::<()>().await;
}
