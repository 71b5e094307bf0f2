//! Which model to use, as the configuration says it, and what can be wrong with that. Reads no environment: the server's
//! `config` does.

use std::{collections::BTreeMap, time::Duration};

use super::{
    api_key::ApiKey,
    effort::ReasoningEffort,
    limits::{
        CONTEXT_TOKENS, DEFAULT_CONTEXT_TOKENS, MAX_REVIEW_TOKENS, MAX_TITLE_TOKENS, MAX_TOKENS, MIN_THINKING_TOKENS,
    },
    provider::ProviderKind,
    quirks::Quirk,
    retry_policy::RetryPolicy,
    setting_names::SettingNames,
    tool_mode::ToolMode,
};

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
    /// `LLM_CONTEXT_TOKENS`: how much the model reads and writes at once.
    pub context_tokens: u32,
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
    /// How hard it is to think before it answers; the provider decides when absent.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How many tokens it may think, for Anthropic's models of before there was an effort, and OpenRouter's.
    pub thinking_tokens: Option<u32>,
    /// Parts of a request that the model's server cannot take (`true`), or that are always sent (`false`).
    pub quirks: BTreeMap<Quirk, bool>,
    /// The names of settings that error messages mention.
    pub setting_names: SettingNames,
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
            context_tokens: DEFAULT_CONTEXT_TOKENS,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            retries: RetryPolicy::default(),
            web_search: false,
            anthropic_version: None,
            tool_mode: ToolMode::Auto,
            reasoning_effort: None,
            thinking_tokens: None,
            quirks: BTreeMap::new(),
            setting_names: SettingNames::default(),
        }
    }

    /// The same model for titles, in few words, at once or not at all.
    #[must_use]
    pub fn for_titles(&self) -> Self {
        Self {
            max_tokens: self.max_tokens.min(MAX_TITLE_TOKENS),
            retries: RetryPolicy { retries: 0, ..self.retries },
            web_search: false,
            tool_mode: ToolMode::Native,
            reasoning_effort: None,
            thinking_tokens: None,
            ..self.clone()
        }
    }

    /// The same model for votes on calls, in few words.
    #[must_use]
    pub fn for_reviews(&self) -> Self {
        Self {
            max_tokens: self.max_tokens.min(MAX_REVIEW_TOKENS),
            web_search: false,
            tool_mode: ToolMode::Native,
            reasoning_effort: None,
            thinking_tokens: None,
            ..self.clone()
        }
    }

    /// The model that will be asked.
    pub fn model_name(&self) -> &str {
        let named = self.model.as_deref().map(str::trim).filter(|name| !name.is_empty());
        named.unwrap_or_else(|| self.provider.default_model())
    }
}

/// The settings do not lead to a model. Each is what follows the name of the setting ([`ConnectError::setting`]) in a
/// sentence, since the same setting has one name in a file and another one in the environment.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The provider's public address wants a key.
    #[error("is not set. {provider} needs a key: set {variable}, or use the provider demo.")]
    NoKey {
        /// Whose key is missing.
        provider: ProviderKind,
        /// The provider's own variable for it.
        variable: &'static str,
    },
    /// The key cannot be sent in a header.
    #[error("holds characters that no key has (line breaks or control characters). Copy it again.")]
    BadKey,
    /// The version of the API cannot be sent in a header.
    #[error("is no version. It looks like 2023-06-01.")]
    BadVersion,
    /// The address is not one.
    #[error("{url:?} {reason}. It looks like https://api.openai.com/v1 or http://127.0.0.1:11434/v1.")]
    BadBaseUrl {
        /// What was given, without user name and password.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Sampling out of range.
    #[error("must be a number from 0 to 2.")]
    BadTemperature,
    /// No room for an answer, or more than any model has.
    #[error("must be a number from 1 to {MAX_TOKENS}.")]
    BadMaxTokens,
    /// The provider knows no such effort.
    #[error("{word:?} is unknown to {provider}: use low, medium, high, xhigh or max.")]
    BadEffort {
        /// The effort.
        word: &'static str,
        /// Who does not know it.
        provider: ProviderKind,
    },
    /// The provider takes no number of tokens to think.
    #[error("is for anthropic and openrouter. Use reasoning_effort for {provider}.")]
    NoThinkingTokens {
        /// Who takes none.
        provider: ProviderKind,
    },
    /// Both ways to say how much a model is to think.
    #[error("cannot stand beside reasoning_effort. Take one of them out.")]
    EffortAndTokens,
    /// No room to think, or none for the answer.
    #[error(
        "must be a number from {MIN_THINKING_TOKENS}, and less than max_tokens, which has room for thinking and answer."
    )]
    BadThinkingTokens,
    /// Less than any model reads, or more.
    #[error("must be a number from {} to {}.", CONTEXT_TOKENS.start(), CONTEXT_TOKENS.end())]
    BadContextTokens,
    /// The TLS library or the system's certificates are unusable.
    #[error(
        "{url} cannot be asked over HTTPS: {source}. Install the system's CA certificates (package ca-certificates)."
    )]
    Tls {
        /// The address, without its path.
        url: String,
        /// The cause.
        source: reqwest::Error,
    },
}

impl ConnectError {
    /// Which setting is wrong, by the name of its field.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::NoKey { .. } | Self::BadKey => "api_key",
            Self::BadVersion => "anthropic_version",
            Self::BadBaseUrl { .. } | Self::Tls { .. } => "base_url",
            Self::BadTemperature => "temperature",
            Self::BadMaxTokens => "max_tokens",
            Self::BadEffort { .. } => "reasoning_effort",
            Self::NoThinkingTokens { .. } | Self::EffortAndTokens | Self::BadThinkingTokens => "thinking_tokens",
            Self::BadContextTokens => "context_tokens",
        }
    }
}
