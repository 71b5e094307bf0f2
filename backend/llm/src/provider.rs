//! The model providers, with their names and defaults.

use std::{fmt, str::FromStr};

use reqwest::Url;

/// A model provider, or the API that it implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and any compatible server at `LLM_BASE_URL`.
    OpenAi,
    /// OpenRouter, which offers the Chat Completions API for many providers.
    OpenRouter,
    /// Ollama, on localhost or another host.
    Ollama,
}

/// An error for a word that isn't a model provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a model provider: use anthropic, openai, openrouter, ollama or demo")]
pub struct UnknownProvider(String);

impl ProviderKind {
    /// Returns the name that is used in `LLM_PROVIDER`, in `ModelInfo::provider`, and in opaque blocks.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenRouter => "openrouter",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the default model: the provider's current mid-size model with tool calling.
    pub(crate) fn default_model(self) -> &'static str {
        match self {
            Self::Anthropic => "claude-sonnet-5-5",
            Self::OpenAi => "gpt-5-mini",
            Self::OpenRouter => "openai/gpt-5-mini",
            Self::Ollama => "qwen3",
        }
    }

    /// Returns the default base URL.
    pub(crate) fn default_base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::OpenRouter => "https://openrouter.ai/api/v1",
            Self::Ollama => "http://127.0.0.1:11434/v1",
        }
    }

    /// Returns the host of the default base URL.
    pub fn host(self) -> &'static str {
        match self {
            Self::Anthropic => "api.anthropic.com",
            Self::OpenAi => "api.openai.com",
            Self::OpenRouter => "openrouter.ai",
            Self::Ollama => "127.0.0.1",
        }
    }

    /// Returns `true` if a base URL is the provider's own: HTTPS to its host, or to a subdomain of it.
    pub fn is_at(self, base_url: &str) -> bool {
        let Ok(url) = Url::parse(base_url.trim()) else { return false };
        let Some(host) = url.host_str().filter(|_| url.scheme() == "https") else { return false };
        host.strip_suffix(self.host()).is_some_and(|subdomain| subdomain.is_empty() || subdomain.ends_with('.'))
    }

    /// Returns the provider's own environment variable for the API key, besides `LLM_API_KEY`; `None` if it needs no
    /// key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::OpenRouter => Some("OPENROUTER_API_KEY"),
            Self::Ollama => None,
        }
    }
}

impl FromStr for ProviderKind {
    type Err = UnknownProvider;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::Anthropic, Self::OpenAi, Self::OpenRouter, Self::Ollama];
        let found = all.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word.trim()));
        found.ok_or_else(|| UnknownProvider(word.to_owned()))
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ProviderKind;

    #[test]
    fn a_providers_own_urls_differ_from_others() {
        for url in ["https://api.openai.com/v1", "https://API.OpenAI.com", "https://eu.api.openai.com/v1"] {
            assert!(ProviderKind::OpenAi.is_at(url), "{url}");
        }
        for url in [
            "http://api.openai.com/v1",
            "https://xapi.openai.com/v1",
            "https://api.openai.com.example.org/v1",
            "https://example.org/api.openai.com",
            "https://api.openai.com@example.org/v1",
            "api.openai.com",
            "",
        ] {
            assert!(!ProviderKind::OpenAi.is_at(url), "{url}");
        }
        for kind in [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::OpenRouter] {
            assert!(kind.is_at(kind.default_base_url()), "{kind}");
        }
    }

    #[test]
    fn providers_are_named_in_any_case() {
        assert_eq!(" OpenRouter ".parse(), Ok(ProviderKind::OpenRouter));
        let error = "gpt".parse::<ProviderKind>().unwrap_err().to_string();
        assert_eq!(error, r#""gpt" is not a model provider: use anthropic, openai, openrouter, ollama or demo"#);
    }
}
