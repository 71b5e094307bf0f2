//! The issuer: what it says of itself, asked for when somebody first wants to sign in by it, kept for a while and asked
//! for again; an issuer that is down is not asked again at once, and keeps nothing else from working.

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
    settings::{OpenIdSettings, may_be_asked},
    transport::Transport,
};

/// How long what the issuer says of itself is taken for true.
const FRESH_FOR: Duration = Duration::from_hours(1);
/// How long it is worked with while the issuer says nothing new.
const USABLE_FOR: Duration = Duration::from_hours(24);
/// How often, at most, it is asked for because a token names a key that is missing.
const RENEWED_EVERY: Duration = Duration::from_mins(1);
/// How long an issuer that failed is left alone at first, and at most, but for up to as much again that comes on top, so that
/// replicas do not all ask at once.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// Answers of the issuer that are waited for at once.
const MAX_AT_ONCE: usize = 16;

/// The issuer.
pub(in crate::accounts) struct Issuer {
    pub(super) settings: OpenIdSettings,
    known: Mutex<Known>,
    pub(super) at_once: Semaphore,
}

#[derive(Default)]
struct Known {
    connection: Option<Arc<Connection>>,
    /// How long it is left alone, once it has failed.
    pauses: Option<ExponentialBackoff>,
    asked_again_at: Option<Instant>,
    /// When it was last asked because a key was missing.
    renewed_at: Option<Instant>,
}

/// What the issuer said of itself, and how it is asked.
pub(super) struct Connection {
    pub(super) transport: Transport,
    pub(super) metadata: CoreProviderMetadata,
    since: Instant,
}

impl Issuer {
    pub(in crate::accounts) fn new(settings: OpenIdSettings) -> Self {
        Self { settings, known: Mutex::default(), at_once: Semaphore::new(MAX_AT_ONCE) }
    }

    /// What was decided of it.
    pub(in crate::accounts) fn settings(&self) -> &OpenIdSettings {
        &self.settings
    }

    /// Where a browser goes for the issuer to find out who is there.
    pub(in crate::accounts) async fn address_for(&self, flow: &Flow, back: &str) -> Result<String, OpenIdError> {
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

    /// What the issuer says of itself; with `before`, if it can be, something newer than that.
    pub(super) async fn connection(&self, before: Option<&Connection>) -> Result<Arc<Connection>, OpenIdError> {
        // Whoever waits waits for one attempt of somebody else's, and then for its own.
        let waited = timeout(self.settings.patience * 4, self.known.lock()).await;
        let mut known = waited.map_err(|_| self.unreachable())?;
        let now = Instant::now();
        if let Some(connection) = &known.connection {
            let since = |time: Instant| now.duration_since(time);
            let will_do = match before {
                None => since(connection.since) < FRESH_FOR,
                Some(before) => {
                    connection.since > before.since || known.renewed_at.is_some_and(|at| since(at) < RENEWED_EVERY)
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
                    tracing::warn!(issuer = self.settings.issuer, %error, "nobody can be signed in by the issuer");
                }
            }
        }
        let usable = known.connection.as_ref().filter(|known| now.duration_since(known.since) < USABLE_FOR);
        usable.cloned().ok_or_else(|| self.unreachable())
    }

    async fn discover(&self) -> Result<Connection, String> {
        let since = Instant::now();
        let url = Url::parse(&self.settings.issuer).map_err(|error| error.to_string())?;
        let transport = Transport::new(&url, self.settings.patience).map_err(|error| error.to_string())?;
        let issuer = &self.settings.issuer;
        let metadata = match described(issuer, &transport).await {
            // Some issuers end in a slash, which is easily lost when the setting is written.
            Err(NotDescribed { cause, is_other_issuer: true }) => {
                described(&with_other_end(issuer), &transport).await.map_err(|_| cause)?
            }
            metadata => metadata.map_err(|error| error.cause)?,
        };
        if !may_be_asked(metadata.authorization_endpoint().url()) {
            return Err("its page for signing in is neither https nor on this machine".to_owned());
        }
        Ok(Connection { transport, metadata, since })
    }

    pub(super) fn unreachable(&self) -> OpenIdError {
        OpenIdError::Unreachable { name: self.settings.name.clone() }
    }
}

/// Why an issuer has no description.
struct NotDescribed {
    cause: String,
    /// The description is there, but names another issuer.
    is_other_issuer: bool,
}

/// Asks for the description of the issuer at this address, and for its keys.
async fn described(address: &str, transport: &Transport) -> Result<CoreProviderMetadata, NotDescribed> {
    let issuer = IssuerUrl::new(address.to_owned())
        .map_err(|error| NotDescribed { cause: error.to_string(), is_other_issuer: false })?;
    CoreProviderMetadata::discover_async(issuer, transport).await.map_err(|error| NotDescribed {
        cause: told(&error),
        is_other_issuer: matches!(error, DiscoveryError::Validation(_)),
    })
}

/// Returns the address with a slash at its end, or without it if it has one.
fn with_other_end(address: &str) -> String {
    address.strip_suffix('/').map_or_else(|| format!("{address}/"), ToOwned::to_owned)
}

fn pauses() -> ExponentialBackoff {
    let backoff = ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(MAX_PAUSE);
    backoff.without_max_times().with_jitter().build()
}

/// The longest cause that is logged.
const MAX_CAUSE_CHARS: usize = 300;

/// An error with its causes on one line. Parts of it may come from the issuer.
pub(super) fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    let line = causes.collect::<Vec<_>>().join(": ");
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CAUSE_CHARS).collect()
}
