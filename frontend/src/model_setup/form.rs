//! The fields of a model's setup, as the user types them, and the settings that they stand for.

use std::collections::{BTreeMap, BTreeSet};

use tallybook_protocol::{DiscoverModels, DiscoveredModel, ModelFields};

/// Address of Google's API that is compatible with OpenAI's.
const GEMINI_URL: &str = "https://generativelanguage.googleapis.com/v1beta/openai";
/// Address of Ollama on the server's machine.
const OLLAMA_URL: &str = "http://127.0.0.1:11434/v1";
/// Maximum number of characters of a model's name.
pub(crate) const MAX_NAME_CHARS: usize = 100;

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

    /// Returns the address that the field starts with; `None` if the provider has no such field.
    const fn address(self) -> Option<&'static str> {
        match self {
            Self::Ollama => Some(OLLAMA_URL),
            Self::Compatible => Some(""),
            Self::Anthropic | Self::OpenAi | Self::OpenRouter | Self::Gemini => None,
        }
    }

    /// Returns the provider of these settings; `None` for a provider that the dialog does not offer.
    fn of(fields: &ModelFields) -> Option<Self> {
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

/// A field of the dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Address,
    Key,
    /// The provider's name of the model.
    Model,
    /// The name for users.
    Name,
    ContextTokens,
    MaxTokens,
    /// `native`, `prompt`, or empty for `auto`.
    ToolMode,
    /// `yes`, `no`, or empty if a refusal of the model's server decides.
    Vision,
    InputPrice,
    OutputPrice,
    Temperature,
}

impl Field {
    /// Returns the ID of its element.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Address => "model-address",
            Self::Key => "model-key",
            Self::Model => "model-id",
            Self::Name => "model-name",
            Self::ContextTokens => "model-context",
            Self::MaxTokens => "model-max-tokens",
            Self::ToolMode => "model-tool-mode",
            Self::Vision => "model-vision",
            Self::InputPrice => "model-input-price",
            Self::OutputPrice => "model-output-price",
            Self::Temperature => "model-temperature",
        }
    }

    /// Returns the field of a setting.
    pub(super) fn of_setting(name: &str) -> Option<Self> {
        match name {
            "base_url" => Some(Self::Address),
            "api_key" => Some(Self::Key),
            "model" => Some(Self::Model),
            "name" => Some(Self::Name),
            "context_tokens" => Some(Self::ContextTokens),
            "max_tokens" => Some(Self::MaxTokens),
            "tool_mode" => Some(Self::ToolMode),
            "vision" => Some(Self::Vision),
            "input_price" => Some(Self::InputPrice),
            "output_price" => Some(Self::OutputPrice),
            "temperature" => Some(Self::Temperature),
            _ => None,
        }
    }

    /// Returns `true` if the field is under "More settings".
    pub(crate) const fn is_further(self) -> bool {
        !matches!(self, Self::Address | Self::Key | Self::Model | Self::Name)
    }
}

/// A reason why the text of a field cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The field is empty.
    Missing,
    NotAnAddress,
    NotAWholeNumber,
    NotANumber,
    /// Only one of the two prices is set.
    OnePrice,
    /// The stored key cannot be used for this request.
    KeyAgain,
}

/// The first field with a fault.
pub(crate) type Flaw = (Field, Fault);

/// The texts of all fields.
#[derive(Clone, Default)]
pub(crate) struct Form {
    provider: Option<Provider>,
    texts: BTreeMap<Field, String>,
    /// The fields that the user changed. Choosing a model does not change these.
    typed: BTreeSet<Field>,
    /// `true` if the settings have an address that the chosen provider does not need.
    has_address: bool,
}

impl std::fmt::Debug for Form {
    /// Leaves the key out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts: Vec<_> = self.texts.iter().filter(|(field, _)| **field != Field::Key).collect();
        f.debug_struct("Form").field("provider", &self.provider).field("texts", &texts).finish_non_exhaustive()
    }
}

impl Form {
    /// Creates the fields of stored settings.
    pub(super) fn of(fields: &ModelFields) -> Self {
        let mut form = Self { provider: Provider::of(fields), ..Self::default() };
        form.rebase(fields);
        // The name of a stored model cannot change.
        form.typed.insert(Field::Name);
        form
    }

    /// Sets all fields to these settings, without those that the user changed.
    pub(super) fn rebase(&mut self, fields: &ModelFields) {
        let whole = |number: Option<u32>| number.map(|number| number.to_string());
        let decimal = |number: Option<f64>| number.map(|number| number.to_string());
        let vision = fields.vision.map(|sees| if sees { "yes" } else { "no" }.to_owned());
        let texts = [
            (Field::Address, fields.base_url.clone()),
            (Field::Model, fields.model.clone()),
            (Field::Name, Some(fields.name.clone())),
            (Field::ContextTokens, whole(fields.context_tokens)),
            (Field::MaxTokens, whole(fields.max_tokens)),
            (Field::ToolMode, fields.tool_mode.clone().filter(|mode| mode != "auto")),
            (Field::Vision, vision),
            (Field::InputPrice, decimal(fields.input_price)),
            (Field::OutputPrice, decimal(fields.output_price)),
            (Field::Temperature, decimal(fields.temperature)),
        ];
        for (field, text) in texts {
            self.prefill(field, text);
        }
        let is_usual = self.provider.is_none_or(|provider| provider == Provider::Gemini);
        self.has_address = fields.base_url.is_some() && !is_usual;
    }

    /// Returns the provider.
    pub(crate) fn provider(&self) -> Option<Provider> {
        self.provider
    }

    /// Returns the text of a field.
    pub(crate) fn text(&self, field: Field) -> &str {
        self.texts.get(&field).map(String::as_str).unwrap_or_default()
    }

    /// Returns `true` if the address can be changed.
    pub(crate) fn has_address(&self) -> bool {
        self.has_address || self.provider.is_some_and(|provider| provider.address().is_some())
    }

    /// Returns `true` if the dialog has this field.
    pub(super) fn has(&self, field: Field) -> bool {
        match field {
            Field::Address => self.has_address(),
            Field::Key => self.provider.is_some_and(Provider::takes_key),
            _ => true,
        }
    }

    pub(super) fn write(&mut self, field: Field, text: String) {
        self.texts.insert(field, text);
        self.typed.insert(field);
    }

    /// Sets a field that the user has not changed.
    fn prefill(&mut self, field: Field, text: Option<String>) {
        if !self.typed.contains(&field) {
            self.texts.insert(field, text.unwrap_or_default());
        }
    }

    /// Chooses a provider. Its address replaces that of another provider, and a key belongs to one provider only.
    pub(super) fn choose(&mut self, provider: Provider) {
        if self.provider != Some(provider) {
            self.provider = Some(provider);
            self.typed.remove(&Field::Address);
            self.prefill(Field::Address, provider.address().map(str::to_owned));
            self.texts.remove(&Field::Key);
        }
    }

    /// Chooses a model, and fills the fields with what its provider says.
    pub(super) fn pick(&mut self, model: &DiscoveredModel) {
        self.write(Field::Model, model.model.clone());
        let name = model.title.as_deref().unwrap_or_else(|| short_name(&model.model));
        self.prefill(Field::Name, Some(name.trim().chars().take(MAX_NAME_CHARS).collect()));
        self.prefill(Field::ContextTokens, model.context_tokens.map(|tokens| tokens.to_string()));
        self.prefill(Field::Vision, model.vision.map(|sees| if sees { "yes" } else { "no" }.to_owned()));
        if !self.typed.contains(&Field::InputPrice) && !self.typed.contains(&Field::OutputPrice) {
            let prices = model.input_price.zip(model.output_price);
            self.prefill(Field::InputPrice, prices.map(|(price, _)| price.to_string()));
            self.prefill(Field::OutputPrice, prices.map(|(_, price)| price.to_string()));
        }
    }

    /// Returns the key; `None` if the field is empty or the provider has no keys.
    pub(super) fn key(&self) -> Option<String> {
        let key = self.text(Field::Key).trim();
        (!key.is_empty() && self.provider.is_some_and(Provider::takes_key)).then(|| key.to_owned())
    }

    fn address(&self) -> Option<String> {
        match self.provider {
            Some(Provider::Gemini) => Some(GEMINI_URL.to_owned()),
            _ => Some(self.text(Field::Address).trim().to_owned()).filter(|url| !url.is_empty() && self.has_address()),
        }
    }

    /// Checks the fields that a request to the provider needs.
    pub(super) fn connection(&self, keeps_key: bool) -> Result<(), Flaw> {
        let Some(provider) = self.provider else { return Ok(()) };
        if self.has_address() {
            let is_url = |url: &str| {
                let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace))
            };
            match self.address() {
                None if provider == Provider::Compatible => return Err((Field::Address, Fault::Missing)),
                Some(url) if !is_url(&url) => return Err((Field::Address, Fault::NotAnAddress)),
                None | Some(_) => {}
            }
        }
        if provider.needs_key() && self.key().is_none() && !keeps_key {
            return Err((Field::Key, Fault::Missing));
        }
        Ok(())
    }

    /// Returns the request for the provider's models.
    pub(super) fn discovery(&self) -> DiscoverModels {
        let provider = self.provider.map_or("", Provider::setting).to_owned();
        DiscoverModels { provider, base_url: self.address(), api_key: self.key() }
    }

    /// Returns the field that is most likely wrong if a request to the provider fails for this reason.
    pub(super) fn suspect(&self, reason: &str) -> Field {
        if self.has_address() && !(self.has(Field::Key) && reason.contains("API key")) {
            Field::Address
        } else {
            Field::Key
        }
    }

    /// Returns the settings, or the first field with a fault. Settings without a field are those of `base`.
    pub(super) fn fields(&self, base: ModelFields, keeps_key: bool) -> Result<ModelFields, Flaw> {
        self.connection(keeps_key)?;
        let required = |field: Field| {
            let text = self.text(field).trim();
            if text.is_empty() { Err((field, Fault::Missing)) } else { Ok(text.to_owned()) }
        };
        let model = required(Field::Model)?;
        let name = required(Field::Name)?;
        let (context_tokens, max_tokens) = (self.whole(Field::ContextTokens)?, self.whole(Field::MaxTokens)?);
        let (input_price, output_price) = (self.decimal(Field::InputPrice)?, self.decimal(Field::OutputPrice)?);
        match (input_price, output_price) {
            (Some(_), None) => return Err((Field::OutputPrice, Fault::OnePrice)),
            (None, Some(_)) => return Err((Field::InputPrice, Fault::OnePrice)),
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(ModelFields {
            name,
            provider: self.provider.map_or(base.provider, |provider| provider.setting().to_owned()),
            model: Some(model),
            base_url: if self.provider.is_some() { self.address() } else { base.base_url },
            temperature: self.decimal(Field::Temperature)?,
            max_tokens,
            context_tokens,
            tool_mode: match self.text(Field::ToolMode) {
                "" => base.tool_mode.filter(|mode| mode == "auto"),
                mode => Some(mode.to_owned()),
            },
            vision: match self.text(Field::Vision) {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            input_price,
            output_price,
            ..base
        })
    }

    /// Returns a whole number, which may be written as 128,000.
    fn whole(&self, field: Field) -> Result<Option<u32>, Flaw> {
        let digits: String =
            self.text(field).chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, ',' | '_')).collect();
        if digits.is_empty() {
            return Ok(None);
        }
        digits.parse().map(Some).map_err(|_| (field, Fault::NotAWholeNumber))
    }

    /// Returns a number, whose decimal separator may be a comma.
    fn decimal(&self, field: Field) -> Result<Option<f64>, Flaw> {
        let text = self.text(field).trim().replace(',', ".");
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or((field, Fault::NotANumber))
    }
}

/// Returns the last part of a model's name, without the folder of its maker: `llama-4` of `meta/llama-4`.
fn short_name(model: &str) -> &str {
    model.rsplit('/').find(|part| !part.is_empty()).unwrap_or(model)
}
