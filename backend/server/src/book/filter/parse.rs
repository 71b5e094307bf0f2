//! Reading a filter as somebody typed it.

use std::str::FromStr;

use tallybook_protocol::ToolCallStatus;

use super::{
    super::limits::{MAX_FILTER_CHARS, MAX_WORD_CHARS, MAX_WORDS},
    BUILT_IN, Field, Filter, Moment, Slow,
};

/// What is wrong with a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FilterError {
    /// It is too long, or has too many words or too long ones.
    #[error(
        "This is too much to look for. Use at most {MAX_WORDS} words of {MAX_WORD_CHARS} characters, and \
         {MAX_FILTER_CHARS} characters in all."
    )]
    TooMuch,
    /// A quotation mark that nothing closes.
    #[error("A quotation mark is not closed. Close it, or write \\\" for one that is looked for.")]
    OpenQuote,
    /// Something follows right upon what is in quotes.
    #[error("Leave a space after what is in quotes.")]
    AfterQuote,
    /// What stands before a colon is no filter.
    #[error("There is no filter “{0}:”. To look for a text with a colon, put it in quotes.")]
    UnknownField(String),
    /// Nothing stands behind the colon.
    #[error("Nothing stands behind “{0}:”.")]
    Empty(&'static str),
    /// A filter that is there already.
    #[error("“{0}:” stands there twice. Each may be named once.")]
    Twice(&'static str),
    /// A status that there is not.
    #[error("There is no status “{0}”. There are: {all}.", all = statuses())]
    Status(String),
    /// A conversation that is named by something else than its id.
    #[error("“{0}” is no conversation's id. It stands in the conversation's address.")]
    Conversation(String),
    /// A time that cannot be read.
    #[error("“{0}” is no time. Write 2026-11-01, 2026-11-01T12:30 (UTC), 7d, 24h or 30m.")]
    Time(String),
    /// A duration that cannot be read.
    #[error("“{0}” is no duration. Write >5s, <200ms, >1.5m or >1h.")]
    Slow(String),
}

/// The words for where a call stands, to be read.
pub(crate) fn statuses() -> String {
    ToolCallStatus::ALL.map(ToolCallStatus::as_str).join(", ")
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        if text.chars().count() > MAX_FILTER_CHARS {
            return Err(FilterError::TooMuch);
        }
        let mut filter = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (field, behind) = field_before(rest)?;
            let (value, after) = value(behind)?;
            match field {
                Some(field) => filter.set(field, &value)?,
                None => filter.words.push(value),
            }
            rest = after.trim_start();
        }
        filter.words.retain(|word| !word.is_empty());
        let is_long = |word: &String| word.chars().count() > MAX_WORD_CHARS;
        if filter.words.len() > MAX_WORDS || filter.words.iter().any(is_long) {
            return Err(FilterError::TooMuch);
        }
        Ok(filter)
    }
}

/// The field that a text begins with, and what follows its colon. What is before a colon and no name is a word of its own:
/// `12:30`.
fn field_before(text: &str) -> Result<(Option<Field>, &str), FilterError> {
    let token = text.split(char::is_whitespace).next().unwrap_or_default();
    let Some((name, _)) = token.split_once(':') else { return Ok((None, text)) };
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Ok((None, text));
    }
    match Field::ALL.into_iter().find(|field| field.word().eq_ignore_ascii_case(name)) {
        Some(field) => Ok((Some(field), &text[name.len() + 1..])),
        None => Err(FilterError::UnknownField(name.to_owned())),
    }
}

/// A value up to the next space, or to the end of its quotes, and what follows.
fn value(text: &str) -> Result<(String, &str), FilterError> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let (mut value, mut characters) = (String::new(), quoted.char_indices());
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let after = &quoted[at + 1..];
                let is_apart = after.is_empty() || after.starts_with(char::is_whitespace);
                return if is_apart { Ok((value, after)) } else { Err(FilterError::AfterQuote) };
            }
            // Before anything else it is what it is, as in C:\temp.
            '\\' if quoted[at + 1..].starts_with(['"', '\\']) => value.extend(characters.next().map(|(_, next)| next)),
            character => value.push(character),
        }
    }
    Err(FilterError::OpenQuote)
}

impl Filter {
    fn set(&mut self, field: Field, value: &str) -> Result<(), FilterError> {
        if value.is_empty() {
            return Err(FilterError::Empty(field.word()));
        }
        if self.value(field).is_some() {
            return Err(FilterError::Twice(field.word()));
        }
        let text = || Some(value.to_owned());
        match field {
            Field::Tool => self.tool = text(),
            Field::Server => self.server = Some(if value == BUILT_IN { "" } else { value }.to_owned()),
            Field::User => self.user = text(),
            Field::Model => self.model = text(),
            Field::Status => {
                let status = ToolCallStatus::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(value));
                self.status = Some(status.ok_or_else(|| FilterError::Status(value.to_owned()))?);
            }
            Field::Conversation => {
                let uuid = value.parse().map_err(|_| FilterError::Conversation(value.to_owned()))?;
                self.conversation = Some(uuid);
            }
            Field::Since => self.since = Some(moment(value)?),
            Field::Until => self.until = Some(moment(value)?),
            Field::Slow => self.slow = Some(Slow::parse(value).ok_or_else(|| FilterError::Slow(value.to_owned()))?),
        }
        Ok(())
    }
}

fn moment(value: &str) -> Result<Moment, FilterError> {
    Moment::parse(value).ok_or_else(|| FilterError::Time(value.to_owned()))
}
