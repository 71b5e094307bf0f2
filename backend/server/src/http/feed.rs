//! HTTP handler for `GET /api/events`: a user's feed, for sidebars and idle tabs.

use actix_web::{
    HttpResponse,
    http::header::{HeaderName, HeaderValue},
};
use tallybook_protocol::{FeedEvent, PAGE_HEADER, sse::write_frame};

use super::{State, connection_limits::StreamPermit, error::ApiError, sse};
use crate::http::caller::CurrentUser;

/// Streams changes of your conversations as they happen.
///
/// The stream contains only later changes, so request the list after you open the stream.
#[utoipa::path(
    get, path = "/api/events", operation_id = "follow_conversations", tag = "Conversations",
    responses((status = 200, description = "Events. The name of an event is its `kind`.",
        body = FeedEvent, content_type = "text/event-stream")),
)]
pub(crate) async fn subscribe(
    state: State,
    CurrentUser(user): CurrentUser,
    _permit: StreamPermit,
) -> Result<HttpResponse, ApiError> {
    let mut feed = state.run(|service| async move { service.feed(user).await }).await?;
    let mut response = sse::respond_with(state.keep_alive, sse::KEEP_ALIVE, async move || {
        let frame = |event: &FeedEvent| {
            let data = serde_json::to_string(event).ok()?;
            Some(write_frame(None, event.name(), &data).into())
        };
        feed.next().await?.iter().map(frame).collect()
    });
    // Tells clients that reconnect after a deployment that the page has another version.
    response.headers_mut().insert(HeaderName::from_static(PAGE_HEADER), HeaderValue::from_static(state.site.folder()));
    Ok(response)
}
