//! Reads the settings of the OpenID Connect provider that users sign in with.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tallybook_accounts::OpenIdSettings;
use url::Url;

use super::error::{ConfigError, bad};
use crate::config::cli::{Options, set};

/// Timeout of a request to the identity provider.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Maximum length of the provider's display name, in characters.
const MAX_NAME_CHARS: usize = 60;

pub(crate) fn openid(options: &Options) -> Result<Option<OpenIdSettings>, ConfigError> {
    let Some(issuer) = set(options.oidc_issuer.clone()) else {
        return match set(options.oidc_client_id.clone()) {
            Some(_) => Err(bad(
                "OIDC_CLIENT_ID",
                "is set, but OIDC_ISSUER is not; set OIDC_ISSUER to the URL of the identity provider",
            )),
            None => Ok(None),
        };
    };
    OpenIdSettings::check_issuer(&issuer).map_err(|problem| bad("OIDC_ISSUER", problem))?;
    let client_id = set(options.oidc_client_id.clone()).ok_or_else(|| {
        bad("OIDC_CLIENT_ID", "is not set; register this server at the identity provider to get a client ID")
    })?;
    let host = Url::parse(&issuer).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
    let name = set(options.oidc_name.clone()).or(host).unwrap_or_default();
    if name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        return Err(bad("OIDC_NAME", format!("must be one line of at most {MAX_NAME_CHARS} characters")));
    }
    let client_secret =
        options.oidc_client_secret.as_ref().and_then(|secret| set(Some(secret.expose_secret().to_owned())));
    Ok(Some(OpenIdSettings {
        issuer,
        client_id,
        client_secret: client_secret.map(SecretString::from),
        name,
        scopes: words(&options.oidc_scopes),
        email_domains: words(&options.oidc_email_domains)
            .into_iter()
            .map(|domain| domain.trim_start_matches('@').to_owned())
            .collect(),
        groups_claim: set(options.oidc_groups_claim.clone()),
        timeout: TIMEOUT,
    }))
}

/// Splits texts at white space.
fn words(list: &[String]) -> Vec<String> {
    list.iter().flat_map(|text| text.split_whitespace()).map(ToOwned::to_owned).collect()
}
