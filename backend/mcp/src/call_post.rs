//! Sends tool calls over HTTP. `rmcp` reads and writes JSON as values, which changes numbers. So this module sends a
//! call and reads its response as text (see `exact`).

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream::BoxStream};
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use rmcp::{
    model::{JsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_client::{HttpStatusError, SseError, StreamableHttpError, StreamableHttpPostResponse},
};
use secrecy::{ExposeSecret as _, SecretString};
use sse_stream::{Sse, SseStream};

use super::{
    body::{self, BodyError},
    error::HttpError,
    exact,
    limits::{MAX_DIAGNOSTIC_BYTES, MAX_MESSAGE_BYTES},
};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";

type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Sends a call, and returns its response or the event stream that will contain the response.
pub(crate) async fn send(
    http: &Client,
    uri: &str,
    call: Bytes,
    session: Option<&str>,
    token: Option<&SecretString>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let mut request = http.post(uri).headers(headers.into_iter().collect());
    request = request.header(ACCEPT, format!("{EVENTS}, {JSON}")).header(CONTENT_TYPE, JSON);
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    if let Some(token) = token {
        request = request.bearer_auth(token.expose_secret());
    }
    let response = request.body(call).send().await?;
    let new_session = text_of(response.headers(), SESSION);
    match response.status() {
        StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(StreamableHttpPostResponse::Accepted),
        StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
        status if !status.is_success() => {
            refusal(status, response).await.map(|error| StreamableHttpPostResponse::Json(error, new_session))
        }
        _ if is_of(response.headers(), EVENTS) => {
            let events = SseStream::from_bytes_stream(Box::pin(body::events(response, MAX_MESSAGE_BYTES)));
            Ok(StreamableHttpPostResponse::Sse(exact(events.boxed()), new_session))
        }
        _ if is_of(response.headers(), JSON) => {
            let answer = read(response).await?;
            Ok(StreamableHttpPostResponse::Json(exact::read(&answer)?, new_session))
        }
        _ => Err(StreamableHttpError::UnexpectedContentType(text_of(response.headers(), CONTENT_TYPE.as_str()))),
    }
}

/// Returns the events, with structured content as text (see [`exact::event`]).
pub(crate) fn exact(events: Events) -> Events {
    let with_text =
        |event: Result<Sse, SseError>| event.map(|event| Sse { data: event.data.map(exact::event), ..event });
    events.map(with_text).boxed()
}

/// Returns the JSON-RPC error in the body of a refused request. Fails if the body is anything else, or if the status is
/// 401 or 403.
async fn refusal(status: StatusCode, response: Response) -> Result<ServerJsonRpcMessage, HttpError> {
    let is_readable = is_of(response.headers(), JSON);
    let answer = read(response).await?;
    let is_about_rights = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if is_readable
        && !is_about_rights
        && let Ok(error @ JsonRpcMessage::Error(_)) = serde_json::from_slice(&answer)
    {
        return Ok(error);
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(HttpStatusError::new(status.as_u16(), None).into());
    }
    let beginning = String::from_utf8_lossy(&answer[..answer.len().min(MAX_DIAGNOSTIC_BYTES)]);
    Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {beginning}").into()))
}

async fn read(response: Response) -> Result<Vec<u8>, HttpError> {
    body::read(response, MAX_MESSAGE_BYTES).await.map_err(|error| match error {
        BodyError::TooLong(max_size) => StreamableHttpError::ResponseBodyTooLarge { max_size },
        BodyError::Lost(error) => error.into(),
    })
}

fn is_of(headers: &HeaderMap, media_type: &str) -> bool {
    let named =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).and_then(|value| value.split(';').next());
    named.is_some_and(|named| named.trim().eq_ignore_ascii_case(media_type))
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
