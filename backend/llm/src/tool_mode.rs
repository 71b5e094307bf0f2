//! The tool mode: how tools are presented to a model, as configured.

use std::str::FromStr;

/// The way in which tools are presented to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolMode {
    /// Natively, until the model's server reports that it does not support tools; then in the prompt.
    #[default]
    Auto,
    /// With the provider's own tool calling, or not at all.
    Native,
    /// In the prompt, even if the provider supports tool calling.
    Prompt,
}

/// An error for a word that isn't a tool mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a tool mode: use auto, native or prompt")]
pub struct UnknownToolMode(String);

impl ToolMode {
    /// Returns the name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Prompt => "prompt",
        }
    }
}

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
