//! Creates a model client from settings: it combines the provider's wire format with the tool mode.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    anthropic::Anthropic,
    effort::ReasoningEffort,
    endpoint::Endpoint,
    limits::{CONTEXT_TOKENS, MAX_TOKENS, MIN_THINKING_TOKENS},
    model::ModelClient,
    openai::OpenAi,
    provider::ProviderKind,
    quirks::{Quirk, Quirks},
    settings::{ConnectError, ModelSettings},
    tool_mode::ToolMode,
    wire_format::ProviderModel,
};

/// Creates a client for the model in the settings. Sends no request yet.
pub fn connect(settings: &ModelSettings) -> Result<Arc<dyn ModelClient>, ConnectError> {
    if settings.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        return Err(ConnectError::BadTemperature);
    }
    if !(1..=MAX_TOKENS).contains(&settings.max_tokens) {
        return Err(ConnectError::BadMaxTokens);
    }
    if !CONTEXT_TOKENS.contains(&settings.context_tokens) {
        return Err(ConnectError::BadContextTokens);
    }
    check_thinking(settings)?;
    if settings.web_search && settings.provider != ProviderKind::OpenRouter {
        tracing::warn!(provider = %settings.provider, "LLM_ENABLE_WEB_SEARCH has no effect: only OpenRouter supports it");
    }
    let quirks = Quirks::new(&quirks_of(settings));
    Ok(match settings.provider {
        ProviderKind::Anthropic => {
            let endpoint = Endpoint::anthropic(settings)?;
            Arc::new(ProviderModel::new(endpoint, Anthropic::new(settings), quirks, settings))
        }
        ProviderKind::OpenAi | ProviderKind::OpenRouter | ProviderKind::Ollama => {
            let endpoint = Endpoint::openai(settings)?;
            let format = OpenAi::new(&endpoint, settings);
            Arc::new(ProviderModel::new(endpoint, format, quirks, settings))
        }
    })
}

/// Returns the quirks from the settings, plus the tool quirk that follows from the tool mode.
fn quirks_of(settings: &ModelSettings) -> BTreeMap<Quirk, bool> {
    let takes_no_tools = match settings.tool_mode {
        ToolMode::Auto => None,
        ToolMode::Native => Some(false),
        ToolMode::Prompt => Some(true),
    };
    let of_tools = takes_no_tools.map(|is_so| (Quirk::NoTools, is_so));
    settings.quirks.clone().into_iter().chain(of_tools).collect()
}

fn check_thinking(settings: &ModelSettings) -> Result<(), ConnectError> {
    let provider = settings.provider;
    if let (ProviderKind::Anthropic, Some(effort @ (ReasoningEffort::None | ReasoningEffort::Minimal))) =
        (provider, settings.reasoning_effort)
    {
        return Err(ConnectError::BadEffort { word: effort.as_str(), provider });
    }
    let Some(tokens) = settings.thinking_tokens else { return Ok(()) };
    if !matches!(provider, ProviderKind::Anthropic | ProviderKind::OpenRouter) {
        return Err(ConnectError::NoThinkingTokens { provider });
    }
    if settings.reasoning_effort.is_some() {
        return Err(ConnectError::EffortAndTokens);
    }
    if !(MIN_THINKING_TOKENS..settings.max_tokens).contains(&tokens) {
        return Err(ConnectError::BadThinkingTokens);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::connect;
    use crate::{ApiKey, ConnectError, ModelSettings, ProviderKind, ReasoningEffort};

    fn refusal(settings: &ModelSettings) -> String {
        connect(settings).err().map(|error| format!("{} {error}", error.setting())).unwrap_or_default()
    }

    #[test]
    fn public_addresses_require_a_key() {
        for kind in [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::OpenRouter] {
            let error = connect(&ModelSettings::new(kind)).err().unwrap();
            assert!(matches!(error, ConnectError::NoKey { .. }), "{error}");
            assert!(error.to_string().contains(kind.key_variable().unwrap()), "{error}");
            let empty = ModelSettings { api_key: Some(ApiKey::new(" ")), ..ModelSettings::new(kind) };
            assert!(refusal(&empty).contains("is not set"));
            let local =
                ModelSettings { base_url: Some("http://127.0.0.1:1/v1".to_owned()), ..ModelSettings::new(kind) };
            assert!(connect(&local).is_ok());
        }
        assert!(connect(&ModelSettings::new(ProviderKind::Ollama)).is_ok());
    }

    #[test]
    fn an_unsupported_thinking_setting_is_reported() {
        let settings = |kind| ModelSettings {
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            max_tokens: 4096,
            ..ModelSettings::new(kind)
        };
        let (anthropic, openai) = (settings(ProviderKind::Anthropic), settings(ProviderKind::OpenAi));
        for effort in [ReasoningEffort::None, ReasoningEffort::Minimal] {
            let said = refusal(&ModelSettings { reasoning_effort: Some(effort), ..anthropic.clone() });
            assert!(said.starts_with("reasoning_effort") && said.contains("xhigh"), "{said}");
            assert!(connect(&ModelSettings { reasoning_effort: Some(effort), ..openai.clone() }).is_ok());
        }
        for tokens in [1023, 4096] {
            let said = refusal(&ModelSettings { thinking_tokens: Some(tokens), ..anthropic.clone() });
            assert!(said.starts_with("thinking_tokens must"), "{said}");
        }
        assert!(connect(&ModelSettings { thinking_tokens: Some(1024), ..anthropic.clone() }).is_ok());
        let said = refusal(&ModelSettings { thinking_tokens: Some(2000), ..openai });
        assert!(said.starts_with("thinking_tokens is only supported by"), "{said}");
        let (tokens, effort) = (Some(2000), Some(ReasoningEffort::High));
        let said = refusal(&ModelSettings { thinking_tokens: tokens, reasoning_effort: effort, ..anthropic });
        assert!(said.contains("together with reasoning_effort"), "{said}");
    }

    #[test]
    fn bad_settings_are_named() {
        let settings = || ModelSettings::new(ProviderKind::Ollama);
        for (url, text) in [
            ("localhost:1234", "must begin with http"),
            ("ftp://example.com", "must begin with http"),
            ("nonsense", "is not a valid URL"),
            ("http://me:hunter2@example.com", "must not contain a user name"),
            ("http://example.com/v1?x=1", "must not contain a query"),
        ] {
            let said = refusal(&ModelSettings { base_url: Some(url.to_owned()), ..settings() });
            assert!(said.starts_with("base_url") && said.contains(text) && !said.contains("hunter2"), "{url}: {said}");
        }
        for temperature in [f64::NAN, -0.1, 2.1] {
            let said = refusal(&ModelSettings { temperature: Some(temperature), ..settings() });
            assert!(said.starts_with("temperature"), "{said}");
        }
        for version in ["2023\n06", "two thousand"] {
            let anthropic = ModelSettings::new(ProviderKind::Anthropic);
            let key = Some(ApiKey::new("sk-1"));
            let version = Some(version.to_owned());
            let said = refusal(&ModelSettings { api_key: key, anthropic_version: version, ..anthropic });
            assert!(said.starts_with("anthropic_version"), "{said}");
        }
        for max_tokens in [0, 1_000_001] {
            assert!(refusal(&ModelSettings { max_tokens, ..settings() }).starts_with("max_tokens"));
        }
        for context_tokens in [999, 10_000_001] {
            assert!(refusal(&ModelSettings { context_tokens, ..settings() }).starts_with("context_tokens"));
        }
        assert!(refusal(&ModelSettings { api_key: Some(ApiKey::new("a\nb")), ..settings() }).starts_with("api_key"));
    }
}
