//! What of the book is asked for, and how it is written: `tool:add status:error since:7d slow:>5s "not found"`. Reading it
//! is in `parse`; written again it is always the same text, which stands in addresses. What the database makes of it is in
//! `store`.

mod moment;
mod parse;
mod slow;
#[cfg(test)]
mod tests;

use std::fmt;

use tallybook_protocol::ToolCallStatus;
use uuid::Uuid;

pub(crate) use moment::Moment;
pub(crate) use parse::{FilterError, statuses};
pub(crate) use slow::Slow;

/// What `server:` says of the tools that are no server's.
pub(crate) const BUILT_IN: &str = "built-in";

/// Which calls are asked for: those of which all that is said here is true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// The tool's whole name.
    pub(crate) tool: Option<String>,
    /// The tool server's name; empty for the built-in tools.
    pub(crate) server: Option<String>,
    pub(crate) status: Option<ToolCallStatus>,
    /// The name of the person whose conversation it is.
    pub(crate) user: Option<String>,
    pub(crate) conversation: Option<Uuid>,
    /// The catalog's name of the model that asked for the call.
    pub(crate) model: Option<String>,
    /// The earliest time at which it began.
    pub(crate) since: Option<Moment>,
    /// The end of the times at which it began.
    pub(crate) until: Option<Moment>,
    pub(crate) slow: Option<Slow>,
    /// Each stands somewhere in its input, its output or its error.
    pub(crate) words: Vec<String>,
}

/// What can be asked for besides words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Tool,
    Server,
    Status,
    User,
    Conversation,
    Model,
    Since,
    Until,
    Slow,
}

impl Field {
    /// In the order in which they are written.
    pub(crate) const ALL: [Self; 9] = [
        Self::Tool,
        Self::Server,
        Self::Status,
        Self::User,
        Self::Conversation,
        Self::Model,
        Self::Since,
        Self::Until,
        Self::Slow,
    ];

    /// What stands before the colon.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Server => "server",
            Self::Status => "status",
            Self::User => "user",
            Self::Conversation => "conversation",
            Self::Model => "model",
            Self::Since => "since",
            Self::Until => "until",
            Self::Slow => "slow",
        }
    }
}

impl Filter {
    /// Whether texts are searched, which is looking into what people and models wrote.
    pub(crate) fn is_search(&self) -> bool {
        !self.words.is_empty()
    }

    /// What it asks for, thing by thing and as it is written, each with the filter that asks for all the others.
    pub(crate) fn parts(&self) -> Vec<(String, Self)> {
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
            Field::Since => rest.since = None,
            Field::Until => rest.until = None,
            Field::Slow => rest.slow = None,
        }
        rest
    }

    /// What it says of a field, as it is written.
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

/// A text as it is typed: in quotes where it would otherwise be read as something else, which a word with a colon would be.
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
