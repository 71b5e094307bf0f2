//! Which model of the catalog answers: the one asked for, else the conversation's own, else the default.

use std::sync::Arc;

use super::{ServiceError, context::Context};
use crate::models::Model;

impl Context {
    /// The model of this name; an error that names those there are.
    pub(super) fn model_named(&self, name: &str) -> Result<&Arc<Model>, ServiceError> {
        let unknown = || ServiceError::UnknownModel { name: shortened(name), names: self.models.names() };
        self.models.find(name).ok_or_else(unknown)
    }

    /// The model for a turn of a conversation whose own one is `chosen`, when `asked` is asked for.
    pub(super) fn model_for(&self, asked: Option<&str>, chosen: Option<&str>) -> Result<&Arc<Model>, ServiceError> {
        if let Some(name) = asked {
            return self.model_named(name);
        }
        let Some(name) = chosen else { return Ok(self.models.default_model()) };
        let gone = || ServiceError::ModelGone { name: name.to_owned(), names: self.models.names() };
        self.models.find(name).ok_or_else(gone)
    }
}

/// As much of a name as an answer repeats.
fn shortened(name: &str) -> String {
    name.chars().take(100).collect()
}
