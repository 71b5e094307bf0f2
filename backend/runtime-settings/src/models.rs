//! Lists, adds, changes, removes and tests models.

use secrecy::SecretString;
use serde_json::{Map, Value};
use tallybook_accounts::{AuditAction, UserId, note_audit};
use tallybook_conversations::models::ModelEntry;
use tallybook_database::{Transaction, with_retries};
use tallybook_llm::{ApiKey, ModelSettings, discover};
use tallybook_protocol::{
    ConfiguredModel, ConfiguredModels, DiscoverModels, DiscoveredModels, ModelFields, ModelTest, SettingsOrigin,
};

use crate::{
    error::SettingsError,
    model_test,
    seal::Sealed,
    service::{AddedModel, RuntimeSettings, key_context},
    store::{self, API_KEY, MAX_MODELS},
};

/// Maximum length of an API key, in bytes.
const MAX_KEY_BYTES: usize = 4096;

/// Names that are paths of the API.
const RESERVED_NAMES: [&str; 2] = ["discover", "test"];

/// Settings that decide which server receives the API key.
const ADDRESS: [&str; 2] = ["provider", "base_url"];

impl RuntimeSettings {
    /// Lists the configured models and the added ones.
    pub async fn list_models(&self) -> Result<ConfiguredModels, SettingsError> {
        let added = self.refresh().await?;
        let configured = self.context.configured.models.iter().map(|entry| self.show_configured(entry));
        let added = added.iter().map(|model| self.show_added(model));
        Ok(ConfiguredModels { items: configured.chain(added).collect() })
    }

    /// Returns the model with this name.
    pub async fn find_model(&self, name: &str) -> Result<ConfiguredModel, SettingsError> {
        let models = self.list_models().await?;
        let found = models.items.into_iter().find(|model| model.fields.name == name);
        found.ok_or_else(|| SettingsError::NoSuchModel(name.to_owned()))
    }

    /// Adds a model. `new` has the settings and, if the provider requires one, the API key.
    pub async fn create_model(&self, actor: UserId, new: Map<String, Value>) -> Result<ConfiguredModel, SettingsError> {
        let (fields, key) = read_new(new)?;
        let name = fields.name.clone();
        if RESERVED_NAMES.contains(&name.as_str()) {
            return Err(invalid(format!("The name {name:?} is reserved. Choose another name.")));
        }
        if self.context.is_configured(&name) {
            return Err(SettingsError::SetInFile(name));
        }
        self.check(&fields, key.as_ref())?;
        let sealed = self.seal(&name, key)?;
        let settings = write(&fields)?;
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            let version = store::next_version(&mut tx).await?;
            if store::find_model(&mut tx, &name).await?.is_some() {
                return Err(SettingsError::NameTaken(name.clone()));
            }
            if usize::try_from(store::count_models(&mut tx).await?).is_ok_and(|count| count >= MAX_MODELS) {
                return Err(SettingsError::TooMany(MAX_MODELS));
            }
            let id = store::create_model(&mut tx, &name, &settings, version).await?;
            store::set_key(&mut tx, id, sealed.as_ref()).await?;
            note_audit(&mut tx, Some(actor), actor, AuditAction::ModelAdded, &name).await?;
            Ok(tx.commit().await?)
        })
        .await?;
        self.find_model(&name).await
    }

    /// Changes an added model: each member of `patch` replaces a setting, and null removes it. If `version` is given and
    /// the model has another version, nothing is changed.
    pub async fn update_model(
        &self,
        actor: UserId,
        name: &str,
        mut patch: Map<String, Value>,
        version: Option<i64>,
    ) -> Result<ConfiguredModel, SettingsError> {
        self.check_added(name)?;
        let key = patch.remove(API_KEY).map(read_key).transpose()?;
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            let next = store::next_version(&mut tx).await?;
            let row = find(&mut tx, name, version).await?;
            let (before, fields) = merge(&row.settings, &patch)?;
            if fields.name != name {
                return Err(invalid("The name cannot be changed, because conversations refer to it."));
            }
            let is_elsewhere =
                ADDRESS.iter().any(|field| before.get(*field) != patch.get(*field).or(before.get(*field)));
            if key.is_none() && is_elsewhere && store::has_key(&mut tx, row.id).await? {
                return Err(invalid(
                    "The stored API key is not sent to another server. Send api_key together with the new provider or \
                     base_url.",
                ));
            }
            let new_key = key.clone().flatten();
            self.check_changed(&fields, new_key.as_ref(), key.is_none())?;
            if key.is_some() {
                store::set_key(&mut tx, row.id, self.seal(name, new_key)?.as_ref()).await?;
            }
            store::update_entry(&mut tx, row.id, &write(&fields)?, next).await?;
            note_audit(&mut tx, Some(actor), actor, AuditAction::ModelChanged, name).await?;
            Ok(tx.commit().await?)
        })
        .await?;
        self.find_model(name).await
    }

    /// Removes an added model. Turns that it answers continue.
    pub async fn delete_model(&self, actor: UserId, name: &str, version: Option<i64>) -> Result<(), SettingsError> {
        self.check_added(name)?;
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            store::next_version(&mut tx).await?;
            let row = find(&mut tx, name, version).await?;
            store::delete_entry(&mut tx, row.id).await?;
            note_audit(&mut tx, Some(actor), actor, AuditAction::ModelRemoved, name).await?;
            Ok::<_, SettingsError>(tx.commit().await?)
        })
        .await?;
        self.refresh().await?;
        Ok(())
    }

    /// Asks a model a short question.
    pub async fn test_model(&self, name: &str) -> Result<ModelTest, SettingsError> {
        if let Some(entry) = self.context.configured.models.iter().find(|entry| entry.name == name) {
            return Ok(model_test::run(entry).await);
        }
        let added = self.refresh().await?;
        let model = added.into_iter().find(|model| model.fields.name == name);
        let model = model.ok_or_else(|| SettingsError::NoSuchModel(name.to_owned()))?;
        Ok(model_test::run(&model.entry.map_err(SettingsError::Invalid)?).await)
    }

    /// Asks a model that is not added yet a short question. `new` is as in [`Self::create_model`].
    pub async fn test_new_model(&self, new: Map<String, Value>) -> Result<ModelTest, SettingsError> {
        let (fields, key) = read_new(new)?;
        let key = key.as_ref().map(api_key);
        let (entry, _) = self.context.entry(&fields, key).map_err(SettingsError::Invalid)?;
        Ok(model_test::run(&entry).await)
    }

    /// Lists the models that a provider offers.
    pub async fn discover_models(&self, asked: DiscoverModels) -> Result<DiscoveredModels, SettingsError> {
        let key = asked.api_key.map(Value::from).map(read_key).transpose()?.flatten();
        let provider =
            asked.provider.parse().map_err(|error: tallybook_llm::UnknownProvider| invalid(error.to_string()))?;
        let settings = ModelSettings {
            provider,
            base_url: asked.base_url.filter(|url| !url.trim().is_empty()),
            api_key: key.as_ref().map(api_key),
            setting_names: tallybook_llm::SettingNames::in_page(),
            ..self.context.configured.defaults.clone()
        };
        let items = discover(&settings).await.map_err(|error| match error {
            tallybook_llm::DiscoverError::Settings(error) => SettingsError::Invalid(error.sentence()),
            error => SettingsError::Discover(error),
        })?;
        Ok(DiscoveredModels { items })
    }

    /// Checks that a model can be changed here.
    fn check_added(&self, name: &str) -> Result<(), SettingsError> {
        if self.context.is_configured(name) { Err(SettingsError::SetInFile(name.to_owned())) } else { Ok(()) }
    }

    fn check(&self, fields: &ModelFields, key: Option<&SecretString>) -> Result<(), SettingsError> {
        self.context.entry(fields, key.map(api_key)).map(|_| ()).map_err(SettingsError::Invalid)
    }

    /// Checks changed settings. A key that stays as it is needs no check, so a placeholder takes its place.
    fn check_changed(
        &self,
        fields: &ModelFields,
        key: Option<&SecretString>,
        keeps_key: bool,
    ) -> Result<(), SettingsError> {
        let kept = keeps_key.then(|| SecretString::from("kept"));
        self.check(fields, key.or(kept.as_ref()))
    }

    fn seal(&self, name: &str, key: Option<SecretString>) -> Result<Option<Sealed>, SettingsError> {
        let Some(key) = key else { return Ok(None) };
        self.context.sealer.check()?;
        Ok(Some(self.context.sealer.seal(&key, &key_context(name))?))
    }

    fn show_configured(&self, entry: &ModelEntry) -> ConfiguredModel {
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

    fn show_added(&self, model: &AddedModel) -> ConfiguredModel {
        let name = &model.fields.name;
        let hidden = "The settings file or the environment has a model of the same name, which is used instead.";
        let is_hidden = self.context.is_configured(name);
        ConfiguredModel {
            fields: model.fields.clone(),
            origin: SettingsOrigin::Page,
            has_key: model.has_key,
            is_default: !is_hidden && self.context.models.default_model().name() == name,
            problem: if is_hidden { Some(hidden.to_owned()) } else { model.entry.as_ref().err().cloned() },
            version: Some(model.version),
            updated_at: Some(model.updated_at),
        }
    }
}

/// Returns the row of an added model, if it has the expected version.
async fn find(tx: &mut Transaction, name: &str, version: Option<i64>) -> Result<store::EntryRow, SettingsError> {
    let row = store::find_model(tx, name).await?;
    let row = row.ok_or_else(|| SettingsError::NoSuchModel(name.to_owned()))?;
    if version.is_some_and(|version| version != row.version) {
        return Err(SettingsError::VersionChanged);
    }
    Ok(row)
}

/// Separates the API key from the settings.
fn read_new(mut new: Map<String, Value>) -> Result<(ModelFields, Option<SecretString>), SettingsError> {
    let key = new.remove(API_KEY).map(read_key).transpose()?.flatten();
    Ok((read(Value::Object(new))?, key))
}

fn read_key(value: Value) -> Result<Option<SecretString>, SettingsError> {
    match value {
        Value::Null => Ok(None),
        Value::String(key) if key.len() <= MAX_KEY_BYTES => {
            let key = key.trim();
            Ok((!key.is_empty()).then(|| SecretString::from(key)))
        }
        _ => Err(invalid(format!("api_key must be a text of at most {MAX_KEY_BYTES} bytes."))),
    }
}

fn api_key(key: &SecretString) -> ApiKey {
    ApiKey::new(secrecy::ExposeSecret::expose_secret(key))
}

/// Applies changes to stored settings (<https://www.rfc-editor.org/rfc/rfc7396>). Returns the settings before and after.
fn merge(settings: &str, patch: &Map<String, Value>) -> Result<(Map<String, Value>, ModelFields), SettingsError> {
    let before: Map<String, Value> = serde_json::from_str(settings)
        .map_err(|_| invalid("The stored settings cannot be read. Remove the model and add it again."))?;
    let mut after = before.clone();
    for (field, value) in patch {
        if value.is_null() {
            after.remove(field);
        } else {
            after.insert(field.clone(), value.clone());
        }
    }
    Ok((before, read(Value::Object(after))?))
}

fn read(settings: Value) -> Result<ModelFields, SettingsError> {
    serde_json::from_value(settings).map_err(|error| invalid(format!("The settings cannot be read: {error}.")))
}

fn write(fields: &ModelFields) -> Result<String, SettingsError> {
    serde_json::to_string(fields).map_err(|error| invalid(error.to_string()))
}

fn invalid(problem: impl Into<String>) -> SettingsError {
    SettingsError::Invalid(problem.into())
}
