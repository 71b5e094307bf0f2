//! Client side of a connection: requests to a server, and the notifications that the server sends.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
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

use super::{exact::Arguments, limits::CLOSE_TIMEOUT, text};

/// Handler for a server's notifications.
#[derive(Clone, Default)]
pub(crate) struct NotificationHandler {
    /// Notified when the server reports that its tools changed.
    pub(crate) tools_changed: Arc<Notify>,
    calls: Arc<Calls>,
}

/// Progress senders of the calls that wait for a response.
#[derive(Default)]
struct Calls {
    progress: Mutex<HashMap<ProgressToken, ProgressSender>>,
    /// Locked from before a call is sent until its token is in `progress`, because the first progress notification may
    /// arrive before the caller knows the token. The notification handler waits for this lock.
    sending: tokio::sync::Mutex<()>,
}

impl Calls {
    fn progress(&self) -> MutexGuard<'_, HashMap<ProgressToken, ProgressSender>> {
        self.progress.lock()
    }
}

impl ClientHandler for NotificationHandler {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        drop(self.calls.sending.lock().await);
        let Some(sender) = self.calls.progress().get(&params.progress_token).cloned() else { return };
        // JSON cannot represent infinities, and the page could not show them.
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

/// A connection after the handshake.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) notifications: NotificationHandler,
}

impl Connection {
    /// Requests one page of the tools and returns the result as JSON.
    pub(crate) async fn list_tools(&self, cursor: Option<String>) -> Result<Value, ServiceError> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        raw_json(&self.peer.send_request(request).await?)
    }

    /// Calls a tool and returns its result as JSON. If the caller drops the future, the server is notified of the
    /// cancellation.
    pub(crate) async fn call_tool(
        &self,
        name: String,
        arguments: Arguments,
        progress: ProgressSender,
    ) -> Result<Value, ServiceError> {
        let request = arguments.request(name);
        let sending = self.notifications.calls.sending.lock().await;
        let handle = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        self.notifications.calls.progress().insert(handle.progress_token.clone(), progress);
        drop(sending);
        let mut open = OpenCall { handle: Some(handle), calls: &self.notifications.calls };
        let answer = match &mut open.handle {
            Some(handle) => (&mut handle.rx).await,
            None => return Err(ServiceError::TransportClosed),
        };
        open.is_answered();
        raw_json(&answer.map_err(|_| ServiceError::TransportClosed)??)
    }
}

/// Converts a result back to JSON. `rmcp` deserializes a result as the first type that fits, or as an untyped value if
/// a part is malformed. The callers need the complete result, and check each part on its own.
fn raw_json(result: &rmcp::model::ServerResult) -> Result<Value, ServiceError> {
    serde_json::to_value(result).map_err(|_| ServiceError::UnexpectedResponse)
}

/// A call that was sent. If it is dropped before the response arrives, the server is notified of the cancellation.
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
        // The caller is gone. A separate task with a short timeout notifies the server.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let cancelled =
                    timeout(CLOSE_TIMEOUT, handle.cancel(Some("the caller no longer waits for the result".to_owned())));
                if !matches!(cancelled.await, Ok(Ok(()))) {
                    tracing::debug!("cannot notify a tool server of a cancelled call");
                }
            });
        }
    }
}
