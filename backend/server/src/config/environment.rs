//! Reads model settings from environment variables: the single model of a server whose settings file lists no models,
//! and the default settings of all models.

use std::{str::FromStr as _, time::Duration};

use tallybook_conversations::models::ModelChoice;
use tallybook_llm::{ApiKey, ModelSettings, ProviderKind, RetryPolicy, SettingNames, ToolMode};

use super::error::{ConfigError, bad};
use crate::config::cli::{Options, set};

/// Returns the model, and a warning if its provider's own key is not sent.
pub(crate) fn model_choice(options: &Options) -> Result<(ModelChoice, Option<String>), ConfigError> {
    // Checked even for the demo model, which does not use it, so that a mistake shows before a real model is set up.
    tool_mode(options)?;
    let Some((provider, api_key)) = choose_provider(options)? else { return Ok((demo(options), None)) };
    let withheld = provider.key_variable().filter(|_| api_key.is_none() && own_key(options, provider).is_some());
    let warning = withheld.map(|variable| {
        let host = provider.host();
        format!(
            "{variable} is not sent to LLM_BASE_URL, which is not at https://{host}. If the server at LLM_BASE_URL \
             requires an API key, set LLM_API_KEY."
        )
    });
    let choice = ModelChoice::Provider(ModelSettings {
        base_url: set(options.llm_base_url.clone()),
        api_key: api_key.map(ApiKey::new),
        model: set(options.llm_model.clone())
            .or(set(options.llm_model_name.clone()))
            .or(set(options.anthropic_model.clone()).filter(|_| provider == ProviderKind::Anthropic)),
        setting_names: SettingNames { api_key: key_variable(options, provider), ..SettingNames::default() },
        ..for_all_models(options, provider)?
    });
    Ok((choice, warning))
}

/// Returns the name of the variable that contains the API key, or that would have to contain it.
fn key_variable(options: &Options, provider: ProviderKind) -> String {
    let is_own = set(options.llm_api_key.clone()).is_none() || set(options.llm_provider.clone()).is_none();
    let own = provider.key_variable().filter(|_| is_own && sendable_key(options, provider).is_some());
    own.unwrap_or("LLM_API_KEY").to_owned()
}

/// Returns the demo model.
pub(crate) fn demo(options: &Options) -> ModelChoice {
    ModelChoice::Demo { pace: Duration::from_millis(options.demo_pace_ms) }
}

/// Returns the default settings for a provider's models.
pub(crate) fn for_all_models(options: &Options, provider: ProviderKind) -> Result<ModelSettings, ConfigError> {
    Ok(ModelSettings {
        temperature: options.llm_temperature,
        max_tokens: options.llm_max_tokens,
        context_tokens: options.llm_context_tokens,
        idle_timeout: Duration::from_secs(options.llm_timeout_secs),
        retries: RetryPolicy { retries: options.llm_max_retries, ..RetryPolicy::default() },
        tool_mode: tool_mode(options)?,
        web_search: options.llm_enable_web_search,
        anthropic_version: set(options.llm_anthropic_version.clone()),
        ..ModelSettings::new(provider)
    })
}

/// Returns the provider in `LLM_PROVIDER`, or else the first provider whose key is set, with its key. Returns `None`
/// for the demo model.
fn choose_provider(options: &Options) -> Result<Option<(ProviderKind, Option<String>)>, ConfigError> {
    let general = set(options.llm_api_key.clone());
    if let Some(name) = set(options.llm_provider.clone()) {
        if name.eq_ignore_ascii_case("demo") {
            return Ok(None);
        }
        let provider = ProviderKind::from_str(&name).map_err(|error| bad("LLM_PROVIDER", error))?;
        return Ok(Some((provider, general.or_else(|| sendable_key(options, provider)))));
    }
    let with_own_key = [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::OpenRouter];
    if let Some(provider) = with_own_key.into_iter().find(|kind| own_key(options, *kind).is_some()) {
        return Ok(Some((provider, sendable_key(options, provider).or(general))));
    }
    if general.is_some() {
        return Err(bad(
            "LLM_API_KEY",
            "is set, but LLM_PROVIDER is not; set LLM_PROVIDER to the provider of this key",
        ));
    }
    Ok(None)
}

fn tool_mode(options: &Options) -> Result<ToolMode, ConfigError> {
    let word = set(options.llm_tool_mode.clone());
    word.map_or(Ok(ToolMode::Auto), |word| word.parse().map_err(|error| bad("LLM_TOOL_MODE", error)))
}

/// Returns the key in a provider's own variable, unless `LLM_BASE_URL` is another host: no other host may receive it.
fn sendable_key(options: &Options, provider: ProviderKind) -> Option<String> {
    let is_elsewhere = set(options.llm_base_url.clone()).is_some_and(|url| !provider.is_at(&url));
    own_key(options, provider).filter(|_| !is_elsewhere)
}

/// Returns the key in a provider's own variable, if it is set.
pub(crate) fn own_key(options: &Options, provider: ProviderKind) -> Option<String> {
    set(match provider {
        ProviderKind::Anthropic => options.anthropic_api_key.clone(),
        ProviderKind::OpenAi => options.openai_api_key.clone(),
        ProviderKind::OpenRouter => options.openrouter_api_key.clone(),
        ProviderKind::Ollama => None,
    })
}

/// Returns the variables that are set and configure the environment's single model. They are ignored if the settings
/// file lists models.
pub(crate) fn variables_of_one_model(options: &Options) -> impl Iterator<Item = &'static str> {
    let variables = [
        ("LLM_PROVIDER", &options.llm_provider),
        ("LLM_MODEL", &options.llm_model),
        ("LLM_MODEL_NAME", &options.llm_model_name),
        ("ANTHROPIC_MODEL", &options.anthropic_model),
        ("LLM_BASE_URL", &options.llm_base_url),
        ("LLM_API_KEY", &options.llm_api_key),
    ];
    variables.into_iter().filter(|(_, value)| set((*value).clone()).is_some()).map(|(name, _)| name)
}
