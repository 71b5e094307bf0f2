//! How the issuer is asked: over TLS or on this machine, following no redirects, within bounds of time and size.

use std::{future::Future, pin::Pin, time::Duration};

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::{Client, Request, redirect};
use url::Url;

use super::{
    description::used_fields,
    settings::{is_on_this_machine, may_be_asked},
};

/// The longest answer that is read.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Why the issuer could not be asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransportError {
    #[error("an address of the issuer's is neither https nor on this machine")]
    NotAllowed,
    #[error("the issuer could not be asked: {0}")]
    Request(#[source] reqwest::Error),
    #[error("the issuer's answer has more than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
}

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        Self::Request(error.without_url())
    }
}

/// What asks.
#[derive(Clone, Debug)]
pub(super) struct Transport(Client);

impl Transport {
    pub(super) fn new(issuer: &Url, patience: Duration) -> Result<Self, TransportError> {
        // It fails when a provider is installed already, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("tallybook/", env!("CARGO_PKG_VERSION")))
            .timeout(patience)
            // A redirect would carry the secret to somewhere that nobody configured.
            .redirect(redirect::Policy::none());
        if issuer.scheme() == "http" {
            // Without TLS there is nothing to verify, and a small container may have no certificates at all.
            builder = builder.tls_certs_only([]);
        }
        if is_on_this_machine(issuer) {
            // A proxy for the outside world cannot reach this machine's own ports.
            builder = builder.no_proxy();
        }
        Ok(Self(builder.build()?))
    }

    pub(super) async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let request = Request::try_from(request)?;
        // The issuer says of itself where its other addresses are.
        if !may_be_asked(request.url()) {
            return Err(TransportError::NotAllowed);
        }
        let mut response = self.0.execute(request).await?;
        if response.status().is_server_error() {
            // An outage, whatever a proxy wrote about it.
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

/// Asks for the issuer's description and its keys.
impl<'a> AsyncHttpClient<'a> for Transport {
    type Error = TransportError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, TransportError>> + Send + 'a>>;

    fn call(&'a self, request: HttpRequest) -> Self::Future {
        Box::pin(async move { self.ask(request).await.map(used_fields) })
    }
}
