//! Middleware that gives every request an ID, and counts the request. The ID is in the response headers, in problem
//! responses, and, through a span, in all log lines of the request.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    Error, HttpMessage as _,
    body::{BodySize, BoxBody, EitherBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderName, HeaderValue},
    middleware::Next,
    web::Bytes,
};
use tallybook_protocol::first_bytes;
use tracing::Span;
use tracing_actix_web::{RequestId, RootSpanBuilder};
use uuid::Uuid;

use super::{
    connection_limits::StreamPermit,
    limits::{MAX_LOGGED_METHOD_BYTES, MAX_LOGGED_PATH_BYTES, MAX_PROXY_ID_BYTES},
    metrics::Open,
    request_id, shares,
    state::State,
};
use crate::http::openai::error::with_error_format;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Handles a request under the id of its span, and counts the request.
pub(crate) async fn with_request_id(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = id_of(&request);
    let path = request.path().to_owned();
    let mut response = with_error_format(&path, request_id::scope(id, next.call(request))).await?;
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    if let Some(state) = response.request().app_data::<State>() {
        state.metrics.count_answer(&response);
    }
    Ok(counted(response))
}

/// Counts an event stream as open until it ends or the client disconnects.
fn counted<B: MessageBody + 'static>(response: ServiceResponse<B>) -> ServiceResponse<EitherBody<B>> {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let state = response.request().app_data::<State>().filter(|_| is_stream);
    let Some(open) = state.map(|state| state.metrics.count_stream()) else { return response.map_into_left_body() };
    let permit = response.request().extensions_mut().remove::<StreamPermit>();
    response.map_body(|_, body| {
        EitherBody::right(BoxBody::new(Counted { body: BoxBody::new(body), _open: open, _permit: permit }))
    })
}

/// A response body that counts as an open event stream until it is dropped.
struct Counted {
    body: BoxBody,
    _open: Open,
    _permit: Option<StreamPermit>,
}

impl MessageBody for Counted {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

fn id_of(request: &ServiceRequest) -> Uuid {
    request.extensions().get::<RequestId>().map_or_else(Uuid::nil, |id| **id)
}

/// Name of the span's field that contains the user's id.
pub(crate) const USER_FIELD: &str = "user";

/// The span of a request. It identifies the user only by ID and contains no content. The method and the path are
/// truncated, because the client chooses them.
pub(crate) struct RequestSpan;

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> Span {
        // The link is all that protects a shared conversation, so it must not be in the log.
        let method = request.method().as_str();
        let path = if shares::is_shared(request.path()) { "/s/…" } else { request.path() };
        tracing::info_span!(
            "request",
            id = %id_of(request),
            proxy_id = proxy_id(request),
            method = first_bytes(method, MAX_LOGGED_METHOD_BYTES),
            path = first_bytes(path, MAX_LOGGED_PATH_BYTES),
            // Recorded once the request is authenticated.
            user = tracing::field::Empty,
        )
    }

    fn on_request_end<B: MessageBody>(_: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        if let Ok(response) = outcome {
            tracing::debug!(status = response.status().as_u16(), "answered");
        }
    }
}

/// Returns the ID that a proxy gave the request. It is logged in addition to the server's own ID and never replaces it,
/// because a client can send any ID.
fn proxy_id(request: &ServiceRequest) -> Option<&str> {
    let id = request.headers().get(X_REQUEST_ID)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    ((1..=MAX_PROXY_ID_BYTES).contains(&id.len()) && id.bytes().all(is_plain)).then_some(id)
}
