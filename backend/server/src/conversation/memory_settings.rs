//! `[memory]`: when conversations are summed up, and by which model. How it is done is in `turn::memory`.

use std::fmt;

use crate::models::Window;

/// When conversations are summed up, and by which model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// The catalog's name of the model that sums up, which can; the one that answered where none is named.
    pub summary_model: Option<String>,
    /// How many tokens of a conversation may be outside of its summary before there is another one; a share of what the model
    /// reads where absent.
    pub after_tokens: Option<usize>,
    /// Characters that a summary may have; with 0 there is none.
    pub max_chars: usize,
}

/// Characters of a summary where the settings say nothing.
const DEFAULT_CHARS: usize = 300;

/// How much of what a model reads a conversation may take up before it is summed up, in per cent.
const DEFAULT_SHARE: usize = 70;

impl Default for MemorySettings {
    fn default() -> Self {
        Self { summary_model: None, after_tokens: None, max_chars: DEFAULT_CHARS }
    }
}

impl MemorySettings {
    /// No summaries at all.
    pub const OFF: Self = Self { summary_model: None, after_tokens: None, max_chars: 0 };

    /// How many tokens may be outside of the summary with this model.
    pub(super) fn after_tokens(&self, window: Window) -> usize {
        self.after_tokens.unwrap_or(window.context / 100 * DEFAULT_SHARE)
    }
}

impl fmt::Display for MemorySettings {
    /// What they mean, on a line.
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
