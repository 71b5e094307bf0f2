//! Reads the content of a delta: a string from most servers, and a list of parts if a model writes several kinds
//! (Mistral).

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::object::{self, Object};

/// Maximum depth of nested parts that are searched for text.
const MAX_DEPTH: u8 = 4;

/// A piece of content. Its text may be empty.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(Cow<'a, str>),
    Refusal(Cow<'a, str>),
    Reasoning(Cow<'a, str>),
}

/// Reads content. Skips parts without text.
pub(crate) fn pieces(content: &RawValue) -> Vec<Piece<'_>> {
    if let Some(text) = text(content) {
        return vec![Piece::Text(text)];
    }
    match object::elements(content) {
        Some(parts) => parts.into_iter().filter_map(piece).collect(),
        None => piece(content).into_iter().collect(),
    }
}

/// Reads text that may be split into parts.
pub(crate) fn joined(value: &RawValue) -> String {
    let mut text = String::new();
    join(value, MAX_DEPTH, &mut text);
    text
}

fn piece(part: &RawValue) -> Option<Piece<'_>> {
    if let Some(text) = text(part) {
        return Some(Piece::Text(text));
    }
    let object = Object::parse(part.get())?;
    let content = Cow::Owned(joined(part));
    Some(match object.string("type").as_deref() {
        Some("thinking" | "reasoning" | "reasoning_text") => Piece::Reasoning(content),
        Some("refusal") => Piece::Refusal(content),
        _ => Piece::Text(content),
    })
    .filter(|piece| !piece.text().is_empty())
}

/// Returns a string, or the digits of a number.
fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    if object::is_number(value) { Some(Cow::Borrowed(value.get())) } else { object::string(value) }
}

fn join(value: &RawValue, depth: u8, content: &mut String) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(text) = text(value) {
        content.push_str(&text);
    } else if let Some(parts) = object::elements(value) {
        for part in parts {
            join(part, depth, content);
        }
    } else if let Some(object) = Object::parse(value.get()) {
        let keys = ["text", "thinking", "reasoning", "refusal", "content", "value"];
        if let Some(inner) = keys.iter().find_map(|key| object.get(key)) {
            join(inner, depth, content);
        }
    }
}

impl Piece<'_> {
    fn text(&self) -> &str {
        let (Self::Text(text) | Self::Refusal(text) | Self::Reasoning(text)) = self;
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::{Piece, pieces};

    #[test]
    fn each_part_is_read_as_its_kind() {
        let content = serde_json::json!([
            {"type": "thinking", "thinking": [{"type": "text", "text": "Let me "}, {"type": "text", "text": null}, "see."]},
            {"type": "thinking", "thinking": "Well."},
            {"type": "text", "text": null},
            {"type": "text", "text": "One "},
            {"text": {"value": "and "}},
            "two.",
            {"type": "refusal", "refusal": "No."},
            {"type": "image", "url": "x"},
            null, false, 3, [], {"text": []},
        ]);
        let content = to_raw_value(&content).unwrap();
        let expected = [
            Piece::Reasoning("Let me see.".into()),
            Piece::Reasoning("Well.".into()),
            Piece::Text("One ".into()),
            Piece::Text("and ".into()),
            Piece::Text("two.".into()),
            Piece::Refusal("No.".into()),
            Piece::Text("3".into()),
        ];
        assert_eq!(pieces(&content), expected);
        for nothing in ["null", "true", "{}", "[]", "[[[[[[[\"deep\"]]]]]]]", r#"{"a":1}"#] {
            let nothing: Box<serde_json::value::RawValue> = serde_json::from_str(nothing).unwrap();
            assert!(pieces(&nothing).is_empty(), "{nothing}");
        }
    }
}
