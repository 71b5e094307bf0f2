//! A provider's endpoint: its URL, HTTP client and fixed headers, which are created once at startup. Module `http`
//! sends the requests.

use std::time::Duration;

use reqwest::{
    Client, Url,
    header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};

use super::{
    api_key::ApiKey,
    provider::ProviderKind,
    retry::RetryPolicy,
    setting_names::SettingNames,
    settings::{ConnectError, ModelSettings},
};

/// Default version of the Messages API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A provider's URL with everything that a request to it needs.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) url: Url,
    /// Scheme, host and port, for error messages.
    pub(crate) address: String,
    /// The API key, for redacting it in the provider's messages.
    pub(crate) key: Option<ApiKey>,
    /// The model's name, for error messages.
    pub(crate) model: String,
    /// The names of the settings, for error messages.
    pub(crate) setting_names: SettingNames,
    pub(crate) idle_timeout: Duration,
    pub(crate) retries: RetryPolicy,
}

impl Endpoint {
    /// Creates an endpoint of the Messages API. The base URL may end in `/v1`, as with the other providers.
    pub(crate) fn anthropic(settings: &ModelSettings) -> Result<Self, ConnectError> {
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", version(settings.anthropic_version.as_deref())?);
        if let Some(key) = key_of(settings) {
            headers.insert(HeaderName::from_static("x-api-key"), secret(key.expose())?);
        }
        let base = base_url(settings)?;
        let path = if base.path().trim_end_matches('/').ends_with("/v1") { "messages" } else { "v1/messages" };
        Self::new(settings, &base, path, headers)
    }

    /// Creates an endpoint of the Chat Completions API.
    pub(crate) fn openai(settings: &ModelSettings) -> Result<Self, ConnectError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key_of(settings) {
            headers.insert(AUTHORIZATION, secret(&format!("Bearer {}", key.expose()))?);
        }
        Self::new(settings, &base_url(settings)?, "chat/completions", headers)
    }

    /// Creates an endpoint of the provider's list of models.
    pub(crate) fn of_models(settings: &ModelSettings) -> Result<Self, ConnectError> {
        let mut endpoint = match settings.provider {
            ProviderKind::Anthropic => Self::anthropic(settings)?,
            ProviderKind::OpenAi | ProviderKind::OpenRouter | ProviderKind::Ollama => Self::openai(settings)?,
        };
        let path = endpoint.url.path();
        let base = path.strip_suffix("/messages").or(path.strip_suffix("/chat/completions")).unwrap_or(path);
        let path = format!("{base}/models");
        endpoint.url.set_path(&path);
        if settings.provider == ProviderKind::Anthropic {
            // By default, the list has 20 models.
            endpoint.url.set_query(Some("limit=1000"));
        }
        Ok(endpoint)
    }

    fn new(settings: &ModelSettings, base: &Url, path: &str, mut headers: HeaderMap) -> Result<Self, ConnectError> {
        check_key(settings)?;
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let mut url = base.clone();
        url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
        Ok(Self {
            client: client(&url, headers, settings.connect_timeout)
                .map_err(|source| ConnectError::Tls { url: url.origin().ascii_serialization(), source })?,
            address: url.origin().ascii_serialization(),
            url,
            key: settings.api_key.clone(),
            model: settings.model_name().to_owned(),
            setting_names: settings.setting_names.clone(),
            idle_timeout: settings.idle_timeout,
            retries: settings.retries,
        })
    }
}

fn key_of(settings: &ModelSettings) -> Option<&ApiKey> {
    settings.api_key.as_ref().filter(|key| !key.is_empty())
}

/// Returns an error if the API key is missing. Only the providers' public addresses certainly require a key; a
/// self-hosted server may not.
fn check_key(settings: &ModelSettings) -> Result<(), ConnectError> {
    match settings.provider.key_variable() {
        Some(variable) if key_of(settings).is_none() && settings.base_url.is_none() => {
            Err(ConnectError::NoKey { provider: settings.provider, variable })
        }
        _ => Ok(()),
    }
}

fn secret(value: &str) -> Result<HeaderValue, ConnectError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| ConnectError::BadKey)?;
    value.set_sensitive(true);
    Ok(value)
}

fn version(given: Option<&str>) -> Result<HeaderValue, ConnectError> {
    let version = given.unwrap_or(ANTHROPIC_VERSION).trim();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if version.is_empty() || !version.bytes().all(plain) {
        return Err(ConnectError::BadVersion);
    }
    HeaderValue::from_str(version).map_err(|_| ConnectError::BadVersion)
}

fn base_url(settings: &ModelSettings) -> Result<Url, ConnectError> {
    let given = settings.base_url.as_deref().unwrap_or(settings.provider.default_base_url()).trim();
    let bad = |url: &str, reason| Err(ConnectError::BadBaseUrl { url: url.to_owned(), reason });
    let Ok(url) = Url::parse(given) else {
        return bad(given.rsplit_once('@').map_or(given, |(_, rest)| rest), "is not a valid URL");
    };
    let shown = url.host_str().unwrap_or(given);
    if !matches!(url.scheme(), "http" | "https") {
        return bad(shown, "must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return bad(shown, "must not contain a user name or password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return bad(shown, "must not contain a query or fragment");
    }
    if tallybook_http_client::is_link_local(&url) {
        return bad(shown, "is a link-local address, which is not allowed");
    }
    Ok(url)
}

fn client(url: &Url, headers: HeaderMap, connect_timeout: Duration) -> Result<Client, reqwest::Error> {
    tallybook_http_client::client_for(url).default_headers(headers).connect_timeout(connect_timeout).build()
}

#[cfg(test)]
mod tests {
    use super::Endpoint;
    use crate::{ModelSettings, ProviderKind};

    fn settings(provider: ProviderKind, base: &str) -> ModelSettings {
        ModelSettings { base_url: Some(base.to_owned()), ..ModelSettings::new(provider) }
    }

    #[test]
    fn paths_follow_each_providers_convention() {
        for (base, url) in [
            ("http://h:1", "http://h:1/v1/messages"),
            ("http://h:1/v1/", "http://h:1/v1/messages"),
            ("http://h:1/proxy", "http://h:1/proxy/v1/messages"),
        ] {
            let endpoint = Endpoint::anthropic(&settings(ProviderKind::Anthropic, base)).unwrap();
            assert_eq!(endpoint.url.as_str(), url);
        }
        for (base, url) in
            [("http://h:1", "http://h:1/chat/completions"), ("http://h:1/v1/", "http://h:1/v1/chat/completions")]
        {
            let endpoint = Endpoint::openai(&settings(ProviderKind::OpenAi, base)).unwrap();
            assert_eq!((endpoint.url.as_str(), endpoint.address.as_str()), (url, "http://h:1"));
        }
    }

    #[test]
    fn an_https_client_can_be_created() {
        // This needs ring and the system's certificates, as in production.
        assert!(Endpoint::openai(&settings(ProviderKind::OpenAi, "https://example.com/v1")).is_ok());
    }
}
