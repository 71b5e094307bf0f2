//! Lists, reads, tests and discovers models.

use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use tallybook_accounts::UserId;
use tallybook_conversations::models::{Model, ModelEntry, Origin, read_fields};
use tallybook_llm::{ApiKey, ConnectError, DiscoverError, ModelSettings, ProviderKind, SettingNames, discover};
use tallybook_protocol::{
    ConfiguredModel, ConfiguredModels, DiscoverModels, DiscoveredModels, ModelFields, ModelTest, SettingsOrigin,
};

use crate::{
    entries::{Checked, EntryKind, take_secret},
    error::SettingsError,
    model_test,
    service::{Added, Context, RuntimeSettings},
};

/// Maximum length of an API key, in bytes.
const MAX_KEY_BYTES: usize = 4096;

/// A model of the catalog that was added at run time, ready to be used.
#[derive(Clone)]
pub(crate) struct ModelSource {
    pub(crate) entry: ModelEntry,
    pub(crate) model: Arc<Model>,
}

impl ModelSource {
    /// Creates the clients of a model. Sends no requests. The error is a sentence.
    pub(crate) fn read(context: &Context, fields: &ModelFields, key: Option<&SecretString>) -> Result<Self, String> {
        let names = SettingNames::in_page();
        let defaults = ModelSettings { setting_names: names, ..context.configured.model_defaults.clone() };
        let key = key.map(|key| ApiKey::new(key.expose_secret()));
        let entry = read_fields(fields, key, &defaults, Origin::Page).map_err(|error| error.to_string())?;
        let model = context
            .models
            .connect_model(&entry)
            .map_err(|error| error.cause().map_or_else(|| error.to_string(), ConnectError::sentence))?;
        Ok(Self { entry, model })
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
}

impl RuntimeSettings {
    /// Lists the configured models and the added ones.
    pub async fn list_models(&self) -> Result<ConfiguredModels, SettingsError> {
        self.refresh().await?;
        let configured = self.context.configured.models.iter().map(|entry| self.show_configured_model(entry));
        let added = self.context.added.lock().await;
        let items = configured.chain(added.models.iter().map(|model| self.show_added_model(model))).collect();
        Ok(ConfiguredModels { items })
    }

    /// Returns the model with this name.
    pub async fn find_model(&self, name: &str) -> Result<ConfiguredModel, SettingsError> {
        let models = self.list_models().await?;
        let found = models.items.into_iter().find(|model| model.fields.name == name);
        found.ok_or_else(|| SettingsError::NotFound(EntryKind::Model, name.to_owned()))
    }

    /// Adds a model. `new` has the settings and, if the provider requires one, the API key.
    pub async fn create_model(&self, actor: UserId, new: Map<String, Value>) -> Result<ConfiguredModel, SettingsError> {
        let name = self.create_entry(EntryKind::Model, actor, new).await?;
        self.find_model(&name).await
    }

    /// Changes an added model: each member of `patch` replaces a setting, and null removes it. If `version` is given and
    /// the model has another version, nothing is changed.
    pub async fn update_model(
        &self,
        actor: UserId,
        name: &str,
        patch: Map<String, Value>,
        version: Option<i64>,
    ) -> Result<ConfiguredModel, SettingsError> {
        self.update_entry(EntryKind::Model, actor, name, patch, version).await?;
        self.find_model(name).await
    }

    /// Removes an added model. Turns that it answers continue.
    pub async fn delete_model(&self, actor: UserId, name: &str, version: Option<i64>) -> Result<(), SettingsError> {
        self.delete_entry(EntryKind::Model, actor, name, version).await
    }

    /// Asks a model a short question.
    pub async fn test_model(&self, name: &str) -> Result<ModelTest, SettingsError> {
        if let Some(entry) = self.context.configured.models.iter().find(|entry| entry.name == name) {
            return Ok(model_test::run(entry).await);
        }
        self.refresh().await?;
        let source = {
            let added = self.context.added.lock().await;
            let model = added.models.iter().find(|model| model.fields.name == name);
            model.ok_or_else(|| SettingsError::NotFound(EntryKind::Model, name.to_owned()))?.source.clone()
        };
        Ok(model_test::run(&source.map_err(invalid)?.entry).await)
    }

    /// Asks a model that is not added yet a short question. `new` is as in [`Self::create_model`].
    pub async fn test_new_model(&self, mut new: Map<String, Value>) -> Result<ModelTest, SettingsError> {
        let key = take_secret(EntryKind::Model, &mut new)?;
        let source = ModelSource::read(&self.context, &read(new)?, key.as_ref()).map_err(invalid)?;
        Ok(model_test::run(&source.entry).await)
    }

    /// Lists the models that a provider offers.
    pub async fn discover_models(&self, asked: DiscoverModels) -> Result<DiscoveredModels, SettingsError> {
        let key = asked.api_key.map_or(Ok(None), |key| ModelSource::read_key(key.into()))?;
        let settings = ModelSettings {
            provider: asked.provider.parse::<ProviderKind>().map_err(|error| invalid(error.to_string()))?,
            base_url: asked.base_url.filter(|url| !url.trim().is_empty()),
            api_key: key.map(|key| ApiKey::new(key.expose_secret())),
            setting_names: SettingNames::in_page(),
            ..self.context.configured.model_defaults.clone()
        };
        let items = discover(&settings).await.map_err(|error| match error {
            DiscoverError::Settings(error) => invalid(error.sentence()),
            error => SettingsError::Discover(error),
        })?;
        Ok(DiscoveredModels { items })
    }

    /// Reads and checks the settings of a model. Sends no requests.
    pub(crate) fn check_model(
        &self,
        settings: Map<String, Value>,
        key: Option<&SecretString>,
    ) -> Result<Checked, SettingsError> {
        let fields = read(settings)?;
        ModelSource::read(&self.context, &fields, key).map_err(invalid)?;
        let settings = serde_json::to_string(&fields).map_err(|error| invalid(error.to_string()))?;
        Ok(Checked { name: fields.name, settings })
    }

    fn show_configured_model(&self, entry: &ModelEntry) -> ConfiguredModel {
        ConfiguredModel {
            fields: entry.fields(),
            origin: SettingsOrigin::File,
            has_key: entry.api_key().is_some(),
            is_default: self.context.models.default_model().name() == entry.name,
            problem: None,
            version: None,
            updated_at: None,
        }
    }

    fn show_added_model(&self, model: &Added<ModelFields, ModelSource>) -> ConfiguredModel {
        let problem = self.context.problem(EntryKind::Model, &model.fields.name, &model.source);
        ConfiguredModel {
            fields: model.fields.clone(),
            origin: SettingsOrigin::Page,
            has_key: model.has_secret,
            is_default: problem.is_none() && self.context.models.default_model().name() == model.fields.name,
            problem,
            version: Some(model.version),
            updated_at: Some(model.updated_at),
        }
    }
}

fn read(settings: Map<String, Value>) -> Result<ModelFields, SettingsError> {
    serde_json::from_value(settings.into()).map_err(|error| invalid(format!("The settings cannot be read: {error}.")))
}

fn invalid(problem: impl Into<String>) -> SettingsError {
    SettingsError::Invalid(EntryKind::Model, problem.into())
}
