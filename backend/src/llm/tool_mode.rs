//! How a model is told of tools, as the configuration says it.

use std::{str::FromStr, sync::Arc};

use super::{
    ModelClient, ProviderKind,
    prompted::{Auto, Prompted},
};

/// How a model is told of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolMode {
    /// Natively, until the model's server says that it takes no tools; then in the prompt.
    #[default]
    Auto,
    /// By the provider's own tool calling, or not at all.
    Native,
    /// In the prompt, whatever the provider can do.
    Prompt,
}

/// A word that names no tool mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no tool mode: use auto, native or prompt")]
pub struct UnknownToolMode(String);

impl FromStr for ToolMode {
    type Err = UnknownToolMode;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.trim().to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "native" => Ok(Self::Native),
            "prompt" => Ok(Self::Prompt),
            _ => Err(UnknownToolMode(word.to_owned())),
        }
    }
}

impl ToolMode {
    /// The model with tools in this mode. The demo model reads no prompts, so its calls are always native.
    pub(super) fn apply(self, provider: ProviderKind, model: Arc<dyn ModelClient>) -> Arc<dyn ModelClient> {
        match (provider, self) {
            (ProviderKind::Demo, _) | (_, Self::Native) => model,
            (_, Self::Auto) => Arc::new(Auto::new(model)),
            (_, Self::Prompt) => Arc::new(Prompted::new(model)),
        }
    }
}
