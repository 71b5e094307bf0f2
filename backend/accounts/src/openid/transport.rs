//! HTTP client for the identity provider: only TLS or localhost, no redirects, with limits for time and size.

use std::{future::Future, pin::Pin, time::Duration};

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::{Client, Request};
use url::Url;

use super::{description::used_fields, settings::is_safe_endpoint};

/// Maximum size of a response body, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Error of a request to the identity provider.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("the identity provider's metadata has a URL that is neither https nor on localhost")]
    NotAllowed,
    #[error("the request to the identity provider failed: {0}")]
    Request(#[source] reqwest::Error),
    #[error("the identity provider's response has more than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
}

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        Self::Request(error.without_url())
    }
}

/// The HTTP client.
#[derive(Clone, Debug)]
pub(crate) struct Transport(Client);

impl Transport {
    pub(crate) fn new(issuer: &Url, timeout: Duration) -> Result<Self, TransportError> {
        Ok(Self(tallybook_http_client::client_for(issuer).timeout(timeout).build()?))
    }

    pub(crate) async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let request = Request::try_from(request)?;
        // The URLs come from the provider's metadata, so each one is checked.
        if !is_safe_endpoint(request.url()) {
            return Err(TransportError::NotAllowed);
        }
        let mut response = self.0.execute(request).await?;
        if response.status().is_server_error() {
            // Counts as an outage, whatever the body: it may come from a proxy.
            response = response.error_for_status()?;
        }
        let mut answer = HttpResponse::default();
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        while let Some(chunk) = response.chunk().await? {
            if answer.body().len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(TransportError::TooLong);
            }
            answer.body_mut().extend_from_slice(&chunk);
        }
        Ok(answer)
    }
}

/// Requests the provider's metadata and keys for the `openidconnect` crate.
impl<'a> AsyncHttpClient<'a> for Transport {
    type Error = TransportError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, TransportError>> + Send + 'a>>;

    fn call(&'a self, request: HttpRequest) -> Self::Future {
        Box::pin(async move { self.ask(request).await.map(used_fields) })
    }
}
