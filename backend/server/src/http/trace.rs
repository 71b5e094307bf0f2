//! Gives every request an id, which is in its answer, in its problems and, by a span, in whatever is logged on its way.

use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
};
use tracing::Span;
use tracing_actix_web::{RequestId, RootSpanBuilder};
use uuid::Uuid;

use super::{
    limits::{MAX_LOGGED_PATH_BYTES, MAX_PROXY_ID_BYTES},
    openai::error_body,
    request_id, shares,
    state::State,
};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers a request under the id that its span has, and counts it.
pub(super) async fn with_request_id(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = id_of(&request);
    let path = request.path().to_owned();
    let mut response = error_body::scope(&path, request_id::scope(id, next.call(request))).await?;
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    if let Some(state) = response.request().app_data::<State>() {
        state.metrics.count_answer(&response);
    }
    Ok(response)
}

fn id_of(request: &ServiceRequest) -> Uuid {
    request.extensions().get::<RequestId>().map_or_else(Uuid::nil, |id| **id)
}

/// The span of a request. It names no reader and nothing that was written, and what a client chose is short.
pub(super) struct RequestSpan;

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> Span {
        // What leads to a shared conversation is its link alone.
        let path = if shares::is_shared(request.path()) { "/s/…" } else { request.path() };
        tracing::info_span!(
            "request",
            id = %id_of(request),
            proxy_id = proxy_id(request),
            method = request.method().as_str(),
            path = &path[..path.floor_char_boundary(MAX_LOGGED_PATH_BYTES)],
        )
    }

    fn on_request_end<B: MessageBody>(_: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        if let Ok(response) = outcome {
            tracing::debug!(status = response.status().as_u16(), "answered");
        }
    }
}

/// The id that a proxy gave the request. It is noted beside ours and never in its place: a client can make up any.
fn proxy_id(request: &ServiceRequest) -> Option<&str> {
    let id = request.headers().get(X_REQUEST_ID)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    ((1..=MAX_PROXY_ID_BYTES).contains(&id.len()) && id.bytes().all(is_plain)).then_some(id)
}
