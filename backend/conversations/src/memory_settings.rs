//! Settings of conversation summaries (`[memory]`): when a conversation is summarized, and by which model.
//! `turn::context::summary` writes the summaries.

use std::fmt;

use crate::models::Window;

/// Settings of conversation summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// Catalog name of the model that writes summaries, which can do so; `None` means the model that answered.
    pub summary_model: Option<String>,
    /// Number of tokens outside the summary above which a new summary is written; `None` means a share of the model's context
    /// window.
    pub after_tokens: Option<usize>,
    /// Maximum length of a summary, in characters; 0 disables summaries.
    pub max_chars: usize,
}

/// Default length of a summary, in characters.
const DEFAULT_CHARS: usize = 300;

/// Default share of the context window that a conversation may take up before it is summarized, in percent.
const DEFAULT_SHARE: usize = 70;

impl Default for MemorySettings {
    fn default() -> Self {
        Self { summary_model: None, after_tokens: None, max_chars: DEFAULT_CHARS }
    }
}

impl MemorySettings {
    /// Settings without summaries.
    pub const OFF: Self = Self { summary_model: None, after_tokens: None, max_chars: 0 };

    /// Returns the number of tokens that may be outside the summary with this model.
    pub(crate) fn after_tokens(&self, window: Window) -> usize {
        self.after_tokens.unwrap_or(window.context / 100 * DEFAULT_SHARE)
    }
}

impl fmt::Display for MemorySettings {
    /// Writes what the settings mean, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.max_chars == 0 {
            return f.write_str("conversations are not summed up");
        }
        let model = self.summary_model.as_deref().unwrap_or("the model that answered");
        match self.after_tokens {
            Some(0) => write!(f, "{model} sums up after every answer")?,
            Some(tokens) => write!(f, "{model} sums up what is longer than {tokens} tokens")?,
            None => write!(f, "{model} sums up what is longer than {DEFAULT_SHARE} % of what a model reads")?,
        }
        write!(f, ", in {} characters", self.max_chars)
    }
}
