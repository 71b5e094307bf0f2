//! A message to go to: parses it from an address, and finds the words to mark in it. Pure: the session loads the
//! message, and `reveal` shows it.

use std::ops::Range;

use tallybook_protocol::{MessageId, SearchHit, ToolCallId};
use uuid::Uuid;

use crate::{format::lower, phrase::Phrase};

/// Maximum number of marks in one text. More would not help the user.
const MAX_MARKS: usize = 200;

/// A place to go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) conversation: Uuid,
    pub(crate) message: MessageId,
    /// The call of the message to open.
    pub(crate) call: Option<ToolCallId>,
    /// Words to mark, in lower case.
    pub(crate) words: Vec<String>,
    /// The phrase to mark in place of words, and which of its matches, counted from 0.
    pub(crate) phrase: Option<(Phrase, usize)>,
    /// For a reading position: the distance in pixels from the top of the messages to the beginning of the message.
    /// Nothing is marked there.
    pub(crate) offset: Option<i32>,
    /// `true` if the focus moves there, too.
    pub(crate) takes_focus: bool,
}

impl Goal {
    /// Parses the fragment of an address, such as `#message-12`. Returns `None` if it names no message.
    pub(crate) fn of_fragment(conversation: Uuid, fragment: &str) -> Option<Self> {
        let id = fragment.strip_prefix("#message-")?.parse().ok()?;
        Some(Self {
            conversation,
            message: MessageId(id),
            call: None,
            words: Vec::new(),
            phrase: None,
            offset: None,
            takes_focus: true,
        })
    }

    /// Returns the place that the user was reading when leaving a conversation.
    pub(crate) fn of_reading(conversation: Uuid, Reading { message, offset }: Reading) -> Self {
        let offset = Some(offset);
        Self { conversation, message, call: None, words: Vec::new(), phrase: None, offset, takes_focus: false }
    }

    /// Returns the place of a search result for `query`; `None` if the match is in a title.
    pub(crate) fn of_hit(hit: &SearchHit, query: &str) -> Option<Self> {
        Some(Self {
            conversation: hit.conversation_uuid,
            message: hit.message_id?,
            call: hit.tool_call_id,
            words: words_of(query),
            phrase: None,
            offset: None,
            takes_focus: true,
        })
    }
}

/// A reading position: the first visible message, and the distance in pixels from the top of the messages to its
/// beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) message: MessageId,
    pub(crate) offset: i32,
}

/// Returns the ID of a message's element.
pub(crate) fn element_id(message: MessageId) -> String {
    format!("message-{message}")
}

/// Returns the path and fragment of a message's permanent address.
pub(crate) fn permalink(conversation: Uuid, message: MessageId) -> String {
    format!("/c/{conversation}#{}", element_id(message))
}

/// Splits a search query into words as the server does: text in double quotes is one word.
fn words_of(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (number, piece) in query.split('"').enumerate() {
        if number % 2 == 1 {
            words.push(lower(piece.trim()));
        } else {
            words.extend(piece.split_whitespace().map(lower));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the ranges of a text that match any of the words, in UTF-16 units, as browsers count. They do not overlap.
pub(crate) fn marks(text: &str, words: &[String]) -> Vec<Range<u32>> {
    let mut marks = Vec::new();
    let (mut units, mut rest) = (0, text);
    while let Some(next) = rest.chars().next() {
        let found = words.iter().filter_map(|word| match_bytes(rest, word)).max().filter(|bytes| *bytes > 0);
        let (part, after) = rest.split_at(found.unwrap_or(next.len_utf8()));
        let length = part.chars().fold(0, |sum, c| sum + u32::from(c.len_utf16() == 2) + 1);
        if found.is_some() {
            marks.push(units..units + length);
            if marks.len() == MAX_MARKS {
                break;
            }
        }
        (units, rest) = (units + length, after);
    }
    marks
}

/// Returns the length in bytes of the word, which is in lower case, at the beginning of a text. All kinds of white
/// space are equal. Returns `None` if the text does not begin with the word.
fn match_bytes(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars().peekable();
    for (at, c) in text.char_indices() {
        if wanted.peek().is_none() {
            return Some(at);
        }
        let is_same = |wanted: char, c: char| wanted == c || (wanted.is_whitespace() && c.is_whitespace());
        if !c.to_lowercase().all(|c| wanted.next().is_some_and(|wanted| is_same(wanted, c))) {
            return None;
        }
    }
    wanted.peek().is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::MessageId;
    use uuid::Uuid;

    use super::{Goal, MAX_MARKS, marks, permalink, words_of};

    #[test]
    fn the_permalink_of_a_message_is_parsed() {
        let nil = Uuid::nil();
        let address = permalink(nil, MessageId(12));
        assert_eq!(address, format!("/c/{nil}#message-12"));
        let fragment = &address[address.find('#').unwrap()..];
        assert_eq!(Goal::of_fragment(nil, fragment).map(|goal| goal.message), Some(MessageId(12)));
        for fragment in ["", "#", "#main", "#message-", "#message-x", "#message-1x", "message-1"] {
            assert_eq!(Goal::of_fragment(nil, fragment), None, "{fragment}");
        }
    }

    #[test]
    fn words_are_marked_in_utf_16_units() {
        for (text, query, expected) in [
            ("Tax and TAX", "tax", &[(0, 3), (8, 11)][..]),
            ("🙂 tax", "tax", &[(3, 6)]),
            ("大阪城と大阪", "大阪", &[(0, 2), (4, 6)]),
            ("taxation", "tax taxation", &[(0, 8)]),
            ("a\n b", "\"a  b\"", &[(0, 4)]),
            ("İstanbul", "i̇stanbul", &[(0, 8)]),
            ("nothing", "else", &[]),
            ("nothing", "\"\"", &[]),
        ] {
            let marked: Vec<_> = marks(text, &words_of(query)).iter().map(|mark| (mark.start, mark.end)).collect();
            assert_eq!(marked, expected, "{text}: {query}");
        }
        assert_eq!(marks(&"a ".repeat(5000), &words_of("a")).len(), MAX_MARKS);
    }
}
