//! Collects the reasoning that a model writes before its answer. Reasoning is not part of the answer, but the next
//! request of the same turn contains it, in the form in which the server sent it. The forms are:
//! - `reasoning_details` from OpenRouter (<https://openrouter.ai/docs/use-cases/reasoning-tokens>); without them,
//!   Claude and Gemini refuse the results of their calls
//! - `reasoning_content` from DeepSeek and Kimi
//! - `reasoning` from newer vLLM and Ollama
//! - parts of the content from Mistral
//! - tags in the text from other servers
//! - a signature in the `extra_content` of a call from Gemini
//!   (<https://ai.google.dev/gemini-api/docs/thought-signatures>)
//!
//! Users see the text of any of these forms.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    error::ModelError,
    limits::MAX_BLOCKS,
    reader::{AnswerBudget, bad_stream},
};

/// The fields of a message that send reasoning back, as an opaque block stores them.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Fields<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning: Option<&'a RawValue>,
    /// Text with tags, which is sent back before the text of the answer.
    #[serde(borrow, default, skip_serializing)]
    pub(crate) tagged: Cow<'a, str>,
    /// Text that is sent back as a part of the content.
    #[serde(borrow, default, skip_serializing)]
    pub(crate) part: Cow<'a, str>,
    /// The `extra_content` of calls, by call ID.
    #[serde(borrow, default, skip_serializing)]
    pub(crate) extra_content: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

/// A form of reasoning that consists only of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    ReasoningContent,
    Reasoning,
    /// Between tags in the text.
    Tags,
    /// In parts of the content.
    Part,
}

impl Field {
    const ALL: [Self; 4] = [Self::ReasoningContent, Self::Reasoning, Self::Tags, Self::Part];

    /// Returns the key in an opaque block. For the first two forms, it is also the field name in a delta.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::Tags => "tagged",
            Self::Part => "part",
        }
    }
}

/// The reasoning of one answer, as received so far.
#[derive(Debug, Default)]
pub(crate) struct Reasoning {
    details: Vec<Map<String, Value>>,
    texts: [String; Field::ALL.len()],
    extra: Map<String, Value>,
}

impl Reasoning {
    /// Adds the `reasoning_details` of a chunk, and returns their readable text. Ignores a value that isn't a list of
    /// objects. Returns an error if there are too many pieces or if the answer becomes too long.
    pub(crate) fn add_details(&mut self, details: &RawValue, budget: &mut AnswerBudget) -> Result<String, ModelError> {
        let mut text = String::new();
        for detail in serde_json::from_str::<Vec<Map<String, Value>>>(details.get()).unwrap_or_default() {
            for (key, value) in &detail {
                budget.take_nested(key)?;
                budget.take_nested(&value.to_string())?;
            }
            text.push_str(readable(&detail));
            match self.details.iter().rposition(|begun| continues(begun, &detail)) {
                Some(at) => join(&mut self.details[at], detail),
                None if self.details.len() >= MAX_BLOCKS => {
                    return Err(bad_stream(format!("it has more than {MAX_BLOCKS} reasoning blocks")));
                }
                None => self.details.push(detail),
            }
        }
        Ok(text)
    }

    /// Adds text in this form.
    pub(crate) fn add(&mut self, field: Field, text: &str) {
        self.texts[field as usize].push_str(text);
    }

    /// Deletes all text in this form.
    pub(crate) fn forget(&mut self, field: Field) {
        self.texts[field as usize].clear();
    }

    /// Adds the `extra_content` of a call.
    pub(crate) fn add_extra(&mut self, call_id: &str, extra: Value) {
        self.extra.insert(call_id.to_owned(), extra);
    }

    /// Returns the opaque block with the reasoning, or `None` if it would be empty. If a server sends reasoning in
    /// several forms, it expects the first form, in the order of `Fields`. `tags` are the tags around text that had
    /// tags.
    pub(crate) fn into_block(self, tags: (&str, &str)) -> Option<String> {
        let mut block = Map::new();
        let text = Field::ALL.into_iter().zip(self.texts).find(|(_, text)| !text.is_empty());
        if !self.details.is_empty() {
            let details = self.details.into_iter().map(Value::Object).collect();
            block.insert("reasoning_details".to_owned(), Value::Array(details));
        } else if let Some((field, text)) = text {
            let (opening, closing) = tags;
            let text = if field == Field::Tags { format!("{opening}\n{}\n{closing}\n\n", text.trim()) } else { text };
            block.insert(field.name().to_owned(), Value::String(text));
        }
        if !self.extra.is_empty() {
            block.insert("extra_content".to_owned(), Value::Object(self.extra));
        }
        (!block.is_empty()).then(|| Value::Object(block).to_string())
    }
}

/// Returns `true` if a piece continues one that was received before: text with the same index, up to its signature.
/// Encrypted pieces are sent complete.
fn continues(begun: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let is_text = matches!(piece.get("type").and_then(Value::as_str), Some("reasoning.text" | "reasoning.summary"));
    let same = |key: &str| begun.get(key) == piece.get(key);
    let compatible = |key: &str| is_missing(begun.get(key)) || is_missing(piece.get(key)) || same(key);
    is_text && same("type") && same("index") && compatible("id") && is_missing(begun.get("signature"))
}

/// Returns the text of a piece of reasoning; empty if it is encrypted.
fn readable(detail: &Map<String, Value>) -> &str {
    ["text", "summary"].iter().find_map(|key| detail.get(*key).and_then(Value::as_str)).unwrap_or_default()
}

fn is_missing(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

fn join(begun: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (key, value) in piece {
        match (begun.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more)) if key == "text" || key == "summary" => {
                text.push_str(&more);
            }
            (None | Some(Value::Null), value) => {
                begun.insert(key, value);
            }
            // Each piece repeats the index, the type and the format.
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};

    use super::{AnswerBudget, Reasoning};

    fn block(chunks: &[Value]) -> Value {
        let mut reasoning = Reasoning::default();
        for chunk in chunks {
            reasoning.add_details(&to_raw_value(chunk).unwrap(), &mut AnswerBudget::default()).unwrap();
        }
        reasoning.into_block(("<think>", "</think>")).map_or(Value::Null, |block| serde_json::from_str(&block).unwrap())
    }

    #[test]
    fn text_pieces_are_joined_with_their_signature() {
        let piece = |text: &str| json!({"type": "reasoning.text", "text": text, "signature": null, "index": 0});
        let signature = json!({"type": "reasoning.text", "signature": "c2ln", "format": "f", "index": 0});
        let next = json!({"type": "reasoning.text", "text": "And", "index": 1});
        let whole = json!({"type": "reasoning.text", "text": "Let me", "signature": "c2ln", "format": "f", "index": 0});
        let chunks = [json!([piece("Let")]), json!([piece(" me"), signature]), json!([next])];
        assert_eq!(block(&chunks), json!({"reasoning_details": [whole, next]}));
    }

    #[test]
    fn encrypted_or_closed_reasoning_stays_unchanged() {
        let encrypted = |id: &str| json!({"type": "reasoning.encrypted", "data": "eHl6", "id": id, "index": 0});
        let signed = json!({"type": "reasoning.text", "text": "a", "signature": "c2ln", "index": 0});
        let next = json!({"type": "reasoning.text", "text": "b", "index": 0});
        let pieces = json!([signed, next, encrypted("call_a"), encrypted("call_b")]);
        assert_eq!(block(std::slice::from_ref(&pieces)), json!({"reasoning_details": pieces}));
    }

    #[test]
    fn malformed_details_are_left_out() {
        assert_eq!(block(&[json!(7), json!(["x"]), json!(null), json!([])]), Value::Null);
    }

    #[test]
    fn the_details_are_bounded() {
        let mut budget = AnswerBudget::default();
        let piece = to_raw_value(&json!([{"type": "reasoning.text", "text": "x".repeat(1 << 20)}])).unwrap();
        let mut reasoning = Reasoning::default();
        assert!((0..9).any(|_| reasoning.add_details(&piece, &mut budget).is_err()));
    }
}
