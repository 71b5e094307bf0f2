//! The fields of the dialog, and their texts as the user types them.

use std::collections::{BTreeMap, BTreeSet};

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
    /// A name as in the API, or empty if the provider decides.
    ReasoningEffort,
    ThinkingTokens,
    /// Names, separated by commas, each with `=false` if the part of the request is always sent.
    Quirks,
    /// `remove`, or empty to keep the stored key. Shown only if the provider can do without a key.
    StoredKey,

    // Fields of a tool server.
    /// `yes`, or empty. Shown only for an address that needs it.
    AllowHttp,
    /// `token`, `header`, `keep` for the stored headers, or empty for none.
    Authentication,
    /// The name of the header.
    Header,
    /// Further headers, one in a line.
    MoreHeaders,
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
            Self::ReasoningEffort => "model-reasoning-effort",
            Self::ThinkingTokens => "model-thinking-tokens",
            Self::Quirks => "model-quirks",
            Self::StoredKey => "model-stored-key",
            Self::AllowHttp => "server-allow-http",
            Self::Authentication => "server-authentication",
            Self::Header => "server-header",
            Self::MoreHeaders => "server-more-headers",
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
            | Self::ReasoningEffort
            | Self::ThinkingTokens
            | Self::Quirks
            | Self::StoredKey
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
            | Self::MoreHeaders
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
    /// A line is not a header, or names a header again.
    NotAHeader,
    /// The stored secret cannot be used for this request.
    SecretAgain,
}

/// The first field with a fault.
pub(crate) type FieldFault = (Field, Fault);

/// The texts of all fields.
#[derive(Clone, Default)]
pub(super) struct Texts {
    values: BTreeMap<Field, String>,
    /// The fields that the user changed. Choosing a model does not change these.
    typed: BTreeSet<Field>,
    /// The fields that a test has filled. They belong to the tested model.
    learned: BTreeSet<Field>,
}

impl std::fmt::Debug for Texts {
    /// Leaves the secrets out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_open = |field: Field| !matches!(field, Field::Secret | Field::MoreHeaders);
        f.debug_map().entries(self.values.iter().filter(|(field, _)| is_open(**field))).finish()
    }
}

impl Texts {
    /// Returns the text of a field.
    pub(super) fn get(&self, field: Field) -> &str {
        self.values.get(&field).map(String::as_str).unwrap_or_default()
    }

    /// Returns the text of a field without spaces at its ends; `None` if it is empty.
    pub(super) fn trimmed(&self, field: Field) -> Option<String> {
        let text = self.get(field).trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the text of a field that must not be empty.
    pub(super) fn required(&self, field: Field) -> Result<String, FieldFault> {
        self.trimmed(field).ok_or((field, Fault::Missing))
    }

    /// Sets a field to what the user typed.
    pub(super) fn write(&mut self, field: Field, text: String) {
        self.values.insert(field, text);
        self.typed.insert(field);
    }

    /// Sets a field that the user has not changed.
    pub(super) fn prefill(&mut self, field: Field, text: Option<String>) {
        if !self.is_typed(field) {
            self.values.insert(field, text.unwrap_or_default());
        }
    }

    /// Sets a field to what a test has shown, unless the user or the stored entry has set it.
    pub(super) fn learn(&mut self, field: Field, text: String) {
        if self.learned.contains(&field) || (self.get(field).is_empty() && !self.is_typed(field)) {
            self.prefill(field, Some(text));
            self.learned.insert(field);
        }
    }

    /// Empties the fields that a test of another model has filled.
    pub(super) fn unlearn(&mut self) {
        for field in std::mem::take(&mut self.learned) {
            self.prefill(field, None);
        }
    }

    /// Returns `true` if the user changed the field.
    pub(super) fn is_typed(&self, field: Field) -> bool {
        self.typed.contains(&field)
    }

    /// Empties a field, as if the user had not changed it.
    pub(super) fn clear(&mut self, field: Field) {
        self.values.remove(&field);
        self.typed.remove(&field);
    }

    /// Returns the address, or the reason why it cannot be used.
    pub(super) fn checked_address(&self) -> Result<Option<String>, FieldFault> {
        let Some(url) = self.trimmed(Field::Address) else { return Ok(None) };
        let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let is_url = host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace));
        if is_url { Ok(Some(url)) } else { Err((Field::Address, Fault::NotAnAddress)) }
    }

    /// Returns a whole number, which may be written as 128,000.
    pub(super) fn whole<T: std::str::FromStr>(&self, field: Field) -> Result<Option<T>, FieldFault> {
        let digits: String =
            self.get(field).chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, ',' | '_')).collect();
        if digits.is_empty() {
            return Ok(None);
        }
        digits.parse().map(Some).map_err(|_| (field, Fault::NotAWholeNumber))
    }

    /// Returns a number, whose decimal separator may be a comma.
    pub(super) fn decimal(&self, field: Field) -> Result<Option<f64>, FieldFault> {
        let text = self.get(field).trim().replace(',', ".");
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or((field, Fault::NotANumber))
    }
}
