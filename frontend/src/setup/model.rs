//! The fields of a model, and the providers that the dialog offers.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tallybook_protocol::{DiscoverModels, DiscoveredModel, ModelFields, ModelTest, TestedToolMode};

use super::{
    entry::{EntryKind, members},
    fields::{Fault, Field, FieldFault, Texts},
};

/// Address of Google's API that is compatible with OpenAI's.
const GEMINI_URL: &str = "https://generativelanguage.googleapis.com/v1beta/openai";
/// Address of Ollama on the server's machine.
const OLLAMA_URL: &str = "http://127.0.0.1:11434/v1";

/// Value of [`Field::StoredKey`].
pub(crate) const REMOVE: &str = "remove";

/// A provider as the dialog offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Anthropic,
    OpenAi,
    OpenRouter,
    Gemini,
    Ollama,
    /// Another server with an API that is compatible with OpenAI's.
    Compatible,
}

impl Provider {
    /// All providers, in the order of the dialog.
    pub(crate) const ALL: [Self; 6] =
        [Self::Anthropic, Self::OpenAi, Self::OpenRouter, Self::Gemini, Self::Ollama, Self::Compatible];

    /// Returns the name of its test ID.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Compatible => "compatible",
            Self::Anthropic | Self::OpenAi | Self::OpenRouter | Self::Ollama => self.setting(),
        }
    }

    /// Returns the value of the setting `provider`.
    pub(crate) const fn setting(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi | Self::Gemini | Self::Compatible => "openai",
            Self::OpenRouter => "openrouter",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the page on which the provider's users create keys.
    pub(crate) const fn key_page(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://console.anthropic.com/settings/keys"),
            Self::OpenAi => Some("https://platform.openai.com/api-keys"),
            Self::OpenRouter => Some("https://openrouter.ai/settings/keys"),
            Self::Gemini => Some("https://aistudio.google.com/apikey"),
            Self::Ollama | Self::Compatible => None,
        }
    }

    /// Returns `true` if the provider accepts no request without a key.
    pub(crate) const fn needs_key(self) -> bool {
        !matches!(self, Self::Ollama | Self::Compatible)
    }

    /// Returns `true` if the provider can use a key.
    pub(crate) const fn takes_key(self) -> bool {
        !matches!(self, Self::Ollama)
    }

    /// Returns `true` if the provider runs on the server's machine, where it can be asked for its models at once.
    pub(super) const fn is_local(self) -> bool {
        matches!(self, Self::Ollama)
    }

    /// Returns the address that the field starts with; `None` if the provider has no such field.
    const fn address(self) -> Option<&'static str> {
        match self {
            Self::Ollama => Some(OLLAMA_URL),
            Self::Compatible => Some(""),
            Self::Anthropic | Self::OpenAi | Self::OpenRouter | Self::Gemini => None,
        }
    }

    /// Returns the provider of these settings; `None` for a provider that the dialog does not offer.
    pub(super) fn of(fields: &ModelFields) -> Option<Self> {
        let address = fields.base_url.as_deref().map(|url| url.trim_end_matches('/'));
        match (fields.provider.as_str(), address) {
            ("anthropic", _) => Some(Self::Anthropic),
            ("openrouter", _) => Some(Self::OpenRouter),
            ("ollama", _) => Some(Self::Ollama),
            ("openai", None) => Some(Self::OpenAi),
            ("openai", Some(GEMINI_URL)) => Some(Self::Gemini),
            ("openai", Some(_)) => Some(Self::Compatible),
            _ => None,
        }
    }
}

/// Returns the request that finds out whether Ollama runs on the server's machine.
pub(super) fn local_discovery() -> DiscoverModels {
    let (provider, base_url) = (Provider::Ollama.setting().to_owned(), Some(OLLAMA_URL.to_owned()));
    DiscoverModels { provider, base_url, optional: true, ..DiscoverModels::default() }
}

/// Returns the texts of the fields of these settings.
pub(super) fn texts(settings: &ModelFields) -> Vec<(Field, Option<String>)> {
    let whole = |number: Option<u32>| number.map(|number| number.to_string());
    let decimal = |number: Option<f64>| number.map(|number| number.to_string());
    vec![
        (Field::Address, settings.base_url.clone()),
        (Field::Model, settings.model.clone()),
        (Field::Name, Some(settings.name.clone())),
        (Field::ContextTokens, whole(settings.context_tokens)),
        (Field::MaxTokens, whole(settings.max_tokens)),
        (Field::ToolMode, settings.tool_mode.clone().filter(|mode| mode != "auto")),
        (Field::Vision, settings.vision.map(yes_or_no)),
        (Field::InputPrice, decimal(settings.input_price)),
        (Field::OutputPrice, decimal(settings.output_price)),
        (Field::Temperature, decimal(settings.temperature)),
        (Field::ReasoningEffort, settings.reasoning_effort.clone()),
        (Field::ThinkingTokens, whole(settings.thinking_tokens)),
        (Field::Quirks, Some(shown_quirks(&settings.quirks))),
    ]
}

/// Returns the field of the setting with whose name the sentence begins.
pub(super) fn field_in(sentence: &str) -> Option<Field> {
    match sentence.split_whitespace().next()? {
        "base_url" => Some(Field::Address),
        "api_key" => Some(Field::Secret),
        "model" => Some(Field::Model),
        "name" => Some(Field::Name),
        "context_tokens" => Some(Field::ContextTokens),
        "max_tokens" => Some(Field::MaxTokens),
        "tool_mode" => Some(Field::ToolMode),
        "vision" => Some(Field::Vision),
        "input_price" => Some(Field::InputPrice),
        "output_price" => Some(Field::OutputPrice),
        "temperature" => Some(Field::Temperature),
        "reasoning_effort" => Some(Field::ReasoningEffort),
        "thinking_tokens" => Some(Field::ThinkingTokens),
        "quirks" => Some(Field::Quirks),
        _ => None,
    }
}

/// The provider of a model, and whether the dialog has a field for its address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelConnection {
    pub(super) provider: Option<Provider>,
    /// `true` if the settings have an address that the chosen provider does not need.
    has_unusual_address: bool,
}

impl ModelConnection {
    /// Creates the connection of these settings.
    pub(super) fn of(settings: &ModelFields) -> Self {
        let mut connection = Self { provider: Provider::of(settings), has_unusual_address: false };
        connection.rebase(settings);
        connection
    }

    /// Updates whether these settings have an address that the provider does not need.
    pub(super) fn rebase(&mut self, settings: &ModelFields) {
        let is_usual = self.provider.is_none_or(|provider| provider == Provider::Gemini);
        self.has_unusual_address = settings.base_url.is_some() && !is_usual;
    }

    /// Returns `true` if the address can be changed.
    pub(super) fn has_address(self) -> bool {
        self.has_unusual_address || self.provider.is_some_and(|provider| provider.address().is_some())
    }

    /// Returns `true` if the provider can use a key.
    pub(super) fn takes_key(self) -> bool {
        self.provider.is_some_and(Provider::takes_key)
    }

    /// Chooses a provider. Its address replaces that of another provider, and a key belongs to one provider only.
    pub(super) fn choose(&mut self, provider: Provider, texts: &mut Texts) {
        if self.provider != Some(provider) {
            self.provider = Some(provider);
            texts.clear(Field::Address);
            texts.prefill(Field::Address, provider.address().map(str::to_owned));
            texts.clear(Field::Secret);
        }
    }

    /// Returns the key; `None` if the field is empty or the provider has no keys.
    pub(super) fn key(self, texts: &Texts) -> Option<String> {
        texts.trimmed(Field::Secret).filter(|_| self.takes_key())
    }

    fn base_url(self, texts: &Texts) -> Option<String> {
        match self.provider {
            Some(Provider::Gemini) => Some(GEMINI_URL.to_owned()),
            _ => texts.trimmed(Field::Address).filter(|_| self.has_address()),
        }
    }

    /// Checks the fields that a request to the provider needs.
    pub(super) fn check(self, texts: &Texts, keeps_key: bool) -> Result<(), FieldFault> {
        let Some(provider) = self.provider else { return Ok(()) };
        if self.has_address() && texts.checked_address()?.is_none() && provider == Provider::Compatible {
            return Err((Field::Address, Fault::Missing));
        }
        if provider.needs_key() && self.key(texts).is_none() && !keeps_key {
            return Err((Field::Secret, Fault::Missing));
        }
        Ok(())
    }

    /// Returns the request for the provider's models.
    pub(super) fn discovery(self, texts: &Texts) -> DiscoverModels {
        let provider = self.provider.map_or("", Provider::setting).to_owned();
        DiscoverModels {
            provider,
            base_url: self.base_url(texts),
            api_key: self.key(texts),
            ..DiscoverModels::default()
        }
    }

    /// Returns the field that is most likely wrong if a request to the provider fails for this reason.
    pub(super) fn suspect(self, reason: &str) -> Field {
        if self.has_address() && !(self.takes_key() && reason.contains("API key")) {
            Field::Address
        } else {
            Field::Secret
        }
    }

    /// Returns the settings, or the first field with a fault. Settings without a field are those of `base`.
    pub(super) fn settings(
        self,
        texts: &Texts,
        base: ModelFields,
        keeps_key: bool,
    ) -> Result<Map<String, Value>, FieldFault> {
        self.check(texts, keeps_key)?;
        let model = texts.required(Field::Model)?;
        let name = texts.required(Field::Name)?;
        let (context_tokens, max_tokens) = (texts.whole(Field::ContextTokens)?, texts.whole(Field::MaxTokens)?);
        let (input_price, output_price) = (texts.decimal(Field::InputPrice)?, texts.decimal(Field::OutputPrice)?);
        match (input_price, output_price) {
            (Some(_), None) => return Err((Field::OutputPrice, Fault::OnePrice)),
            (None, Some(_)) => return Err((Field::InputPrice, Fault::OnePrice)),
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(members(&ModelFields {
            name,
            provider: self.provider.map_or(base.provider, |provider| provider.setting().to_owned()),
            model: Some(model),
            base_url: if self.provider.is_some() { self.base_url(texts) } else { base.base_url },
            temperature: texts.decimal(Field::Temperature)?,
            max_tokens,
            context_tokens,
            tool_mode: match texts.get(Field::ToolMode) {
                "" => base.tool_mode.filter(|mode| mode == "auto"),
                mode => Some(mode.to_owned()),
            },
            vision: match texts.get(Field::Vision) {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            input_price,
            output_price,
            reasoning_effort: texts.trimmed(Field::ReasoningEffort),
            thinking_tokens: texts.whole(Field::ThinkingTokens)?,
            quirks: quirks(texts.get(Field::Quirks)),
        }))
    }
}

/// Returns the name for users of a model that its provider calls `model`.
pub(super) fn name_of(model: &str) -> String {
    fitting(short_name(model))
}

/// Returns as much of a name as fits.
fn fitting(name: &str) -> String {
    name.trim().chars().take(EntryKind::Model.max_name_chars()).collect()
}

/// Chooses a model, and fills the fields with what its provider says.
pub(super) fn pick(model: &DiscoveredModel, texts: &mut Texts) {
    texts.write(Field::Model, model.model.clone());
    texts.prefill(Field::Name, Some(model.title.as_deref().map_or_else(|| name_of(&model.model), fitting)));
    texts.prefill(Field::ContextTokens, model.context_tokens.map(|tokens| tokens.to_string()));
    texts.prefill(Field::Vision, model.vision.map(yes_or_no));
    if !texts.is_typed(Field::InputPrice) && !texts.is_typed(Field::OutputPrice) {
        let prices = model.input_price.zip(model.output_price);
        texts.prefill(Field::InputPrice, prices.map(|(price, _)| price.to_string()));
        texts.prefill(Field::OutputPrice, prices.map(|(_, price)| price.to_string()));
    }
}

/// Fills the fields with what a test of the model has shown.
pub(super) fn learn(test: &ModelTest, texts: &mut Texts) {
    if !test.ok {
        return;
    }
    texts.learn(Field::Vision, yes_or_no(test.vision));
    match test.tools {
        TestedToolMode::Native => texts.learn(Field::ToolMode, "native".to_owned()),
        TestedToolMode::Prompted => texts.learn(Field::ToolMode, "prompt".to_owned()),
        TestedToolMode::Unknown => {}
    }
}

/// Returns quirks as the user types them.
fn shown_quirks(quirks: &BTreeMap<String, bool>) -> String {
    let shown = quirks.iter().map(|(name, is_on)| if *is_on { name.clone() } else { format!("{name}=false") });
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the quirks in a text.
fn quirks(text: &str) -> BTreeMap<String, bool> {
    let quirks = text.split([',', '、', '\n']).map(str::trim).filter(|quirk| !quirk.is_empty());
    let read = |quirk: &str| match quirk.split_once('=') {
        Some((name, value)) => (name.trim().to_owned(), value.trim() != "false"),
        None => (quirk.to_owned(), true),
    };
    quirks.map(read).collect()
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// Returns the last part of a model's name, without the folder of its maker: `llama-4` of `meta/llama-4`.
fn short_name(model: &str) -> &str {
    model.rsplit('/').find(|part| !part.is_empty()).unwrap_or(model)
}
