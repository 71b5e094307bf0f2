//! The catalog of available models, by name: the configured ones, and those that admins added while the server runs.

use std::sync::Arc;

use parking_lot::RwLock;
use tallybook_accounts::UserPermissions;
use tallybook_agent::{Reviewer, TitleWriter};
use tallybook_llm::{ConnectError, ModelClient, Quirk};
use tallybook_protocol::{CatalogModel, ModelInfo, ModelList, Prices};

use crate::models::{ModelChoice, ModelEntry, Origin, PermittedModels, Window};

/// The available models. Cheap to clone; all clones share the same models. Added models can change at any time, so a
/// turn keeps the model that it started with.
#[derive(Clone, Debug)]
pub struct Catalog {
    models: Arc<RwLock<Models>>,
}

#[derive(Debug)]
struct Models {
    default_model: Arc<Model>,
    /// The configured models, then the added ones.
    all: Vec<Arc<Model>>,
    /// Number of configured models, at least one.
    configured: usize,
}

/// An available model with its connections.
pub struct Model {
    name: String,
    client: Arc<dyn ModelClient>,
    titles: Option<TitleWriter>,
    reviews: Option<Arc<dyn ModelClient>>,
    prices: Option<Prices>,
    vision: bool,
    window: Window,
    can_summarize: bool,
    is_demo: bool,
}

/// The settings do not make a valid catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// No model is configured.
    #[error("No model is configured. Name one in the settings.")]
    Empty,
    /// A model cannot be set up.
    #[error("{} {source}", .origin.place_of(.source.setting()))]
    Model {
        /// Source of the model's settings.
        origin: Origin,
        /// The cause.
        source: ConnectError,
    },
}

impl CatalogError {
    /// Returns the error of the settings of a single model, without the place of the settings.
    pub fn cause(&self) -> Option<&ConnectError> {
        match self {
            Self::Empty => None,
            Self::Model { source, .. } => Some(source),
        }
    }
}

impl Catalog {
    /// Creates a client for each model, one that writes titles, and one that reviews calls. Sends no requests. The first
    /// model is the default.
    pub fn connect(entries: &[ModelEntry]) -> Result<Self, CatalogError> {
        let connect = |entry| Model::connect(entry).map(Arc::new);
        let all = entries.iter().map(connect).collect::<Result<Vec<_>, _>>()?;
        let default_model = all.first().cloned().ok_or(CatalogError::Empty)?;
        let models = Models { default_model, configured: all.len(), all };
        Ok(Self { models: Arc::new(RwLock::new(models)) })
    }

    /// Creates the clients of a model without adding it. Sends no requests.
    pub fn connect_model(&self, entry: &ModelEntry) -> Result<Arc<Model>, CatalogError> {
        Model::connect(entry).map(Arc::new)
    }

    /// Replaces the added models, and sets the name of the default model. If it is `None`, or no model has the name, the
    /// first model is the default; if only the demo model is configured, the first added one. An added model with the
    /// name of a configured one is left out.
    pub fn set_added(&self, added: Vec<Arc<Model>>, default_model: Option<&str>) {
        let mut models = self.models.write();
        let configured = models.configured;
        models.all.truncate(configured);
        for model in added {
            if models.find(&model.name).is_none() {
                models.all.push(model);
            }
        }
        let first = if models.all.iter().take(configured).all(|model| model.is_demo) { configured } else { 0 };
        let chosen = default_model.and_then(|name| models.find(name));
        let default_model = chosen.or(models.all.get(first)).or(models.all.first()).cloned();
        models.default_model = default_model.unwrap_or_else(|| Arc::clone(&models.default_model));
    }

    /// Returns the model that answers if none is chosen.
    pub fn default_model(&self) -> Arc<Model> {
        Arc::clone(&self.models.read().default_model)
    }

    /// Returns the model with this name.
    pub fn find(&self, name: &str) -> Option<Arc<Model>> {
        self.models.read().find(name).cloned()
    }

    /// Returns the names of all models, separated by commas, for messages to users.
    pub fn names(&self) -> String {
        let models = self.models.read();
        let names: Vec<&str> = models.all.iter().map(|model| model.name.as_str()).collect();
        names.join(", ")
    }

    /// Returns the models that a user with these permissions may use.
    pub fn permitted(&self, permissions: &UserPermissions) -> PermittedModels {
        let models = self.models.read();
        PermittedModels::new(&models.all, &models.default_model, permissions)
    }

    /// Lists all models.
    pub fn list(&self) -> ModelList {
        self.permitted(&UserPermissions::default()).list()
    }
}

impl Models {
    fn find(&self, name: &str) -> Option<&Arc<Model>> {
        self.all.iter().find(|model| model.name == name)
    }
}

impl Model {
    fn connect(entry: &ModelEntry) -> Result<Self, CatalogError> {
        let failed = |source| CatalogError::Model { origin: entry.origin.clone(), source };
        let client = entry.connect().map_err(failed)?;
        let titles = entry.choice.connect_for_titles().map_err(failed)?;
        let reviews = entry.choice.connect_for_reviews().map_err(failed)?;
        Ok(Self {
            name: entry.name.clone(),
            client,
            titles: titles.map(|client| TitleWriter::new(entry.priced(client))),
            reviews: reviews.map(|client| entry.priced(client)),
            prices: entry.prices,
            vision: entry.vision,
            window: entry.choice.window(),
            can_summarize: entry.choice.can_summarize(),
            is_demo: matches!(entry.choice, ModelChoice::Demo { .. }),
        })
    }

    /// Returns the model's name in the UI and the API.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what every user may know of the model.
    pub(crate) fn describe(&self, is_default: bool) -> CatalogModel {
        let ModelInfo { provider, model } = self.client.info().clone();
        CatalogModel {
            name: self.name.clone(),
            provider,
            model,
            tool_mode: self.client.tool_offer(),
            quirks: quirks_of(&*self.client),
            is_default,
            vision: self.vision,
            prices: self.prices,
            available: true,
        }
    }

    /// Returns the client that sends requests to the model.
    pub fn client(&self) -> &dyn ModelClient {
        &*self.client
    }

    /// Returns the client, for callers that keep it.
    pub fn shared_client(&self) -> Arc<dyn ModelClient> {
        Arc::clone(&self.client)
    }

    /// Returns the model's prices, if they are known.
    pub fn prices(&self) -> Option<Prices> {
        self.prices
    }

    /// Returns the model's context window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns `true` if the model can write summaries and plans.
    pub fn can_summarize(&self) -> bool {
        self.can_summarize
    }

    /// Returns whether the model reads images, by the settings or a refusal of its server; `None` if that is not known.
    pub fn reads_images(&self) -> Option<bool> {
        if self.is_demo || self.client.quirks().has(Quirk::NoImages) {
            return Some(false);
        }
        self.vision.then_some(true)
    }

    /// Returns `true` if the model can vote on calls.
    pub fn can_review(&self) -> bool {
        self.reviews.is_some()
    }

    /// Returns the model as a reviewer of calls; `None` if it cannot vote.
    pub(crate) fn reviewer(&self) -> Option<Reviewer> {
        let model = self.reviews.clone()?;
        Some(Reviewer { name: self.name.clone(), model })
    }

    /// Returns the title writer. If it is `None`, a conversation keeps the title that was made from its first question.
    pub fn titles(&self) -> Option<&TitleWriter> {
        self.titles.as_ref()
    }
}

/// Returns the names of the quirks known so far, except the one about tools, which `tool_mode` shows.
fn quirks_of(client: &dyn ModelClient) -> Vec<String> {
    let quirks = client.quirks();
    quirks.iter().filter(|quirk| *quirk != Quirk::NoTools).map(|quirk| quirk.as_str().to_owned()).collect()
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("info", self.client.info()).finish_non_exhaustive()
    }
}
