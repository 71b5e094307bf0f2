//! How a model is told of tools, as the configuration says it.

use std::str::FromStr;

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
