//! The reasoning effort that the configuration sets for a model. Each wire format writes it into its own requests.

use std::str::FromStr;

/// A level of reasoning effort. Each model supports some of the levels; the provider's documentation lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningEffort {
    /// No reasoning.
    None,
    /// The least reasoning that the model can do.
    Minimal,
    /// Little reasoning.
    Low,
    /// A medium amount of reasoning.
    Medium,
    /// Much reasoning.
    High,
    /// More reasoning than `High`.
    XHigh,
    /// The most reasoning that the model can do.
    Max,
}

/// An error for a word that isn't a reasoning effort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a reasoning effort: use none, minimal, low, medium, high, xhigh or max")]
pub struct UnknownEffort(String);

impl ReasoningEffort {
    /// Returns the word that is sent in requests.
    pub fn as_str(self) -> &'static str {
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
