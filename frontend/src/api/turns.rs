//! Requests for turns: send, regenerate, subscribe to events, continue, decide, stop, play back, explain, and rate.

use std::time::Duration;

use tallybook_protocol::{
    CallDecision, Feedback, MessageId, NewDecision, NewDecisions, NewMessage, Playback, ReasoningSummary, RetryOptions,
    ToolCall, ToolCallId,
};
use uuid::Uuid;

use super::{
    conversations::conversation_url,
    error::ApiError,
    request::{NO_BODY, call, call_text, encoded, request},
    streams::EventStream,
};
use crate::{browser, reading};

/// Timeout of a stop request.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// `POST /api/conversations/{uuid}/messages`
pub(crate) async fn send_message(uuid: Uuid, message: &NewMessage) -> Result<EventStream, ApiError> {
    let response = request("POST", &format!("/api/conversations/{uuid}/messages"), Some(message)).await?;
    EventStream::new(response)
}

/// `POST /api/conversations/{uuid}/messages/{id}/regenerate`
pub(crate) async fn regenerate(uuid: Uuid, id: MessageId, model: Option<String>) -> Result<EventStream, ApiError> {
    let url = format!("/api/conversations/{uuid}/messages/{id}/regenerate");
    EventStream::new(request("POST", &url, Some(&RetryOptions { model })).await?)
}

/// `GET /api/conversations/{uuid}/events`: the events after `after`. Returns `None` if no turn runs and no events are
/// left to send.
pub(crate) async fn join(uuid: Uuid, after: Option<&str>) -> Result<Option<EventStream>, ApiError> {
    let mut url = format!("/api/conversations/{uuid}/events");
    if let Some(after) = after {
        url.push_str("?after=");
        url.push_str(&encoded(after));
    }
    let response = request("GET", &url, NO_BODY).await?;
    if response.status() == 204 { Ok(None) } else { EventStream::new(response).map(Some) }
}

/// `POST /api/conversations/{uuid}/continue`
pub(crate) async fn continue_turn(uuid: Uuid, model: Option<String>) -> Result<EventStream, ApiError> {
    let url = format!("/api/conversations/{uuid}/continue");
    EventStream::new(request("POST", &url, Some(&RetryOptions { model })).await?)
}

/// `POST /api/tool-calls/{id}/decision` for one decision, `POST /api/conversations/{uuid}/decisions` for several.
/// Returns `None` if other calls need a decision before the turn resumes.
pub(crate) async fn decide(uuid: Uuid, mut decisions: Vec<CallDecision>) -> Result<Option<EventStream>, ApiError> {
    let response = match (decisions.len(), decisions.pop()) {
        (1, Some(CallDecision { tool_call_id, decision, reason, input, remember })) => {
            let body = NewDecision { decision, reason, input, remember };
            request("POST", &format!("/api/tool-calls/{tool_call_id}/decision"), Some(&body)).await?
        }
        (_, last) => {
            decisions.extend(last);
            let url = format!("{}/decisions", conversation_url(uuid));
            request("POST", &url, Some(&NewDecisions { decisions })).await?
        }
    };
    let is_stream = response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    if is_stream { EventStream::new(response).map(Some) } else { Ok(None) }
}

/// `POST /api/conversations/{uuid}/stop`. Fails if the server does not respond within [`STOP_TIMEOUT`].
pub(crate) async fn stop(uuid: Uuid) -> Result<(), ApiError> {
    let url = format!("/api/conversations/{uuid}/stop");
    let stopped = async { Ok(request("POST", &url, NO_BODY).await?.text().await.map(drop)?) };
    browser::within(STOP_TIMEOUT, stopped).await.unwrap_or(Err(ApiError::Unreachable))
}

/// `GET /api/tool-calls/{id}`
pub(crate) async fn find_tool_call(id: ToolCallId) -> Result<ToolCall, ApiError> {
    let json = call_text("GET", &format!("/api/tool-calls/{id}"), NO_BODY).await?;
    reading::call(json).await?.map(|call| *call).ok_or(ApiError::Unreadable)
}

/// `GET /api/conversations/{uuid}/messages/{id}/playback`: a page of the turn's events, after `after`.
pub(crate) async fn playback(uuid: Uuid, id: MessageId, after: Option<&str>) -> Result<Playback, ApiError> {
    let after = after.map(|after| format!("?after={}", encoded(after))).unwrap_or_default();
    call("GET", &format!("{}/messages/{id}/playback{after}", conversation_url(uuid)), NO_BODY).await
}

/// `POST /api/conversations/{uuid}/messages/{id}/reasoning-summary`
pub(crate) async fn explain(uuid: Uuid, id: MessageId) -> Result<Vec<String>, ApiError> {
    let url = format!("{}/messages/{id}/reasoning-summary", conversation_url(uuid));
    call("POST", &url, NO_BODY).await.map(|ReasoningSummary { lines }| lines)
}

/// `PUT /api/conversations/{uuid}/messages/{id}/feedback`, or `DELETE` if `feedback` is `None`.
pub(crate) async fn set_feedback(uuid: Uuid, id: MessageId, feedback: Option<&Feedback>) -> Result<(), ApiError> {
    let method = if feedback.is_some() { "PUT" } else { "DELETE" };
    call_text(method, &format!("{}/messages/{id}/feedback", conversation_url(uuid)), feedback).await.map(drop)
}
