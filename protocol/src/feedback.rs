//! The user's feedback on an answer.

use serde::{Deserialize, Serialize};

/// Maximum length of the reason in [`Feedback`], in characters.
pub const MAX_FEEDBACK_CHARS: usize = 1000;

/// The user's feedback on an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Feedback {
    /// The rating.
    pub rating: Rating,
    /// The user's reason, without surrounding spaces; absent if none was given.
    #[cfg_attr(feature = "openapi", schema(max_length = 1000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The rating of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rating {
    /// A good answer.
    Up,
    /// A bad answer.
    Down,
}

impl Rating {
    /// Both ratings.
    pub const ALL: [Self; 2] = [Self::Up, Self::Down];

    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl From<String> for Rating {
    /// Converts every name except `up` to a bad rating.
    fn from(word: String) -> Self {
        if word == "up" { Self::Up } else { Self::Down }
    }
}
