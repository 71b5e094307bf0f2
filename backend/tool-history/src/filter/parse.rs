//! Parses a filter that a user typed.

use std::str::FromStr;

use tallybook_protocol::{Rating, ToolCallStatus};

use super::{
    super::limits::{MAX_FILTER_CHARS, MAX_WORD_CHARS, MAX_WORDS},
    BUILT_IN, Field, Filter, Moment, Slow,
};

/// A syntax error in a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The filter is too long, or it has too many or too long words.
    #[error(
        "The filter is too long. Use at most {MAX_WORDS} words of {MAX_WORD_CHARS} characters each, and \
         {MAX_FILTER_CHARS} characters in total."
    )]
    TooMuch,
    /// A quotation mark is not closed.
    #[error("A quotation mark is not closed. Close it, or write \\\" to search for a quotation mark.")]
    OpenQuote,
    /// A closing quotation mark is not followed by a space.
    #[error("Add a space after the closing quotation mark.")]
    AfterQuote,
    /// The name before a colon is not a field.
    #[error("“{0}:” isn't a filter. To search for text that contains a colon, put it in quotes.")]
    UnknownField(String),
    /// The value after the colon is empty.
    #[error("“{0}:” has no value.")]
    Empty(&'static str),
    /// A field occurs twice.
    #[error("“{0}:” occurs twice. Use each filter once.")]
    Twice(&'static str),
    /// The status does not exist.
    #[error("“{0}” isn't a status. Use one of: {all}.", all = statuses())]
    Status(String),
    /// The rating does not exist.
    #[error("“{0}” isn't a rating. Use one of: up, down.")]
    Rating(String),
    /// The value is not a conversation ID.
    #[error("“{0}” isn't a conversation ID. Copy the ID from the conversation's URL.")]
    Conversation(String),
    /// The time cannot be parsed.
    #[error("“{0}” isn't a valid time. Examples: 2026-11-01, 2026-11-01T12:30 (UTC), 7d, 24h, 30m.")]
    Time(String),
    /// The duration cannot be parsed.
    #[error("“{0}” isn't a valid duration. Examples: >5s, <200ms, >1.5m, >1h.")]
    Slow(String),
}

/// Returns all statuses, comma-separated, for messages.
pub fn statuses() -> String {
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

/// Returns the field that the text starts with, and the text after its colon. Text before a colon that is not a name
/// belongs to a word: `12:30`.
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

/// Returns the value up to the next space, or up to its closing quote, and the text after the value.
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
            // A backslash before any other character is literal, as in C:\temp.
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
            Field::Rating => {
                let rating = Rating::ALL.into_iter().find(|rating| rating.as_str().eq_ignore_ascii_case(value));
                self.rating = Some(rating.ok_or_else(|| FilterError::Rating(value.to_owned()))?);
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
