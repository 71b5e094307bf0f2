//! Sends a request to a provider, with retries, and streams its answer, with a timeout for every wait. The provider's
//! reader interprets the bytes.

use std::{pin::pin, sync::Arc};

use async_stream::try_stream;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use reqwest::{
    RequestBuilder, Response,
    header::{ACCEPT, CONTENT_TYPE},
};
use tallybook_protocol::sse::MAX_FRAME_BYTES;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    endpoint::Endpoint,
    error::ModelError,
    event::{ModelEvent, RetryWait},
    http_error,
    limits::{END_MARK_TIMEOUT, ERROR_BODY_TIMEOUT, MAX_ERROR_BODY_BYTES},
    model::ModelStream,
    reader::{BodyEnd, Parser, Portion, StreamReader, bad_stream},
    reason::Reason,
    retry::{AttemptError, Retry},
};

/// Sends the request, with retries, and streams the answer. Events that were passed on cannot be withdrawn, so a
/// failure after the first text or tool call is final. Reasoning is not part of the answer, so a retry starts it over.
pub(crate) fn stream<R: StreamReader + 'static>(
    endpoint: Arc<Endpoint>,
    body: String,
    reader: impl Fn() -> R + Send + 'static,
) -> ModelStream {
    let events = try_stream! {
        let body = Bytes::from(body);
        let mut backoff = endpoint.retries.backoff();
        let mut attempt = 1;
        loop {
            let mut answer = pin!(ask(endpoint.clone(), body.clone(), reader()));
            let mut handed_on = false;
            let failure = loop {
                match answer.next().await {
                    Some(Ok(event)) => {
                        handed_on |= !matches!(
                            event,
                            ModelEvent::Opaque(_) | ModelEvent::ToolCallProgress { .. } | ModelEvent::ReasoningDelta(_)
                        );
                        yield event.without_nul();
                    }
                    Some(Err(failure)) => break failure,
                    None => return,
                }
            };
            let retry = if handed_on { Retry::Never } else { failure.retry };
            let Some(delay) = backoff.next_delay(retry) else {
                Err(failure.error)?;
                return;
            };
            attempt += 1;
            let attempts = endpoint.retries.retries.saturating_add(1);
            tracing::warn!(
                address = endpoint.address,
                model = endpoint.model,
                attempt = attempt - 1,
                attempts,
                delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                error = %failure.error,
                "a model call failed; retrying"
            );
            yield ModelEvent::RetryIn(RetryWait { code: failure.error.code(), attempt, attempts, delay });
            tokio::time::sleep(delay).await;
            yield ModelEvent::Attempt(attempt);
        }
    };
    events.boxed()
}

/// Sends the request once and streams the answer. Dropping the stream drops the response, which closes its connection.
pub(crate) fn ask<R: StreamReader + 'static>(
    endpoint: Arc<Endpoint>,
    body: Bytes,
    reader: R,
) -> impl Stream<Item = Result<ModelEvent, AttemptError>> + Send {
    try_stream! {
        let mut response = open(&endpoint, body).await?;
        let mut parser = Parser::new(reader);
        if content_type(&response).starts_with("application/json") {
            // The server does not stream, or it sends an error with a success status.
            let body = whole(&endpoint, response).await?;
            let Portion { events, error, is_over } = parser.whole(&body);
            for event in events {
                yield event;
            }
            if let Some(error) = error {
                Err(http_error::finished(error, &endpoint))?;
            }
            if !is_over {
                Err(no_stream(&endpoint, "application/json"))?;
            }
            return;
        }
        let mut deadline = None;
        loop {
            let next = next_portion(&endpoint, &mut response);
            let next = match deadline {
                None => next.await,
                Some(deadline) => timeout_at(deadline, next).await.unwrap_or(Ok(None)),
            };
            let (Portion { events, error, is_over }, aborted) = match next {
                Ok(Some(bytes)) => (parser.push(&bytes), None),
                Ok(None) => {
                    let failure = bad_stream("the stream ended early");
                    (parser.end(BodyEnd::Clean), Some(AttemptError::aborted(failure)))
                }
                Err(failure) => (parser.end(BodyEnd::Lost), Some(failure)),
            };
            if parser.has_stop_reason() && (deadline.is_none() || !events.is_empty()) {
                deadline = Some(Instant::now() + END_MARK_TIMEOUT);
            }
            for event in events {
                yield event;
            }
            if let Some(error) = error {
                Err(http_error::finished(error, &endpoint))?;
            }
            // An answer with a stop reason is complete, no matter how the connection ends afterwards.
            if is_over {
                return;
            }
            if let Some(failure) = aborted {
                Err(failure)?;
            }
        }
    }
}

/// Asks for the endpoint's URL with `GET`, and waits for the headers of a successful response.
pub(crate) async fn get(endpoint: &Endpoint) -> Result<Response, ModelError> {
    let request = endpoint.client.get(endpoint.url.clone()).header(ACCEPT, "application/json");
    send(endpoint, request).await.map_err(|failure| failure.error)
}

/// Sends the request for an answer and waits for the headers of a successful response.
async fn open(endpoint: &Endpoint, body: Bytes) -> Result<Response, AttemptError> {
    let request = endpoint.client.post(endpoint.url.clone()).header(CONTENT_TYPE, "application/json").body(body);
    let response = send(endpoint, request).await?;
    // Many servers send no exact content type for an event stream, but HTML is certainly not one.
    let kind = content_type(&response);
    if kind.starts_with("text/html") {
        return Err(no_stream(endpoint, kind).into());
    }
    Ok(response)
}

async fn send(endpoint: &Endpoint, request: RequestBuilder) -> Result<Response, AttemptError> {
    let answer = timeout(endpoint.idle_timeout, request.send()).await.map_err(|_| silence(endpoint))?;
    let response = answer.map_err(|error| unreachable(endpoint, error))?;
    let status = response.status();
    if !status.is_success() {
        let headers = response.headers().clone();
        let body = timeout(ERROR_BODY_TIMEOUT, beginning(response)).await.unwrap_or_default();
        let error = if status.is_redirection() {
            let detail =
                format!("it redirects to another URL. Set {} to the final URL.", endpoint.setting_names.base_url);
            ModelError::Refused { status: status.as_u16(), detail, quirks: Vec::new() }
        } else {
            http_error::from_status(status.as_u16(), &Reason::read(&body), &endpoint.model)
        };
        return Err(AttemptError::from(http_error::finished(error, endpoint)).with_retry_after(&headers));
    }
    Ok(response)
}

fn content_type(response: &Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn no_stream(endpoint: &Endpoint, kind: &str) -> ModelError {
    bad_stream(format!(
        "{} responded with {kind} instead of a stream. Check {}",
        endpoint.address, endpoint.setting_names.base_url
    ))
}

/// Reads the complete body of a response that is not streamed. Returns an error if it exceeds [`MAX_FRAME_BYTES`].
async fn whole(endpoint: &Endpoint, mut response: Response) -> Result<String, AttemptError> {
    let mut body = Vec::new();
    while let Some(bytes) = next_portion(endpoint, &mut response).await? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_FRAME_BYTES {
            return Err(bad_stream(format!("it is longer than {MAX_FRAME_BYTES} bytes")).into());
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

async fn next_portion(endpoint: &Endpoint, response: &mut Response) -> Result<Option<Bytes>, AttemptError> {
    let portion = timeout(endpoint.idle_timeout, response.chunk()).await.map_err(|_| silence(endpoint))?;
    portion.map_err(|error| {
        AttemptError::aborted(bad_stream(format!(
            "the connection was lost ({})",
            tallybook_http_client::root_cause(&error)
        )))
    })
}

/// Reads the beginning of an error response's body. Stops without an error if reading fails.
async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        let left = MAX_ERROR_BODY_BYTES - body.len();
        body.extend_from_slice(&bytes[..bytes.len().min(left)]);
        if body.len() == MAX_ERROR_BODY_BYTES {
            break;
        }
    }
    body
}

fn silence(endpoint: &Endpoint) -> ModelError {
    // Rounded up, so that a timeout below one second is not reported as 0 seconds.
    let whole = endpoint.idle_timeout.as_secs();
    ModelError::Timeout { seconds: whole + u64::from(endpoint.idle_timeout.subsec_nanos() > 0) }
}

fn unreachable(endpoint: &Endpoint, error: reqwest::Error) -> ModelError {
    if error.is_timeout() && !error.is_connect() {
        return silence(endpoint);
    }
    ModelError::Unreachable {
        address: endpoint.address.clone(),
        setting: endpoint.setting_names.base_url.clone(),
        source: error.without_url(),
    }
}
