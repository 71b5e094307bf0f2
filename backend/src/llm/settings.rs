//! Which model to use, as the configuration says it, and connecting to it. Reads no environment: `config` does.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use super::{DemoModel, ModelClient, RetryPolicy, ToolMode, anthropic::Anthropic, endpoint::Endpoint, openai::OpenAi};

/// Whose API to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and any server that speaks it under `LLM_BASE_URL`.
    OpenAi,
    /// OpenRouter, which speaks Chat Completions for many providers.
    OpenRouter,
    /// Ollama on this machine or another.
    Ollama,
    /// The small model in this process, which needs no key and no network.
    Demo,
}

/// A word that names no provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no model provider: use anthropic, openai, openrouter, ollama or demo")]
pub struct UnknownProvider(String);

impl ProviderKind {
    /// The word in `LLM_PROVIDER`, in `ModelInfo::provider`, and in opaque blocks.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenRouter => "openrouter",
            Self::Ollama => "ollama",
            Self::Demo => "demo",
        }
    }

    /// The model used when none is named: the provider's current mid-size one, with tool calling.
    pub fn default_model(self) -> &'static str {
        match self {
            Self::Anthropic => "claude-sonnet-5-5",
            Self::OpenAi => "gpt-5-mini",
            Self::OpenRouter => "openai/gpt-5-mini",
            Self::Ollama => "qwen3",
            Self::Demo => "arithmetic",
        }
    }

    /// The address used when none is given; `None` for the model in this process.
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::OpenRouter => Some("https://openrouter.ai/api/v1"),
            Self::Ollama => Some("http://127.0.0.1:11434/v1"),
            Self::Demo => None,
        }
    }

    /// The provider's own variable for its key, besides `LLM_API_KEY`; `None` where no key is needed.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::OpenRouter => Some("OPENROUTER_API_KEY"),
            Self::Ollama | Self::Demo => None,
        }
    }
}

impl FromStr for ProviderKind {
    type Err = UnknownProvider;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::Anthropic, Self::OpenAi, Self::OpenRouter, Self::Ollama, Self::Demo];
        let found = all.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word.trim()));
        found.ok_or_else(|| UnknownProvider(word.to_owned()))
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A secret key. Printing it in any way shows only that there is one.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key without the white space around it, which copying and key files bring along.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// Whether there is nothing in it, as when a variable is set to nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key itself, for the one header that carries it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of the key taken out.
    pub(super) fn scrub(&self, text: &str) -> String {
        if self.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// The most that `LLM_MAX_TOKENS` may ask for.
const MOST_TOKENS: u32 = 1_000_000;

/// How many tokens a title may take; models that think before they write need more than a title has.
const TITLE_TOKENS: u32 = 1024;

/// Everything that a connection to a model needs.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// Whose API to speak.
    pub provider: ProviderKind,
    /// `LLM_BASE_URL`: `http` or `https`. As the providers' own libraries take it: for Anthropic what precedes
    /// `/v1/messages`, for the others what precedes `/chat/completions` (most servers: `http://host:port/v1`).
    pub base_url: Option<String>,
    /// The key, when there is one.
    pub api_key: Option<ApiKey>,
    /// `LLM_MODEL`.
    pub model: Option<String>,
    /// `LLM_TEMPERATURE`; not sent when absent, since newer models refuse it.
    pub temperature: Option<f64>,
    /// `LLM_MAX_TOKENS`: how much one answer may hold.
    pub max_tokens: u32,
    /// How long a connection, with name resolution and TLS, may take.
    pub connect_timeout: Duration,
    /// `LLM_TIMEOUT_SECS`: how long to wait for the first byte of an answer, and between two portions of it.
    pub idle_timeout: Duration,
    /// How often a provider that is busy or out of reach is asked again.
    pub retries: RetryPolicy,
    /// `LLM_ENABLE_WEB_SEARCH`: whether OpenRouter may search the web for an answer; others have no such switch.
    pub web_search: bool,
    /// `LLM_ANTHROPIC_VERSION`: the version of Anthropic's API to ask for.
    pub anthropic_version: Option<String>,
    /// `LLM_TOOL_MODE`.
    pub tool_mode: ToolMode,
    /// How long the demo model waits between two words.
    pub demo_pace: Duration,
}

impl ModelSettings {
    /// Settings with every default for this provider.
    pub fn new(provider: ProviderKind) -> Self {
        Self {
            provider,
            base_url: None,
            api_key: None,
            model: None,
            temperature: None,
            max_tokens: 4096,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            retries: RetryPolicy::default(),
            web_search: false,
            anthropic_version: None,
            tool_mode: ToolMode::Auto,
            demo_pace: Duration::from_millis(15),
        }
    }

    /// The same model for titles, in few words, at once or not at all; `None` for the one in this process, which cannot
    /// write any.
    pub fn for_titles(&self) -> Option<Self> {
        (self.provider != ProviderKind::Demo).then(|| Self {
            max_tokens: self.max_tokens.min(TITLE_TOKENS),
            retries: RetryPolicy { retries: 0, ..self.retries },
            web_search: false,
            tool_mode: ToolMode::Native,
            ..self.clone()
        })
    }

    /// The model that will be asked.
    pub fn model_name(&self) -> &str {
        let named = self.model.as_deref().map(str::trim).filter(|name| !name.is_empty());
        named.unwrap_or_else(|| self.provider.default_model())
    }
}

/// The settings do not lead to a model. Each sentence names the setting.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The provider's public address wants a key.
    #[error("LLM_API_KEY is not set. {provider} needs a key: set LLM_API_KEY or {variable}, or LLM_PROVIDER=demo.")]
    NoKey {
        /// Whose key is missing.
        provider: ProviderKind,
        /// The provider's own variable for it.
        variable: &'static str,
    },
    /// The key cannot be sent in a header.
    #[error("LLM_API_KEY holds characters that no key has (line breaks or control characters). Copy it again.")]
    BadKey,
    /// The version of the API cannot be sent in a header.
    #[error("LLM_ANTHROPIC_VERSION is no version. It looks like 2023-06-01.")]
    BadVersion,
    /// The address is not one.
    #[error("LLM_BASE_URL {url:?} {reason}. It looks like https://api.openai.com/v1 or http://127.0.0.1:11434/v1.")]
    BadBaseUrl {
        /// What was given, without user name and password.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Sampling out of range.
    #[error("LLM_TEMPERATURE must be a number from 0 to 2.")]
    BadTemperature,
    /// No room for an answer, or more than any model has.
    #[error("LLM_MAX_TOKENS must be a number from 1 to {MOST_TOKENS}.")]
    BadMaxTokens,
    /// The TLS library or the system's certificates are unusable.
    #[error("The HTTPS client cannot be set up: {0}. Install the system's CA certificates (package ca-certificates).")]
    Tls(#[source] reqwest::Error),
}

/// Connects to the model that the settings name. Nothing is sent yet.
#[expect(clippy::needless_pass_by_value, reason = "the settings hold the key and have no further use outside")]
pub fn connect(settings: ModelSettings) -> Result<Arc<dyn ModelClient>, ConnectError> {
    if settings.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        return Err(ConnectError::BadTemperature);
    }
    if !(1..=MOST_TOKENS).contains(&settings.max_tokens) {
        return Err(ConnectError::BadMaxTokens);
    }
    if settings.web_search && settings.provider != ProviderKind::OpenRouter {
        tracing::warn!(provider = %settings.provider, "LLM_ENABLE_WEB_SEARCH has no effect: only OpenRouter has that switch");
    }
    let model: Arc<dyn ModelClient> = match settings.provider {
        ProviderKind::Anthropic => Arc::new(Anthropic::new(Endpoint::anthropic(&settings)?, &settings)),
        ProviderKind::OpenAi | ProviderKind::OpenRouter | ProviderKind::Ollama => {
            Arc::new(OpenAi::new(Endpoint::openai(&settings)?, &settings))
        }
        ProviderKind::Demo => Arc::new(DemoModel::new(settings.demo_pace)),
    };
    Ok(settings.tool_mode.apply(settings.provider, model))
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, ConnectError, ModelSettings, ProviderKind, connect};

    fn refusal(settings: ModelSettings) -> String {
        connect(settings).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn providers_are_named_in_any_case() {
        assert_eq!(" OpenRouter ".parse(), Ok(ProviderKind::OpenRouter));
        let error = "gpt".parse::<ProviderKind>().unwrap_err().to_string();
        assert_eq!(error, r#""gpt" is no model provider: use anthropic, openai, openrouter, ollama or demo"#);
    }

    #[test]
    fn a_key_never_shows() {
        let settings =
            ModelSettings { api_key: Some(ApiKey::new(" sk-secret\n")), ..ModelSettings::new(ProviderKind::OpenAi) };
        assert!(!format!("{settings:?}").contains("secret"));
        let key = ApiKey::new(" sk-secret\n");
        assert_eq!((key.to_string().as_str(), key.reveal()), ("[key]", "sk-secret"));
        assert_eq!(key.scrub("key sk-secret is wrong"), "key [key] is wrong");
    }

    #[test]
    fn public_addresses_want_a_key_and_others_do_not() {
        for kind in [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::OpenRouter] {
            let error = connect(ModelSettings::new(kind)).err().unwrap();
            assert!(matches!(error, ConnectError::NoKey { .. }), "{error}");
            assert!(error.to_string().contains(kind.key_variable().unwrap()), "{error}");
            let empty = ModelSettings { api_key: Some(ApiKey::new(" ")), ..ModelSettings::new(kind) };
            assert!(refusal(empty).contains("is not set"));
            let local =
                ModelSettings { base_url: Some("http://127.0.0.1:1/v1".to_owned()), ..ModelSettings::new(kind) };
            assert!(connect(local).is_ok());
        }
        assert!(connect(ModelSettings::new(ProviderKind::Ollama)).is_ok());
    }

    #[test]
    fn bad_settings_are_named() {
        let settings = || ModelSettings::new(ProviderKind::Ollama);
        for (url, words) in [
            ("localhost:1234", "must begin with http"),
            ("ftp://example.com", "must begin with http"),
            ("nonsense", "is not an address"),
            ("http://me:hunter2@example.com", "must not hold a user name"),
            ("http://example.com/v1?x=1", "must not hold a query"),
        ] {
            let said = refusal(ModelSettings { base_url: Some(url.to_owned()), ..settings() });
            assert!(
                said.starts_with("LLM_BASE_URL") && said.contains(words) && !said.contains("hunter2"),
                "{url}: {said}"
            );
        }
        for temperature in [f64::NAN, -0.1, 2.1] {
            let said = refusal(ModelSettings { temperature: Some(temperature), ..settings() });
            assert!(said.contains("LLM_TEMPERATURE"), "{said}");
        }
        for version in ["2023\n06", "two thousand"] {
            let anthropic = ModelSettings::new(ProviderKind::Anthropic);
            let key = Some(ApiKey::new("sk-1"));
            let version = Some(version.to_owned());
            let said = refusal(ModelSettings { api_key: key, anthropic_version: version, ..anthropic });
            assert!(said.contains("LLM_ANTHROPIC_VERSION"), "{said}");
        }
        for max_tokens in [0, 1_000_001] {
            assert!(refusal(ModelSettings { max_tokens, ..settings() }).contains("LLM_MAX_TOKENS"));
        }
        assert!(refusal(ModelSettings { api_key: Some(ApiKey::new("a\nb")), ..settings() }).contains("LLM_API_KEY"));
    }
}
