//! The service that the HTTP handlers call, and the task that applies changes that other servers made. The use cases of
//! models are in `models`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use secrecy::ExposeSecret as _;
use tallybook_conversations::models::{Catalog, Model, ModelEntry, Origin, read_fields};
use tallybook_database::Database;
use tallybook_llm::{ApiKey, ConnectError, ModelSettings, SettingNames};
use tallybook_protocol::ModelFields;
use tallybook_tools::Secrets;
use tokio::sync::Mutex;

use crate::{
    error::SettingsError,
    seal::{Sealed, Sealer},
    store::{self, EntryRow},
};

/// Interval at which a server looks for changes that other servers made.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The settings that change while the server runs. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub struct RuntimeSettings {
    pub(crate) context: Arc<Context>,
}

pub(crate) struct Context {
    pub(crate) db: Database,
    pub(crate) sealer: Sealer,
    pub(crate) models: Catalog,
    pub(crate) configured: ConfiguredEntries,
    secrets: Secrets,
    added: Mutex<AddedModels>,
}

/// The models that are configured in the settings file or the environment, and the defaults of all models.
#[derive(Clone, Debug)]
pub struct ConfiguredEntries {
    /// The models, the default first.
    pub models: Vec<ModelEntry>,
    /// The settings that a model has if it does not set them itself. The provider is not used.
    pub defaults: ModelSettings,
}

/// The added models as this server uses them.
#[derive(Default)]
struct AddedModels {
    /// Version of the catalog that is applied.
    version: i64,
    models: HashMap<i64, AddedModel>,
}

/// An added model, or the reason why it cannot be used.
#[derive(Clone)]
pub(crate) struct AddedModel {
    pub(crate) fields: ModelFields,
    pub(crate) version: i64,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) has_key: bool,
    pub(crate) entry: Result<ModelEntry, String>,
    model: Option<Arc<Model>>,
    id: i64,
}

impl RuntimeSettings {
    /// Creates the service and adds the stored models to the catalog. Their keys are added to `secrets`.
    pub async fn start(
        db: Database,
        sealer: Sealer,
        models: Catalog,
        configured: ConfiguredEntries,
        secrets: Secrets,
    ) -> Result<Self, SettingsError> {
        let added = Mutex::default();
        let service = Self { context: Arc::new(Context { db, sealer, models, configured, secrets, added }) };
        for model in service.refresh().await? {
            let name = &model.fields.name;
            if service.context.is_configured(name) {
                tracing::warn!(model = %name, "the settings file names a model that was also added in the page; the file's settings are used");
            } else if let Err(problem) = &model.entry {
                tracing::warn!(model = %name, %problem, "a model that was added in the page cannot be used");
            }
        }
        Ok(service)
    }

    /// Applies changes that other servers of the database made. Never returns.
    pub async fn watch(self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if let Err(error) = self.refresh_if_changed().await {
                // No warning: while the database is unreachable, other parts of the server report it.
                tracing::debug!(%error, "cannot check for changed settings");
            }
        }
    }

    async fn refresh_if_changed(&self) -> Result<(), SettingsError> {
        let version = store::version(&self.context.db).await?;
        if version != self.context.added.lock().await.version {
            self.refresh().await?;
        }
        Ok(())
    }

    /// Reads the added models and applies them. Returns them, oldest first.
    pub(crate) async fn refresh(&self) -> Result<Vec<AddedModel>, SettingsError> {
        let context = &*self.context;
        let mut added = context.added.lock().await;
        // Read first: a change after this is applied the next time.
        let version = store::version(&context.db).await?;
        let rows = store::list_models(&context.db).await?;
        let mut keys = store::list_keys(&context.db).await?;
        let models: Vec<AddedModel> = rows
            .into_iter()
            .map(|row| {
                let key = keys.remove(&row.id);
                let known = added.models.get(&row.id).filter(|known| known.version == row.version);
                // A model that did not change keeps its client, and with it the quirks that its server is known to have.
                known.filter(|known| known.entry.is_ok()).cloned().unwrap_or_else(|| context.read(row, key))
            })
            .collect();
        context.secrets.set_added(models.iter().filter_map(AddedModel::key));
        context.models.set_added(models.iter().filter_map(|model| model.model.clone()).collect());
        added.version = version;
        added.models = models.iter().map(|model| (model.id, model.clone())).collect();
        Ok(models)
    }
}

impl Context {
    /// Returns `true` if the settings file or the environment has a model of this name.
    pub(crate) fn is_configured(&self, name: &str) -> bool {
        self.configured.models.iter().any(|entry| entry.name == name)
    }

    /// Creates the entry of a model from its settings. Sends no requests.
    pub(crate) fn entry(&self, fields: &ModelFields, key: Option<ApiKey>) -> Result<(ModelEntry, Arc<Model>), String> {
        let defaults = ModelSettings { setting_names: SettingNames::in_page(), ..self.configured.defaults.clone() };
        let entry = read_fields(fields, key, &defaults, Origin::Page).map_err(|error| error.to_string())?;
        let model = self.models.connect_model(&entry).map_err(|error| match error.cause() {
            Some(cause) => ConnectError::sentence(cause),
            None => error.to_string(),
        })?;
        Ok((entry, model))
    }

    fn read(&self, row: EntryRow, sealed: Option<Sealed>) -> AddedModel {
        let has_key = sealed.is_some();
        let fields = serde_json::from_str::<ModelFields>(&row.settings);
        let unreadable = || "The stored settings cannot be read. They may come from a later version.".to_owned();
        let entry = fields.as_ref().map_err(|_| unreadable()).and_then(|fields| {
            let key = sealed.map(|sealed| self.sealer.open(&sealed, &key_context(&row.name))).transpose();
            let key = key.map_err(|error| error.to_string())?;
            self.entry(fields, key.map(|key| ApiKey::new(key.expose_secret())))
        });
        let (entry, model) = match entry {
            Ok((entry, model)) => (Ok(entry), Some(model)),
            Err(problem) => (Err(problem), None),
        };
        AddedModel {
            fields: fields.unwrap_or_else(|_| ModelFields { name: row.name, ..ModelFields::default() }),
            version: row.version,
            updated_at: row.updated_at,
            has_key,
            entry,
            model,
            id: row.id,
        }
    }
}

impl AddedModel {
    fn key(&self) -> Option<String> {
        self.entry.as_ref().ok()?.api_key().map(|key| key.expose().to_owned())
    }
}

/// Returns the context in which a model's API key is encrypted.
pub(crate) fn key_context(name: &str) -> String {
    format!("model {name} {}", store::API_KEY)
}
