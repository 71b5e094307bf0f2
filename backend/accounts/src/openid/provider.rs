//! The identity provider, and its metadata and keys. They are requested at the first sign-in, cached, and renewed. If
//! the provider is down, requests are retried after increasing pauses, and the rest of the server keeps working.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use openidconnect::{
    AuthenticationFlow, ClientId, CsrfToken, DiscoveryError, IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, Scope,
    core::{CoreClient, CoreProviderMetadata, CoreResponseType},
};
use tokio::{
    sync::{Mutex, Semaphore},
    time::timeout,
};
use url::Url;

use super::{
    error::OpenIdError,
    flow::Flow,
    settings::{OpenIdSettings, is_safe_endpoint},
    transport::Transport,
};

/// Maximum age of cached metadata before it is requested again.
const FRESH_FOR: Duration = Duration::from_hours(1);
/// Maximum age of cached metadata that is still used while requests for new metadata fail.
const USABLE_FOR: Duration = Duration::from_hours(24);
/// Minimum interval between requests for new metadata because a token was signed with an unknown key.
const RENEW_INTERVAL: Duration = Duration::from_mins(1);
/// First and maximum pause after a failed request for metadata. Pauses double, and a random time of up to the same
/// length is added to each, so that replicas do not all send requests at once.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// Maximum number of codes redeemed concurrently.
const MAX_AT_ONCE: usize = 16;

/// The identity provider and its cached metadata.
pub(crate) struct IdentityProvider {
    pub(crate) settings: OpenIdSettings,
    known: Mutex<Known>,
    pub(crate) at_once: Semaphore,
}

#[derive(Default)]
struct Known {
    connection: Option<Arc<Connection>>,
    /// Backoff while requests fail; `None` after a success.
    pauses: Option<ExponentialBackoff>,
    asked_again_at: Option<Instant>,
    /// Time of the last successful renewal because of an unknown key.
    renewed_at: Option<Instant>,
}

/// Metadata of the identity provider, and the HTTP client for it.
pub(crate) struct Connection {
    pub(crate) transport: Transport,
    pub(crate) metadata: CoreProviderMetadata,
    since: Instant,
}

impl IdentityProvider {
    pub(crate) fn new(settings: OpenIdSettings) -> Self {
        Self { settings, known: Mutex::default(), at_once: Semaphore::new(MAX_AT_ONCE) }
    }

    /// Returns the operator's settings for the provider.
    pub(crate) fn settings(&self) -> &OpenIdSettings {
        &self.settings
    }

    /// Returns the URL of the authorization request, to which the browser is sent. Fails with `Unreachable` without
    /// usable metadata.
    pub(crate) async fn address_for(&self, flow: &Flow, back: &str) -> Result<String, OpenIdError> {
        let connection = self.connection(None).await?;
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(flow.verifier()));
        let (state, nonce) = (CsrfToken::new(flow.state()), Nonce::new(flow.nonce()));
        let scopes = self.settings.scopes.iter().cloned().map(Scope::new);
        let back = RedirectUrl::new(back.to_owned()).map_err(|_| OpenIdError::Stale)?;
        let client_id = ClientId::new(self.settings.client_id.clone());
        let (address, _, _) = CoreClient::from_provider_metadata(connection.metadata.clone(), client_id, None)
            .set_redirect_uri(back)
            .authorize_url(AuthenticationFlow::<CoreResponseType>::AuthorizationCode, || state, || nonce)
            .add_scopes(scopes)
            .set_pkce_challenge(challenge)
            .url();
        Ok(address.into())
    }

    /// Returns the provider's metadata. With `before`, tries to return newer metadata than that. If a request for new
    /// metadata fails, returns the cached metadata, or fails with `Unreachable` if that is too old.
    pub(crate) async fn connection(&self, before: Option<&Connection>) -> Result<Arc<Connection>, OpenIdError> {
        // Waits for another task's attempt, which makes several requests. This task's own attempt, if needed, follows.
        let waited = timeout(self.settings.timeout * 4, self.known.lock()).await;
        let mut known = waited.map_err(|_| self.unreachable())?;
        let now = Instant::now();
        if let Some(connection) = &known.connection {
            let since = |time: Instant| now.duration_since(time);
            let will_do = match before {
                None => since(connection.since) < FRESH_FOR,
                Some(before) => {
                    connection.since > before.since || known.renewed_at.is_some_and(|at| since(at) < RENEW_INTERVAL)
                }
            };
            if will_do {
                return Ok(Arc::clone(connection));
            }
        }
        if known.asked_again_at.is_none_or(|at| now >= at) {
            match self.discover().await {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    let renewed_at = before.map(|_| now).or(known.renewed_at);
                    *known = Known { connection: Some(Arc::clone(&connection)), renewed_at, ..Known::default() };
                    return Ok(connection);
                }
                Err(error) => {
                    let pause = known.pauses.get_or_insert_with(pauses).next().unwrap_or(MAX_PAUSE);
                    known.asked_again_at = Some(Instant::now() + pause);
                    tracing::warn!(
                        issuer = self.settings.issuer,
                        %error,
                        "cannot load the identity provider's metadata, so sign-in with it is unavailable"
                    );
                }
            }
        }
        let usable = known.connection.as_ref().filter(|known| now.duration_since(known.since) < USABLE_FOR);
        usable.cloned().ok_or_else(|| self.unreachable())
    }

    async fn discover(&self) -> Result<Connection, String> {
        let since = Instant::now();
        let url = Url::parse(&self.settings.issuer).map_err(|error| error.to_string())?;
        let transport = Transport::new(&url, self.settings.timeout).map_err(|error| error.to_string())?;
        let issuer = &self.settings.issuer;
        let metadata = match described(issuer, &transport).await {
            // Some issuer URLs end in a slash, which is easily lost in the setting.
            Err(MetadataError { cause, is_other_issuer: true }) => {
                described(&with_other_end(issuer), &transport).await.map_err(|_| cause)?
            }
            metadata => metadata.map_err(|error| error.cause)?,
        };
        if !is_safe_endpoint(metadata.authorization_endpoint().url()) {
            return Err("the authorization endpoint must use https, except on localhost".to_owned());
        }
        Ok(Connection { transport, metadata, since })
    }

    pub(crate) fn unreachable(&self) -> OpenIdError {
        OpenIdError::Unreachable { name: self.settings.name.clone() }
    }
}

/// Error of a request for the provider's metadata.
struct MetadataError {
    cause: String,
    /// `true` if the metadata was received but names another issuer.
    is_other_issuer: bool,
}

/// Requests the metadata of the identity provider with this issuer URL, and its keys.
async fn described(issuer_url: &str, transport: &Transport) -> Result<CoreProviderMetadata, MetadataError> {
    let issuer = IssuerUrl::new(issuer_url.to_owned())
        .map_err(|error| MetadataError { cause: error.to_string(), is_other_issuer: false })?;
    CoreProviderMetadata::discover_async(issuer, transport).await.map_err(|error| MetadataError {
        cause: error_line(&error),
        is_other_issuer: matches!(error, DiscoveryError::Validation(_)),
    })
}

/// Adds a slash to the end of the address, or removes the slash that is there.
fn with_other_end(address: &str) -> String {
    address.strip_suffix('/').map_or_else(|| format!("{address}/"), ToOwned::to_owned)
}

fn pauses() -> ExponentialBackoff {
    let backoff = ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(MAX_PAUSE);
    backoff.without_max_times().with_jitter().build()
}

/// Maximum length of a logged cause, in characters.
const MAX_CAUSE_CHARS: usize = 300;

/// Returns an error and its causes on one line, truncated and without control characters, since parts of it may come
/// from the provider.
pub(crate) fn error_line(error: &(dyn std::error::Error + 'static)) -> String {
    tallybook_http_client::error_chain(error)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_CAUSE_CHARS)
        .collect()
}
