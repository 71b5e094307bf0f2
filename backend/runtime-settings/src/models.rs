//! Lists, changes, tests and discovers models.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};
use tallybook_accounts::UserId;
use tallybook_conversations::models::ModelEntry;
use tallybook_llm::{ApiKey, DiscoverError, ModelSettings, ProviderKind, SettingNames, discover};
use tallybook_protocol::{
    ConfiguredModel, ConfiguredModels, DiscoverModels, DiscoveredModels, ModelFields, ModelTest, SettingsOrigin,
};

use crate::{
    entries::take_secret,
    error::SettingsError,
    kind::EntryKind,
    model_source::{ModelSource, invalid, read, read_key},
    model_test,
    service::{AddedEntry, Context, RuntimeSettings},
    unusable::Unusable,
};

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

    /// Changes an added model: each member of `patch` replaces a setting, and null removes it. If `version` is given
    /// and the model has another version, nothing is changed.
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

    /// Asks a model a few short questions. `patch` has changes of an added model that are not stored, as in
    /// [`Self::update_model`].
    pub async fn test_model(&self, name: &str, patch: Map<String, Value>) -> Result<ModelTest, SettingsError> {
        let _permit = self.context.begin_test()?;
        if let Some(entry) = self.context.configured.models.iter().find(|entry| entry.name == name) {
            if !patch.is_empty() {
                return Err(SettingsError::SetInFile(EntryKind::Model, name.to_owned()));
            }
            return Ok(model_test::run(entry, &self.context.secrets).await);
        }
        let (settings, key) = self.patched(EntryKind::Model, name, patch).await?;
        self.test_settings(settings, key.as_ref()).await
    }

    /// Asks a model that is not added yet a few short questions. `new` is as in [`Self::create_model`].
    pub async fn test_new_model(&self, mut new: Map<String, Value>) -> Result<ModelTest, SettingsError> {
        let _permit = self.context.begin_test()?;
        let key = take_secret(EntryKind::Model, &mut new)?;
        self.test_settings(new, key.as_ref()).await
    }

    async fn test_settings(
        &self,
        settings: Map<String, Value>,
        key: Option<&SecretString>,
    ) -> Result<ModelTest, SettingsError> {
        let Context { models, configured, secrets, .. } = &*self.context;
        let fields = read(settings)?;
        let source = ModelSource::read(models, &configured.model_defaults, &fields, key).map_err(invalid)?;
        Ok(model_test::run(&source.entry, secrets).await)
    }

    /// Lists the models that a provider offers. The key is the given one, or else that of the named added model, which
    /// only the provider and the address of that model receive.
    pub async fn discover_models(&self, asked: DiscoverModels) -> Result<DiscoveredModels, SettingsError> {
        let _permit = self.context.begin_test()?;
        let key = match (asked.api_key, &asked.name) {
            (Some(key), _) => read_key(key.into())?,
            (None, Some(name)) => {
                let address = [("provider", Some(&asked.provider)), ("base_url", asked.base_url.as_ref())];
                let address = address.map(|(field, value)| (field.to_owned(), json!(value)));
                self.patched(EntryKind::Model, name, Map::from_iter(address)).await?.1
            }
            (None, None) => None,
        };
        let settings = ModelSettings {
            provider: asked.provider.parse::<ProviderKind>().map_err(|error| invalid(error.to_string()))?,
            base_url: asked.base_url.filter(|url| !url.trim().is_empty()),
            api_key: key.map(|key| ApiKey::new(key.expose_secret())),
            setting_names: SettingNames::in_page(),
            ..self.context.configured.model_defaults.clone()
        };
        match discover(&settings).await {
            Ok(items) => Ok(DiscoveredModels { items }),
            Err(DiscoverError::Settings(error)) => Err(invalid(error.sentence())),
            Err(_) if asked.optional => Ok(DiscoveredModels::default()),
            Err(error) => Err(SettingsError::Discover(error)),
        }
    }

    fn show_configured_model(&self, entry: &ModelEntry) -> ConfiguredModel {
        ConfiguredModel {
            fields: entry.fields(),
            origin: SettingsOrigin::File,
            has_key: entry.api_key().is_some(),
            is_default: self.context.models.default_model().name() == entry.name,
            problem_code: None,
            problem: None,
            version: None,
            updated_at: None,
        }
    }

    fn show_added_model(&self, model: &AddedEntry<ModelFields, ModelSource>) -> ConfiguredModel {
        let problem = self.context.configured.problem(EntryKind::Model, &model.fields.name, &model.source);
        ConfiguredModel {
            fields: model.fields.clone(),
            origin: SettingsOrigin::Page,
            has_key: model.has_secret,
            is_default: problem.is_none() && self.context.models.default_model().name() == model.fields.name,
            problem_code: problem.as_ref().map(Unusable::code),
            problem: problem.map(|problem| problem.to_string()),
            version: Some(model.version),
            updated_at: Some(model.updated_at),
        }
    }
}
