//! The fields of the dialog, as the user types them. `model` and `tool_server` convert them to settings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    entry::{Entry, Kind, fields},
    model::{self, Provider},
    tool_server,
};

/// A field of the dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    // Fields of both kinds.
    /// The name for users.
    Name,
    Address,
    /// The API key, the token, or the value of the header.
    Secret,

    // Fields of a model.
    /// The provider's name of the model.
    Model,
    ContextTokens,
    MaxTokens,
    /// `native`, `prompt`, or empty for `auto`.
    ToolMode,
    /// `yes`, `no`, or empty if a refusal of the model's server decides.
    Vision,
    InputPrice,
    OutputPrice,
    Temperature,

    // Fields of a tool server.
    /// `yes`, or empty. Shown only for an address that needs it.
    AllowHttp,
    /// `token`, `header`, `keep` for the stored headers, or empty for none.
    Authentication,
    /// The name of the header.
    Header,
    /// `claimed`, `low`, or empty for `high`.
    Approval,
    /// Names of tools, separated by commas.
    Include,
    /// Names of tools, separated by commas.
    Exclude,
    /// The timeout of a call, in seconds.
    Timeout,
    /// `block`, or empty for `warn`.
    Pin,
}

impl Field {
    /// Returns the ID of its element.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Name => "setup-name",
            Self::Address => "setup-address",
            Self::Secret => "setup-secret",
            Self::Model => "model-id",
            Self::ContextTokens => "model-context",
            Self::MaxTokens => "model-max-tokens",
            Self::ToolMode => "model-tool-mode",
            Self::Vision => "model-vision",
            Self::InputPrice => "model-input-price",
            Self::OutputPrice => "model-output-price",
            Self::Temperature => "model-temperature",
            Self::AllowHttp => "server-allow-http",
            Self::Authentication => "server-authentication",
            Self::Header => "server-header",
            Self::Approval => "server-approval",
            Self::Include => "server-include",
            Self::Exclude => "server-exclude",
            Self::Timeout => "server-timeout",
            Self::Pin => "server-pin",
        }
    }

    /// Returns `true` if the field is under "More settings".
    pub(crate) const fn is_further(self) -> bool {
        match self {
            Self::ContextTokens
            | Self::MaxTokens
            | Self::ToolMode
            | Self::Vision
            | Self::InputPrice
            | Self::OutputPrice
            | Self::Temperature
            | Self::Include
            | Self::Exclude
            | Self::Timeout
            | Self::Pin => true,
            Self::Name
            | Self::Address
            | Self::Secret
            | Self::Model
            | Self::AllowHttp
            | Self::Authentication
            | Self::Header
            | Self::Approval => false,
        }
    }
}

/// A reason why the text of a field cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The field is empty.
    Missing,
    NotAnAddress,
    /// The address is not encrypted, and the user has not allowed that.
    PlainHttp,
    NotAWholeNumber,
    NotANumber,
    /// Only one of the two prices is set.
    OnePrice,
    /// The stored secret cannot be used for this request.
    SecretAgain,
}

/// The first field with a fault.
pub(crate) type Flaw = (Field, Fault);

/// The texts of all fields.
#[derive(Clone)]
pub(crate) struct Form {
    pub(super) kind: Kind,
    /// The provider of a model.
    pub(super) provider: Option<Provider>,
    texts: BTreeMap<Field, String>,
    /// The fields that the user changed. Choosing a model does not change these.
    pub(super) typed: BTreeSet<Field>,
    /// `true` if the settings have an address that the chosen provider does not need.
    pub(super) has_address: bool,
    /// `true` if the stored entry has a secret.
    pub(super) has_stored_secret: bool,
}

impl std::fmt::Debug for Form {
    /// Leaves the secret out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts: Vec<_> = self.texts.iter().filter(|(field, _)| **field != Field::Secret).collect();
        f.debug_struct("Form").field("provider", &self.provider).field("texts", &texts).finish_non_exhaustive()
    }
}

impl Form {
    /// Creates the fields of a new entry.
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            provider: None,
            texts: BTreeMap::new(),
            typed: BTreeSet::new(),
            has_address: kind == Kind::ToolServer,
            has_stored_secret: false,
        }
    }

    /// Creates the fields of a stored entry.
    pub(super) fn of(entry: &Entry) -> Self {
        let mut form = Self::new(entry.kind);
        if entry.kind == Kind::Model {
            form.provider = Provider::of(&fields(entry.settings.clone()));
        }
        form.rebase(entry);
        // The name of a stored entry cannot change.
        form.typed.insert(Field::Name);
        form
    }

    /// Sets all fields to the settings of the entry, without those that the user changed.
    pub(super) fn rebase(&mut self, entry: &Entry) {
        self.has_stored_secret = entry.has_secret;
        let texts = match self.kind {
            Kind::Model => {
                let settings = fields(entry.settings.clone());
                self.has_address = self.has_unusual_address(&settings);
                model::texts(&settings)
            }
            Kind::ToolServer => tool_server::texts(&fields(entry.settings.clone()), entry.has_secret),
        };
        for (field, text) in texts {
            self.prefill(field, text);
        }
    }

    /// Returns the text of a field.
    pub(crate) fn text(&self, field: Field) -> &str {
        self.texts.get(&field).map(String::as_str).unwrap_or_default()
    }

    /// Returns the text of a field without spaces at its ends; `None` if it is empty.
    pub(super) fn trimmed(&self, field: Field) -> Option<String> {
        let text = self.text(field).trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the text of a field that must not be empty.
    pub(super) fn required(&self, field: Field) -> Result<String, Flaw> {
        self.trimmed(field).ok_or((field, Fault::Missing))
    }

    /// Returns `true` if the dialog has this field.
    pub(super) fn has(&self, field: Field) -> bool {
        match (self.kind, field) {
            (Kind::Model, Field::Address) => self.has_address(),
            (Kind::Model, Field::Secret) => self.provider.is_some_and(Provider::takes_key),
            (Kind::ToolServer, Field::Secret) => self.sends_secret(),
            (Kind::ToolServer, Field::Header) => self.text(Field::Authentication) == tool_server::HEADER,
            _ => true,
        }
    }

    pub(super) fn write(&mut self, field: Field, text: String) {
        self.texts.insert(field, text);
        self.typed.insert(field);
    }

    /// Sets a field that the user has not changed.
    pub(super) fn prefill(&mut self, field: Field, text: Option<String>) {
        if !self.typed.contains(&field) {
            self.texts.insert(field, text.unwrap_or_default());
        }
    }

    /// Removes the secret.
    pub(super) fn clear_secret(&mut self) {
        self.texts.remove(&Field::Secret);
    }

    /// Returns `true` if a stored secret stays in use, because the user entered no other one.
    pub(crate) fn keeps_secret(&self) -> bool {
        self.has_stored_secret
            && match self.kind {
                Kind::Model => self.trimmed(Field::Secret).is_none(),
                Kind::ToolServer => self.text(Field::Authentication) == tool_server::KEEP,
            }
    }

    /// Returns the field in which the user enters the stored secret again.
    pub(super) fn secret_field(&self) -> Field {
        match self.kind {
            Kind::Model => Field::Secret,
            Kind::ToolServer => Field::Authentication,
        }
    }

    /// Returns the value of the secret setting, or the field with a fault. `None` leaves the secret as it is, and null
    /// removes it.
    pub(super) fn secret(&self) -> Result<Option<Value>, Flaw> {
        match self.kind {
            Kind::Model => Ok(self.key().map(Value::String)),
            Kind::ToolServer => self.headers(),
        }
    }

    /// Returns the settings, or the first field with a fault. Settings without a field are those of `base`.
    pub(super) fn settings(&self, base: Map<String, Value>) -> Result<Map<String, Value>, Flaw> {
        match self.kind {
            Kind::Model => self.model_settings(fields(base)),
            Kind::ToolServer => self.tool_server_settings(fields(base)),
        }
    }

    /// Returns the field that the server's sentence about a setting concerns.
    pub(super) fn field_in(&self, sentence: &str) -> Option<Field> {
        match self.kind {
            Kind::Model => model::field_in(sentence),
            Kind::ToolServer => tool_server::field_in(sentence),
        }
    }

    /// Returns the address, or the reason why it cannot be used.
    pub(super) fn checked_address(&self) -> Result<Option<String>, Flaw> {
        let Some(url) = self.trimmed(Field::Address) else { return Ok(None) };
        let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let is_url = host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace));
        if is_url { Ok(Some(url)) } else { Err((Field::Address, Fault::NotAnAddress)) }
    }

    /// Returns a whole number, which may be written as 128,000.
    pub(super) fn whole<T: std::str::FromStr>(&self, field: Field) -> Result<Option<T>, Flaw> {
        let digits: String =
            self.text(field).chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, ',' | '_')).collect();
        if digits.is_empty() {
            return Ok(None);
        }
        digits.parse().map(Some).map_err(|_| (field, Fault::NotAWholeNumber))
    }

    /// Returns a number, whose decimal separator may be a comma.
    pub(super) fn decimal(&self, field: Field) -> Result<Option<f64>, Flaw> {
        let text = self.text(field).trim().replace(',', ".");
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or((field, Fault::NotANumber))
    }
}
