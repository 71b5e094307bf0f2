//! How hard a model is to think, as the configuration says it. How a provider is told is its own request's business.

use std::str::FromStr;

/// How hard a model is to think. Not every model knows every word; its provider says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// Little.
    Low,
    /// Somewhat.
    Medium,
    /// Hard.
    High,
    /// Harder.
    XHigh,
    /// As hard as it can.
    Max,
}

/// A word that names no effort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no effort: use none, minimal, low, medium, high, xhigh or max")]
pub struct UnknownEffort(String);

impl ReasoningEffort {
    /// The word on the wire.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl FromStr for ReasoningEffort {
    type Err = UnknownEffort;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];
        let word = word.trim();
        let found = known.into_iter().find(|effort| effort.as_str().eq_ignore_ascii_case(word));
        found.ok_or_else(|| UnknownEffort(word.to_owned()))
    }
}
