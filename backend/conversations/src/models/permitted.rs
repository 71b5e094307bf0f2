//! The models that a user may use, and the choice of the model that answers: the requested one, otherwise the
//! conversation's own, otherwise the default.

use std::sync::Arc;

use tallybook_accounts::UserPermissions;
use tallybook_protocol::{ModelList, first_chars};

use crate::{ServiceError, models::Model};

/// Maximum length of a requested name in an error message, in characters.
const MAX_SHOWN_CHARS: usize = 100;

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
    pub(crate) fn new(all: &[Arc<Model>], default_model: &Arc<Model>, permissions: &UserPermissions) -> Self {
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

fn names<'a>(models: impl Iterator<Item = &'a Arc<Model>>) -> String {
    models.map(|model| model.name()).collect::<Vec<_>>().join(", ")
}
