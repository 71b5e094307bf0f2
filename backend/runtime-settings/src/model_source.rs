//! Reads the settings of added models, and creates their clients.

use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use tallybook_conversations::models::{Catalog, Model, ModelEntry, Origin, read_fields};
use tallybook_llm::{ApiKey, ConnectError, ModelSettings, SettingNames};
use tallybook_protocol::ModelFields;

use crate::{
    error::SettingsError,
    kind::{Checked, EntryKind, MAX_URL_CHARS},
};

/// Maximum length of an API key, in bytes.
const MAX_KEY_BYTES: usize = 4096;

/// Maximum length of the provider's name of a model, in characters.
const MAX_MODEL_CHARS: usize = 200;

/// A model of the catalog that was added at run time, ready to be used.
#[derive(Clone)]
pub(crate) struct ModelSource {
    pub(crate) entry: ModelEntry,
    pub(crate) model: Arc<Model>,
}

impl ModelSource {
    /// Creates the clients of a model. Sends no requests. The error is a sentence.
    pub(crate) fn read(
        models: &Catalog,
        defaults: &ModelSettings,
        fields: &ModelFields,
        key: Option<&SecretString>,
    ) -> Result<Self, String> {
        let names = SettingNames::in_page();
        let defaults = ModelSettings { setting_names: names, ..defaults.clone() };
        let key = key.map(|key| ApiKey::new(key.expose_secret()));
        let entry = read_fields(fields, key, &defaults, Origin::Page).map_err(|error| error.to_string())?;
        let model = models
            .connect_model(&entry)
            .map_err(|error| error.cause().map_or_else(|| error.to_string(), ConnectError::sentence))?;
        Ok(Self { entry, model })
    }

    /// Reads and checks the settings of a model. Sends no requests.
    pub(crate) fn check(
        models: &Catalog,
        defaults: &ModelSettings,
        settings: Map<String, Value>,
        key: Option<&SecretString>,
    ) -> Result<Checked, SettingsError> {
        let fields = read(settings)?;
        Self::read(models, defaults, &fields, key).map_err(invalid)?;
        let settings = serde_json::to_string(&fields).map_err(|error| invalid(error.to_string()))?;
        Ok(Checked { name: fields.name, settings })
    }
}

/// Reads the API key from a request. An empty key counts as none.
pub(crate) fn read_key(value: Value) -> Result<Option<SecretString>, SettingsError> {
    match value {
        Value::Null => Ok(None),
        Value::String(key) if key.len() <= MAX_KEY_BYTES => {
            let key = key.trim();
            Ok((!key.is_empty()).then(|| SecretString::from(key)))
        }
        _ => Err(invalid(format!("api_key must be a text of at most {MAX_KEY_BYTES} bytes."))),
    }
}

/// Reads the settings of a model from JSON.
pub(crate) fn read(settings: Map<String, Value>) -> Result<ModelFields, SettingsError> {
    let fields: ModelFields = serde_json::from_value(settings.into())
        .map_err(|error| invalid(format!("The settings cannot be read: {error}.")))?;
    let texts = [("model", &fields.model, MAX_MODEL_CHARS), ("base_url", &fields.base_url, MAX_URL_CHARS)];
    for (name, text, most) in texts {
        if text.as_ref().is_some_and(|text| text.chars().count() > most) {
            return Err(invalid(format!("{name} must have at most {most} characters.")));
        }
    }
    Ok(fields)
}

/// Creates an error about the settings of a model.
pub(crate) fn invalid(problem: impl Into<String>) -> SettingsError {
    SettingsError::Invalid(EntryKind::Model, problem.into())
}
