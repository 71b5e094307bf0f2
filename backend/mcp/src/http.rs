//! HTTP transport: the one of `rmcp`, with a client that follows no redirects and adds OAuth tokens.

use std::{collections::HashMap, io, sync::Arc};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use reqwest::{
    Client,
    header::{HeaderName, HeaderValue},
};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::{
        StreamableHttpClientTransport,
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
            StreamableHttpPostResponse, StreamableHttpResponseLimits,
        },
    },
};
use secrecy::{ExposeSecret, SecretString};
use tallybook_tools::Secrets;
use url::Url;

use super::{
    call_post,
    endpoint::HttpEndpoint,
    error::HttpError,
    exact,
    limits::{
        CLOSE_TIMEOUT, CONNECT_TIMEOUT, IDLE_TIMEOUT, MAX_CONCURRENT_CALLS, MAX_DIAGNOSTIC_BYTES, MAX_MESSAGE_BYTES,
    },
    token::Tokens,
};

/// Maximum number of attempts to reopen a stream that broke.
const MAX_RECONNECTS: usize = 3;

/// HTTP client for one server. The server's reconnects share it, and with it the token.
#[derive(Clone)]
pub(crate) struct HttpClient {
    http: Client,
    tokens: Option<Arc<Tokens>>,
}

/// The HTTP client could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create the HTTP client: {0}")]
pub(crate) struct ClientError(#[from] reqwest::Error);

impl HttpClient {
    /// Creates the client for a server. The tokens that it gets are added to `secrets`.
    pub(crate) fn new(endpoint: &mut HttpEndpoint, secrets: &Secrets) -> Result<Self, ClientError> {
        let tokens = match endpoint.credentials.take() {
            Some(credentials) => {
                let http = client(&credentials.token_url)?;
                Some(Arc::new(Tokens::new(http, credentials, &endpoint.url, secrets.clone())))
            }
            None => None,
        };
        Ok(Self { http: client(&endpoint.url)?, tokens })
    }

    /// Creates a transport, before the handshake.
    pub(crate) fn transport(&self, endpoint: &HttpEndpoint) -> StreamableHttpClientTransport<Self> {
        let mut reconnects = rmcp::transport::common::client_side_sse::ExponentialBackoff::default();
        reconnects.max_times = Some(MAX_RECONNECTS);
        let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str())
            .custom_headers(endpoint.headers.clone())
            .max_concurrent_requests(2 * MAX_CONCURRENT_CALLS)
            .control_request_timeout(CLOSE_TIMEOUT)
            .max_sse_event_size(MAX_MESSAGE_BYTES)
            .max_json_response_size(MAX_MESSAGE_BYTES)
            .max_error_response_size(MAX_DIAGNOSTIC_BYTES);
        config.retry_config = Arc::new(reconnects);
        StreamableHttpClientTransport::with_client(self.clone(), config)
    }

    /// Returns the token for a request, or `None` if the server needs none. Fails if the server needs a token and there
    /// is none, so the request is not sent.
    async fn token(&self, refused: Option<&SecretString>) -> Result<Option<SecretString>, HttpError> {
        match &self.tokens {
            Some(tokens) => tokens.get(refused).await.map(Some).map_err(|error| io::Error::other(error).into()),
            None => Ok(None),
        }
    }
}

fn shown(token: Option<&SecretString>) -> Option<String> {
    token.map(|token| token.expose_secret().to_owned())
}

/// Returns `true` if the server asks for another token, with or without a challenge.
fn is_unauthorized(error: &HttpError) -> bool {
    match error {
        StreamableHttpError::AuthRequired(_) => true,
        StreamableHttpError::UnexpectedServerResponse(message) => message.starts_with("HTTP 401"),
        StreamableHttpError::Client(error) => error.status() == Some(reqwest::StatusCode::UNAUTHORIZED),
        _ => false,
    }
}

fn client(url: &Url) -> Result<Client, reqwest::Error> {
    tallybook_http_client::client_for(url).connect_timeout(CONNECT_TIMEOUT).pool_idle_timeout(IDLE_TIMEOUT).build()
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, auth_header, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let token = self.token(None).await?;
        let call = exact::written(&message)?.map(Bytes::from);
        let post = async |token: Option<&SecretString>| {
            let (uri, message, session_id, headers) =
                (uri.clone(), message.clone(), session_id.clone(), headers.clone());
            if let Some(body) = &call {
                return call_post::send(&self.http, &uri, body.clone(), session_id.as_deref(), token, headers).await;
            }
            let token = shown(token);
            self.http.post_message_with_response_limits(uri, message, session_id, token, headers, limits).await
        };
        match post(token.as_ref()).await {
            // The server did not execute a refused request, so the request can be retried.
            Err(error) if token.is_some() && is_unauthorized(&error) => {
                let renewed = self.token(token.as_ref()).await?;
                post(renewed.as_ref()).await
            }
            answered => answered,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let token = self.token(None).await?;
        self.http.delete_session(uri, session_id, shown(token.as_ref()), headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<sse_stream::Sse, SseError>>, HttpError> {
        self.get_stream_with_max_sse_event_size(uri, session_id, last_event_id, auth_header, headers, MAX_MESSAGE_BYTES)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<sse_stream::Sse, SseError>>, HttpError> {
        let token = self.token(None).await?;
        let token = shown(token.as_ref());
        let events = self
            .http
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, token, headers, max_sse_event_size)
            .await?;
        Ok(call_post::exact(events))
    }
}
