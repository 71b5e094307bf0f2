//! The catalog of available models, by name: the configured ones, and those that admins added while the server runs.
//! `PermittedModels` are those that a user may use, and choose the model that answers: the requested one, otherwise the
//! conversation's own, otherwise the default.

use std::sync::Arc;

use parking_lot::RwLock;
use tallybook_accounts::UserPermissions;
use tallybook_llm::ConnectError;
use tallybook_protocol::{ModelList, first_chars};

use crate::{
    ServiceError,
    models::{Model, ModelEntry, Origin},
};

/// Maximum length of a requested name in an error message, in characters.
const MAX_SHOWN_CHARS: usize = 100;
/// Maximum number of models that an error message names.
const MAX_LISTED: usize = 10;

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
    /// Creates a client for each model, one that writes titles, and one that reviews calls. Sends no requests. The
    /// first model is the default.
    pub fn connect(entries: &[ModelEntry]) -> Result<Self, CatalogError> {
        let all = entries.iter().map(connect).collect::<Result<Vec<_>, _>>()?;
        let default_model = all.first().cloned().ok_or(CatalogError::Empty)?;
        let models = Models { default_model, configured: all.len(), all };
        Ok(Self { models: Arc::new(RwLock::new(models)) })
    }

    /// Creates the clients of a model without adding it. Sends no requests.
    pub fn connect_model(&self, entry: &ModelEntry) -> Result<Arc<Model>, CatalogError> {
        connect(entry)
    }

    /// Replaces the added models, and sets the name of the default model. If it is `None`, or no model has the name,
    /// the first model is the default; if only the demo model is configured, the first added one. An added model with
    /// the name of a configured one is left out.
    pub fn set_added(&self, added: Vec<Arc<Model>>, default_model: Option<&str>) {
        let mut models = self.models.write();
        let configured = models.configured;
        models.all.truncate(configured);
        for model in added {
            if models.find(model.name()).is_none() {
                models.all.push(model);
            }
        }
        let first = if models.all.iter().take(configured).all(|model| model.is_demo()) { configured } else { 0 };
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
        self.permitted(&UserPermissions::default()).names()
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
        self.all.iter().find(|model| model.name() == name)
    }
}

fn connect(entry: &ModelEntry) -> Result<Arc<Model>, CatalogError> {
    let failed = |source| CatalogError::Model { origin: entry.origin.clone(), source };
    Model::connect(entry).map(Arc::new).map_err(failed)
}

/// The models that a user may use.
#[derive(Clone, Debug)]
pub struct PermittedModels {
    /// The model that answers if none is chosen; `None` if the user may use none.
    default_model: Option<Arc<Model>>,
    all: Vec<Arc<Model>>,
}

impl PermittedModels {
    /// Keeps those of the models that the permissions allow. If the default is not among them, the first one is the
    /// user's default.
    fn new(all: &[Arc<Model>], default_model: &Arc<Model>, permissions: &UserPermissions) -> Self {
        let is_allowed = |model: &&Arc<Model>| permissions.allows_model(model.name());
        let all: Vec<_> = all.iter().filter(is_allowed).cloned().collect();
        // The demo model answers only if it is alone.
        let first = all.iter().find(|model| !model.is_demo()).or(all.first());
        let default_model = Some(default_model).filter(is_allowed).or(first).cloned();
        Self { default_model, all }
    }

    /// Returns the model with this name.
    pub fn find(&self, name: &str) -> Option<Arc<Model>> {
        self.all.iter().find(|model| model.name() == name).cloned()
    }

    /// Returns the model that answers if none is chosen. Fails if the user may use no model.
    pub fn default_model(&self) -> Result<Arc<Model>, ServiceError> {
        self.default_model.clone().ok_or(ServiceError::NoModel)
    }

    /// Returns the names of the models, separated by commas, for messages to users.
    pub fn names(&self) -> String {
        names(self.all.iter())
    }

    /// Lists the models, with the information that every user may see.
    pub fn list(&self) -> ModelList {
        let is_default = |model| self.default_model.as_ref().is_some_and(|default| Arc::ptr_eq(model, default));
        ModelList { items: self.all.iter().map(|model| model.describe(is_default(model))).collect() }
    }

    /// Returns the names of the models that read images, or may do so, separated by commas; `None` if there are none.
    pub(crate) fn names_with_vision(&self) -> Option<String> {
        let readers = |reads: Option<bool>| names(self.all.iter().filter(|model| model.reads_images() == reads));
        let known = readers(Some(true));
        let found = if known.is_empty() { readers(None) } else { known };
        (!found.is_empty()).then_some(found)
    }

    /// Returns the model with this name, or an error that lists the available names.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Model>, ServiceError> {
        let shown = || first_chars(name, MAX_SHOWN_CHARS).to_owned();
        self.find(name).ok_or_else(|| ServiceError::UnknownModel { name: shown(), names: self.names() })
    }

    /// Returns the model for a turn: the requested model (`asked`), otherwise the conversation's own (`chosen`),
    /// otherwise the default. Fails if the user may not use the requested model or the conversation's own, or if it
    /// does not exist.
    pub(crate) fn choose(&self, asked: Option<&str>, chosen: Option<&str>) -> Result<Arc<Model>, ServiceError> {
        if let Some(name) = asked {
            return self.named(name);
        }
        let Some(name) = chosen else { return self.default_model() };
        self.find(name).ok_or_else(|| ServiceError::ModelGone { name: name.to_owned(), names: self.names() })
    }
}

/// Returns the first names, separated by commas, for messages to users.
fn names<'a>(models: impl Iterator<Item = &'a Arc<Model>>) -> String {
    let mut names: Vec<_> = models.map(|model| model.name()).take(MAX_LISTED + 1).collect();
    if let Some(last) = names.get_mut(MAX_LISTED) {
        *last = "…";
    }
    names.join(", ")
}
