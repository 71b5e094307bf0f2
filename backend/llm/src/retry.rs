//! Sends a request to a provider, with retries, and streams the answer. One attempt is in `http`. The decision whether
//! to retry a failure is in `attempt_error`, and the wait before a retry in `retry_policy`.

use std::{pin::pin, sync::Arc};

use async_stream::try_stream;
use bytes::Bytes;
use futures_util::StreamExt as _;

use super::{
    attempt_error::Retry,
    endpoint::Endpoint,
    event::{ModelEvent, RetryWait},
    http,
    model::ModelStream,
    reader::StreamReader,
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
            let mut answer = pin!(http::ask(endpoint.clone(), body.clone(), reader()));
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
