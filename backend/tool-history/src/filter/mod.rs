//! Filters of the tool history and their text form, such as `tool:add status:error since:7d slow:>5s "not found"`.
//! `parse` parses the text. The `Display` output of a filter is its canonical text, which URLs contain. `store` turns a
//! filter into SQL.

mod moment;
mod parse;
mod slow;
#[cfg(test)]
mod tests;

use std::fmt;

use tallybook_protocol::{Rating, ToolCallStatus};
use uuid::Uuid;

pub(crate) use moment::Moment;
pub use parse::{FilterError, statuses};
pub(crate) use slow::Slow;

/// Value of `server:` for the built-in tools.
pub const BUILT_IN: &str = "built-in";

/// A filter for tool calls. A call matches if it matches every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Full name of the tool.
    pub tool: Option<String>,
    /// Name of the tool server; empty for the built-in tools.
    pub server: Option<String>,
    /// Status of the call.
    pub status: Option<ToolCallStatus>,
    /// Name of the user who owns the conversation.
    pub user: Option<String>,
    /// Conversation of the call.
    pub conversation: Option<Uuid>,
    /// Catalog name of the model that requested the call.
    pub model: Option<String>,
    /// The user's rating of the answer that the call belongs to.
    pub rating: Option<Rating>,
    /// Earliest start time.
    pub since: Option<Moment>,
    /// Latest start time (exclusive; a day is included to its end).
    pub until: Option<Moment>,
    /// Duration of the call.
    pub slow: Option<Slow>,
    /// Texts to search for. Each must occur in the input, the output, or the error.
    pub words: Vec<String>,
}

/// A named field of a filter, that is, any part except the search words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Tool,
    Server,
    Status,
    User,
    Conversation,
    Model,
    Rating,
    Since,
    Until,
    Slow,
}

impl Field {
    /// All fields, in the order in which they are written.
    pub(crate) const ALL: [Self; 10] = [
        Self::Tool,
        Self::Server,
        Self::Status,
        Self::User,
        Self::Conversation,
        Self::Model,
        Self::Rating,
        Self::Since,
        Self::Until,
        Self::Slow,
    ];

    /// Returns the name before the colon.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Server => "server",
            Self::Status => "status",
            Self::User => "user",
            Self::Conversation => "conversation",
            Self::Model => "model",
            Self::Rating => "rating",
            Self::Since => "since",
            Self::Until => "until",
            Self::Slow => "slow",
        }
    }
}

impl Filter {
    /// Returns `true` if the filter searches texts, that is, what users and models wrote.
    pub fn is_search(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns each part of the filter as text, together with the filter without that part.
    pub fn parts(&self) -> Vec<(String, Self)> {
        let fields = Field::ALL.into_iter().filter_map(|field| {
            let written = format!("{}:{}", field.word(), Quoted(&self.value(field)?, false));
            Some((written, self.without(field)))
        });
        let words = self.words.iter().enumerate().map(|(place, word)| {
            let mut rest = self.clone();
            rest.words.remove(place);
            (Quoted(word, true).to_string(), rest)
        });
        fields.chain(words).collect()
    }

    fn without(&self, field: Field) -> Self {
        let mut rest = self.clone();
        match field {
            Field::Tool => rest.tool = None,
            Field::Server => rest.server = None,
            Field::Status => rest.status = None,
            Field::User => rest.user = None,
            Field::Conversation => rest.conversation = None,
            Field::Model => rest.model = None,
            Field::Rating => rest.rating = None,
            Field::Since => rest.since = None,
            Field::Until => rest.until = None,
            Field::Slow => rest.slow = None,
        }
        rest
    }

    /// Returns the value of a field in its text form, without quotes; `None` if the field is not set.
    fn value(&self, field: Field) -> Option<String> {
        match field {
            Field::Tool => self.tool.clone(),
            Field::Server => {
                self.server.as_ref().map(|name| if name.is_empty() { BUILT_IN.to_owned() } else { name.clone() })
            }
            Field::Status => self.status.map(|status| status.as_str().to_owned()),
            Field::User => self.user.clone(),
            Field::Conversation => self.conversation.map(|uuid| uuid.to_string()),
            Field::Model => self.model.clone(),
            Field::Rating => self.rating.map(|rating| rating.as_str().to_owned()),
            Field::Since => self.since.map(|moment| moment.to_string()),
            Field::Until => self.until.map(|moment| moment.to_string()),
            Field::Slow => self.slow.map(|slow| slow.to_string()),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.parts().into_iter().map(|(written, _)| written).collect();
        f.write_str(&parts.join(" "))
    }
}

/// A value (`false`) or a search word (`true`) in its text form. It is quoted if it would otherwise be parsed
/// differently, for example a search word with a colon.
struct Quoted<'a>(&'a str, bool);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text, is_word) = *self;
        let ends_early = |c: char| c.is_whitespace() || (is_word && c == ':');
        if !text.is_empty() && !text.starts_with('"') && !text.contains(ends_early) {
            return f.write_str(text);
        }
        f.write_str("\"")?;
        for character in text.chars() {
            if matches!(character, '"' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{character}")?;
        }
        f.write_str("\"")
    }
}
