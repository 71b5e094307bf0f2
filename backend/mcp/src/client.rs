//! Our side of a connection: what is asked of a server, and what is heard of it beside its answers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ClientRequest, Implementation, ListToolsRequest, PaginatedRequestParams,
        ProgressNotificationParam, ProgressToken,
    },
    service::{NotificationContext, Peer, PeerRequestOptions, RequestHandle, ServiceError},
};
use serde_json::Value;
use tallybook_tools::{Progress, ProgressSender};
use tokio::{sync::Notify, time::timeout};

use super::{exact::Arguments, limits::FAREWELL_TIMEOUT, text};

/// What is heard of a server.
#[derive(Clone, Default)]
pub(super) struct Ears {
    /// The server says that its tools changed.
    pub(super) tools_changed: Arc<Notify>,
    calls: Arc<Calls>,
}

/// Who wants to know how far a call is.
#[derive(Default)]
struct Calls {
    progress: Mutex<HashMap<ProgressToken, ProgressSender>>,
    /// Held from sending a call until it is in `progress`: its first news may come before its caller is told its token.
    sending: tokio::sync::Mutex<()>,
}

impl Calls {
    fn progress(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, ProgressSender>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Ears {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        drop(self.calls.sending.lock().await);
        let Some(sender) = self.calls.progress().get(&params.progress_token).cloned() else { return };
        // JSON has no infinities, and a page could not show them.
        if params.progress.is_finite() {
            let total = params.total.filter(|total| total.is_finite());
            let message = params.message.as_deref().map(text::message);
            sender.send(Progress { progress: params.progress, total, message });
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("tallybook", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}

/// A connection whose two sides know each other.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) ears: Ears,
}

impl Connection {
    /// One page of the tools, as it came.
    pub(super) async fn list_tools(&self, cursor: Option<String>) -> Result<Value, ServiceError> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        as_it_came(&self.peer.send_request(request).await?)
    }

    /// Calls a tool, and gives its result as it came. When nobody waits any more, the server is told to stop.
    pub(super) async fn call_tool(
        &self,
        name: String,
        arguments: Arguments,
        progress: ProgressSender,
    ) -> Result<Value, ServiceError> {
        let request = arguments.request(name);
        let sending = self.ears.calls.sending.lock().await;
        let handle = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        self.ears.calls.progress().insert(handle.progress_token.clone(), progress);
        drop(sending);
        let mut open = OpenCall { handle: Some(handle), calls: &self.ears.calls };
        let answer = match &mut open.handle {
            Some(handle) => (&mut handle.rx).await,
            None => return Err(ServiceError::TransportClosed),
        };
        open.is_answered();
        as_it_came(&answer.map_err(|_| ServiceError::TransportClosed)??)
    }
}

/// The library reads a result as the first kind that fits, and as no particular one where a part of it is malformed. Here
/// the whole of it counts, and what is malformed is seen part by part.
fn as_it_came(result: &rmcp::model::ServerResult) -> Result<Value, ServiceError> {
    serde_json::to_value(result).map_err(|_| ServiceError::UnexpectedResponse)
}

/// A call that was sent.
struct OpenCall<'a> {
    handle: Option<RequestHandle<RoleClient>>,
    calls: &'a Calls,
}

impl OpenCall<'_> {
    fn is_answered(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.calls.progress().remove(&handle.progress_token);
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.calls.progress().remove(&handle.progress_token);
        // Whoever waited is gone; the word to the server has a task of its own, which ends soon.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let cancelled =
                    timeout(FAREWELL_TIMEOUT, handle.cancel(Some("nobody waits for it any more".to_owned())));
                if !matches!(cancelled.await, Ok(Ok(()))) {
                    tracing::debug!("a tool server could not be told of a cancelled call");
                }
            });
        }
    }
}
