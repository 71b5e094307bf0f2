//! Tokens obtained with OAuth client credentials (RFC 6749, section 4.4). A token is cached until shortly before it
//! expires, and one request serves all callers that wait.

use std::time::Duration;

use reqwest::{Client, StatusCode, header::ACCEPT};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tallybook_tools::Secrets;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};
use url::Url;

use super::{
    body::{self, BodyError},
    endpoint::Credentials,
    limits::TOKEN_TIMEOUT,
};

/// Time before its expiry at which a token is renewed. If half of its lifetime is shorter, that is used instead.
const RENEWED_BEFORE: Duration = Duration::from_mins(5);
/// Lifetime of a token if the token endpoint does not state one.
const DEFAULT_LIFE: Duration = Duration::from_hours(1);
/// Maximum lifetime of a token; longer ones are reduced to it.
const MAX_LIFE: Duration = Duration::from_hours(24);
/// Maximum size of a response of a token endpoint, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Reason why no token is available. Without a token, no request is sent to the server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the token endpoint is unreachable")]
    Unreachable,
    #[error("the token endpoint did not respond within {} seconds", TOKEN_TIMEOUT.as_secs())]
    Timeout,
    #[error("the token endpoint rejected the client ID or secret (HTTP {0})")]
    Refused(u16),
    #[error("the token endpoint failed (HTTP {0})")]
    Failed(u16),
    #[error("the token endpoint's response contains no token")]
    Unreadable,
}

/// Cached token of one server.
pub(crate) struct Tokens {
    http: Client,
    credentials: Credentials,
    /// Server that the token is for (RFC 8707), so that no other server can use it.
    resource: String,
    /// Receives each token, so that it is redacted.
    secrets: Secrets,
    /// Locked while a token is requested, so that all other callers wait for that token.
    current: Mutex<Option<Token>>,
}

#[derive(Clone)]
struct Token {
    value: SecretString,
    renewed_at: Instant,
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    expires_in: Option<f64>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl Tokens {
    pub(crate) fn new(http: Client, credentials: Credentials, server: &Url, secrets: Secrets) -> Self {
        Self { http, credentials, resource: resource(server), secrets, current: Mutex::new(None) }
    }

    /// Returns the token for a request. `refused` is a token that the server no longer accepts: if it is still the
    /// cached one, a new token is requested.
    pub(crate) async fn get(&self, refused: Option<&SecretString>) -> Result<SecretString, TokenError> {
        let mut current = self.current.lock().await;
        let usable = current.as_ref().filter(|token| {
            Instant::now() < token.renewed_at
                && refused.is_none_or(|refused| refused.expose_secret() != token.value.expose_secret())
        });
        if let Some(token) = usable {
            return Ok(token.value.clone());
        }
        *current = None;
        let token = timeout(TOKEN_TIMEOUT, self.ask()).await.map_err(|_| TokenError::Timeout)??;
        let value = token.value.clone();
        *current = Some(token);
        Ok(value)
    }

    async fn ask(&self) -> Result<Token, TokenError> {
        let asked_at = Instant::now();
        let (status, body) = match self.post(Some(&self.resource)).await? {
            // Some endpoints do not know the parameter `resource`, and refuse unknown parameters.
            (StatusCode::BAD_REQUEST, body) if refuses_resource(&body) => self.post(None).await?,
            answered => answered,
        };
        match status {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(TokenError::Refused(status.as_u16()));
            }
            _ => return Err(TokenError::Failed(status.as_u16())),
        }
        let answer: Answer = serde_json::from_slice(&body).map_err(|_| TokenError::Unreadable)?;
        self.secrets.learn(&answer.access_token);
        let said = answer.expires_in.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let life = said.unwrap_or(DEFAULT_LIFE).min(MAX_LIFE);
        Ok(Token { value: answer.access_token.into(), renewed_at: asked_at + cache_duration(life) })
    }

    async fn post(&self, resource: Option<&str>) -> Result<(StatusCode, Vec<u8>), TokenError> {
        let Credentials { token_url, client_id, client_secret, scope } = &self.credentials;
        let response = self
            .http
            .post(token_url.clone())
            .header(ACCEPT, "application/json")
            .header(reqwest::header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .basic_auth(form_encoded(client_id), Some(form_encoded(client_secret.expose_secret())))
            .body(form(scope.as_deref(), resource))
            .send()
            .await
            .map_err(|_| TokenError::Unreachable)?;
        let status = response.status();
        let body = body::read(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
            BodyError::TooLong(_) => TokenError::Unreadable,
            BodyError::Lost(_) => TokenError::Unreachable,
        })?;
        Ok((status, body))
    }
}

/// Returns the URL of a server as its resource identifier: without query and fragment, which may be secret. Also drops
/// the slash that a URL without a path gets.
fn resource(server: &Url) -> String {
    let mut server = server.clone();
    server.set_fragment(None);
    server.set_query(None);
    let is_bare = server.path() == "/";
    let text = String::from(server);
    if is_bare { text.trim_end_matches('/').to_owned() } else { text }
}

fn refuses_resource(body: &[u8]) -> bool {
    let refusal: Result<Refusal, _> = serde_json::from_slice(body);
    refusal.is_ok_and(|refusal| matches!(refusal.error.as_str(), "invalid_request" | "invalid_target"))
}

fn form(scope: Option<&str>, resource: Option<&str>) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials");
    if let Some(scope) = scope {
        form.append_pair("scope", scope);
    }
    if let Some(resource) = resource {
        form.append_pair("resource", resource);
    }
    form.finish()
}

fn cache_duration(life: Duration) -> Duration {
    life.saturating_sub(RENEWED_BEFORE).max(life / 2)
}

/// Form-encodes an ID or secret, which RFC 6749, section 2.3.1, requires before basic authentication.
fn form_encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_an_address_without_query_and_fragment() {
        for (server, expected) in [
            ("https://Tools.example/mcp?key=1#a", "https://tools.example/mcp"),
            ("https://tools.example", "https://tools.example"),
            ("http://127.0.0.1:8080/a/", "http://127.0.0.1:8080/a/"),
        ] {
            assert_eq!(resource(&server.parse().unwrap()), expected);
        }
    }

    #[test]
    fn tokens_are_renewed_before_they_expire() {
        assert_eq!(cache_duration(Duration::from_hours(1)), Duration::from_mins(55));
        assert_eq!(cache_duration(Duration::from_mins(6)), Duration::from_mins(3));
        assert_eq!(cache_duration(Duration::ZERO), Duration::ZERO);
    }
}
