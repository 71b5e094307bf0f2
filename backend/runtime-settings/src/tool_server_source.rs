//! Reads the settings of added tool servers.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use tallybook_mcp::{ToolServerSettings, ToolServersSettings, check};
use tallybook_protocol::ToolServerFields;

use crate::{
    error::SettingsError,
    kind::{Checked, EntryKind, MAX_URL_CHARS},
};

/// Maximum number of headers, and maximum length of a name and a value together, in bytes.
const MAX_HEADERS: usize = 20;
const MAX_HEADER_BYTES: usize = 8192;

/// Maximum number of patterns in `include` and in `exclude`, and maximum length of each, in characters.
const MAX_PATTERNS: usize = 500;
const MAX_PATTERN_CHARS: usize = 200;

/// Minimum length of a header's value that is redacted although the header's name is not that of a secret, in bytes.
/// Shorter values are often ordinary words.
const MIN_TOKEN_BYTES: usize = 20;

/// Settings that name a program.
const PROGRAM: [&str; 3] = ["command", "args", "env"];

/// Settings with which the server obtains tokens of the operator.
const TOKENS: [&str; 2] = ["requires_auth", "oauth"];

/// A tool server that was added at run time, ready to be used.
#[derive(Clone)]
pub(crate) struct ToolServerSource {
    pub(crate) settings: ToolServerSettings,
}

impl ToolServerSource {
    /// Checks the settings of a tool server. Sends no requests. The error is a sentence.
    pub(crate) fn read(fields: &ToolServerFields, headers: Option<&SecretString>) -> Result<Self, String> {
        ToolServersSettings::default()
            .add(fields.name.clone(), ToolServerSettings::default())
            .map_err(|error| format!("{error}."))?;
        let mut settings = serde_json::to_value(fields).map_err(|error| error.to_string())?;
        if let Some(settings) = settings.as_object_mut() {
            settings.remove("name");
        }
        let settings: ToolServerSettings = serde_json::from_value(settings).map_err(|error| format!("{error}."))?;
        let headers: BTreeMap<String, String> = match headers {
            Some(headers) => serde_json::from_str(headers.expose_secret()).map_err(|error| error.to_string())?,
            None => BTreeMap::new(),
        };
        let settings = ToolServerSettings { headers, ..settings };
        // Unlike headers, the URL is stored and shown in clear.
        if fields.url.contains(['?', '#']) {
            return Err("url must not contain a query or fragment. Send a token in headers instead.".to_owned());
        }
        check(&settings, None, |_| None).map_err(|error| format!("{error}."))?;
        Ok(Self { settings })
    }

    /// Returns the values to redact: those of headers whose name is that of a secret, long values of other headers, and
    /// secrets in the URL.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let servers = vec![(String::new(), self.settings.clone())];
        let named = ToolServersSettings { servers, oauth: None }.secrets(&|_: &str| None);
        // Without the scheme, as in `Bearer TOKEN`.
        let tokens = self.settings.headers.values().filter_map(|value| value.rsplit(' ').next());
        tokens.filter(|token| token.len() >= MIN_TOKEN_BYTES).map(str::to_owned).chain(named).collect()
    }

    /// Reads and checks the settings of a tool server. Sends no requests.
    pub(crate) fn check(
        settings: Map<String, Value>,
        headers: Option<&SecretString>,
    ) -> Result<Checked, SettingsError> {
        let fields = read(settings)?;
        Self::read(&fields, headers).map_err(invalid)?;
        let settings = serde_json::to_string(&fields).map_err(|error| invalid(error.to_string()))?;
        Ok(Checked { name: fields.name, settings })
    }
}

/// Reads the headers from a request, as the JSON text that is encrypted.
pub(crate) fn read_headers(value: Value) -> Result<Option<SecretString>, SettingsError> {
    if value.is_null() {
        return Ok(None);
    }
    let headers: BTreeMap<String, String> =
        serde_json::from_value(value).map_err(|_| invalid("headers must be an object whose values are texts."))?;
    if headers.len() > MAX_HEADERS || headers.iter().any(|(name, value)| name.len() + value.len() > MAX_HEADER_BYTES) {
        return Err(invalid(format!(
            "headers must have at most {MAX_HEADERS} members of at most {MAX_HEADER_BYTES} bytes each."
        )));
    }
    let text = serde_json::to_string(&headers).map_err(|error| invalid(error.to_string()))?;
    Ok((!headers.is_empty()).then(|| text.into()))
}

/// Reads the settings of a tool server from JSON.
pub(crate) fn read(settings: Map<String, Value>) -> Result<ToolServerFields, SettingsError> {
    if PROGRAM.iter().any(|field| settings.contains_key(*field)) {
        return Err(SettingsError::ProgramInFileOnly);
    }
    if let Some(field) = TOKENS.iter().find(|field| settings.contains_key(**field)) {
        return Err(invalid(format!("{field} can only be set in the settings file. Send a token in headers instead.")));
    }
    let fields: ToolServerFields = serde_json::from_value(settings.into())
        .map_err(|error| invalid(format!("The settings cannot be read: {error}.")))?;
    if fields.url.chars().count() > MAX_URL_CHARS {
        return Err(invalid(format!("url must have at most {MAX_URL_CHARS} characters.")));
    }
    for (name, patterns) in [("include", &fields.include), ("exclude", &fields.exclude)] {
        let is_long = |pattern: &String| pattern.chars().count() > MAX_PATTERN_CHARS;
        if patterns.len() > MAX_PATTERNS || patterns.iter().any(is_long) {
            return Err(invalid(format!(
                "{name} must have at most {MAX_PATTERNS} patterns of at most {MAX_PATTERN_CHARS} characters."
            )));
        }
    }
    Ok(fields)
}

/// Creates an error about the settings of a tool server.
pub(crate) fn invalid(problem: impl Into<String>) -> SettingsError {
    SettingsError::Invalid(EntryKind::ToolServer, problem.into())
}
