//! The settings of a model, and the errors that they can cause. This module does not read the environment; the server's
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
    retry::RetryPolicy,
    setting_names::SettingNames,
    tool_mode::ToolMode,
};

/// The settings of a model client.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The provider.
    pub provider: ProviderKind,
    /// `LLM_BASE_URL`: an `http` or `https` URL in the form that the providers' own libraries use. For Anthropic, it is
    /// the part before `/v1/messages`; for the others, the part before `/chat/completions` (most servers:
    /// `http://host:port/v1`).
    pub base_url: Option<String>,
    /// The API key, if there is one.
    pub api_key: Option<ApiKey>,
    /// `LLM_MODEL`.
    pub model: Option<String>,
    /// `LLM_TEMPERATURE`. Not sent if absent, because newer models refuse it.
    pub temperature: Option<f64>,
    /// `LLM_MAX_TOKENS`: maximum number of tokens of one answer.
    pub max_tokens: u32,
    /// `LLM_CONTEXT_TOKENS`: size of the model's context window in tokens, for input and output together.
    pub context_tokens: u32,
    /// Timeout for connecting, including name resolution and TLS.
    pub connect_timeout: Duration,
    /// `LLM_TIMEOUT_SECS`: timeout for the first byte of an answer, and for each wait between two portions of it.
    pub idle_timeout: Duration,
    /// The retries if a provider is busy or unreachable.
    pub retries: RetryPolicy,
    /// `LLM_ENABLE_WEB_SEARCH`: allows OpenRouter to search the web for an answer. Other providers have no such switch.
    pub web_search: bool,
    /// `LLM_ANTHROPIC_VERSION`: version of Anthropic's API.
    pub anthropic_version: Option<String>,
    /// `LLM_TOOL_MODE`.
    pub tool_mode: ToolMode,
    /// The reasoning effort. If absent, the provider decides.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The reasoning budget in tokens, for OpenRouter and for Anthropic's older models, which support no effort.
    pub thinking_tokens: Option<u32>,
    /// Parts of a request that the model's server cannot accept (`true`), or that are always sent (`false`).
    pub quirks: BTreeMap<Quirk, bool>,
    /// The names of settings that error messages mention.
    pub setting_names: SettingNames,
}

impl ModelSettings {
    /// Creates settings with the defaults for a provider.
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

    /// Returns the settings of the same model for generating titles: short answers, no retries, no web search, no tools
    /// in the prompt, and no reasoning options.
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

    /// Returns the settings of the same model for votes on tool calls: short answers, no web search, no tools in the
    /// prompt, and no reasoning options.
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

    /// Returns the provider's name of the model: the configured one, or the provider's default.
    pub fn model_name(&self) -> &str {
        let named = self.model.as_deref().map(str::trim).filter(|name| !name.is_empty());
        named.unwrap_or_else(|| self.provider.default_model())
    }
}

/// An error in the settings of a model. Each message continues a sentence that begins with the name of the setting
/// ([`ConnectError::setting`]). The name is not in the message, because it differs between a file and the environment.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The provider's public address requires an API key.
    #[error("is not set. {provider} requires an API key: set {variable}, or use the provider demo.")]
    NoKey {
        /// The provider whose key is missing.
        provider: ProviderKind,
        /// The provider's own environment variable for the key.
        variable: &'static str,
    },
    /// The key cannot be sent in a header.
    #[error("contains line breaks or control characters, which no API key has. Copy the key again.")]
    BadKey,
    /// The version of the API cannot be sent in a header.
    #[error("is not a valid version. Example: 2023-06-01.")]
    BadVersion,
    /// The base URL is invalid.
    #[error("{url:?} {reason}. Examples: https://api.openai.com/v1, http://127.0.0.1:11434/v1.")]
    BadBaseUrl {
        /// The host, or the configured value without user name and password if it isn't a URL with a host.
        url: String,
        /// The problem, as the rest of the sentence.
        reason: &'static str,
    },
    /// The temperature is out of range.
    #[error("must be a number from 0 to 2.")]
    BadTemperature,
    /// The token limit of an answer is out of range.
    #[error("must be a number from 1 to {MAX_TOKENS}.")]
    BadMaxTokens,
    /// The provider does not support this effort.
    #[error("{word:?} is not supported by {provider}: use low, medium, high, xhigh or max.")]
    BadEffort {
        /// The effort.
        word: &'static str,
        /// The provider that does not support the effort.
        provider: ProviderKind,
    },
    /// The provider does not support a reasoning budget in tokens.
    #[error("is only supported by anthropic and openrouter. Use reasoning_effort for {provider}.")]
    NoThinkingTokens {
        /// The provider.
        provider: ProviderKind,
    },
    /// Both an effort and a reasoning budget are set.
    #[error("cannot be set together with reasoning_effort. Remove one of them.")]
    EffortAndTokens,
    /// The reasoning budget is too small, or leaves no room for the answer.
    #[error(
        "must be at least {MIN_THINKING_TOKENS} and less than max_tokens, which covers both the reasoning and the \
         answer."
    )]
    BadThinkingTokens,
    /// The size of the context window is out of range.
    #[error("must be a number from {} to {}.", CONTEXT_TOKENS.start(), CONTEXT_TOKENS.end())]
    BadContextTokens,
    /// The TLS library or the system's certificates cannot be used.
    #[error("cannot use HTTPS for {url}: {source}. Install the system's CA certificates (package ca-certificates).")]
    Tls {
        /// The base URL, without its path.
        url: String,
        /// The cause.
        source: reqwest::Error,
    },
}

impl ConnectError {
    /// Returns the error as a whole sentence, for a model that is set up in the page.
    pub fn sentence(&self) -> String {
        match self {
            Self::NoKey { provider, .. } => format!("{provider} requires an API key. Enter one."),
            error => format!("{} {error}", error.setting()),
        }
    }

    /// Returns the field name of the invalid setting.
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
