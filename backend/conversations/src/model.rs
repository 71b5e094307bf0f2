//! Selects the model of the catalog that answers: the requested one, otherwise the conversation's own, otherwise the
//! default.

use std::sync::Arc;

use tallybook_protocol::first_chars;

use crate::models::Model;
use crate::{ServiceError, context::Context};

impl Context {
    /// Returns the model with this name, or an error that lists the available names.
    pub(crate) fn model_named(&self, name: &str) -> Result<Arc<Model>, ServiceError> {
        let unknown = || ServiceError::UnknownModel { name: shortened(name), names: self.models.names() };
        self.models.find(name).ok_or_else(unknown)
    }

    /// Returns the model for a turn: the requested model (`asked`), otherwise the conversation's own (`chosen`),
    /// otherwise the default. Fails if the requested model is unknown, or if the conversation's own model is no longer
    /// in the catalog.
    pub(crate) fn model_for(&self, asked: Option<&str>, chosen: Option<&str>) -> Result<Arc<Model>, ServiceError> {
        if let Some(name) = asked {
            return self.model_named(name);
        }
        let Some(name) = chosen else { return Ok(self.models.default_model()) };
        let gone = || ServiceError::ModelGone { name: name.to_owned(), names: self.models.names() };
        self.models.find(name).ok_or_else(gone)
    }
}

/// Returns at most the first 100 characters of a name, for an error message.
fn shortened(name: &str) -> String {
    first_chars(name, 100).to_owned()
}
