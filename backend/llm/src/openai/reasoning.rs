//! What a model thought before it answered. It is no part of the answer, but it goes back with the next request of the
//! same turn where a server gave it in a form that it wants back: OpenRouter's `reasoning_details`
//! (<https://openrouter.ai/docs/use-cases/reasoning-tokens>), without which Claude and Gemini refuse the results of
//! their calls, and `reasoning_content`, which DeepSeek and Kimi ask for, and the `extra_content` of a
//! call, in which Gemini signs what it thought (<https://ai.google.dev/gemini-api/docs/thought-signatures>). `reasoning`, which others send, is for people
//! to read; servers refuse it in a request. What people are shown of it is text of any of these.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use crate::{answer_budget::AnswerBudget, error::ModelError, limits::MAX_BLOCKS, reader::bad_stream};

/// The fields of a message in which reasoning goes back, as they stand in an opaque block.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Fields<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<&'a RawValue>,
    /// What goes back with calls, by their ids.
    #[serde(borrow, default, skip_serializing)]
    pub(super) extra_content: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

/// The reasoning of one answer, as the stream has built it up.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    details: Vec<Map<String, Value>>,
    content: String,
    extra: Map<String, Value>,
}

impl Reasoning {
    /// Takes a chunk's `reasoning_details`, and gives what people can read of them. What is no list of objects means
    /// nothing to us.
    pub(super) fn add_details(&mut self, details: &RawValue, budget: &mut AnswerBudget) -> Result<String, ModelError> {
        let mut words = String::new();
        for detail in serde_json::from_str::<Vec<Map<String, Value>>>(details.get()).unwrap_or_default() {
            for (key, value) in &detail {
                budget.take_nested(key)?;
                budget.take_nested(&value.to_string())?;
            }
            words.push_str(readable(&detail));
            match self.details.iter().rposition(|begun| continues(begun, &detail)) {
                Some(at) => join(&mut self.details[at], detail),
                None if self.details.len() >= MAX_BLOCKS => {
                    return Err(bad_stream(format!("it has more than {MAX_BLOCKS} pieces of reasoning")));
                }
                None => self.details.push(detail),
            }
        }
        Ok(words)
    }

    /// Takes a chunk's `reasoning_content`, and gives it as text.
    pub(super) fn add_content(&mut self, content: &RawValue, budget: &mut AnswerBudget) -> Result<String, ModelError> {
        let text: String = serde_json::from_str(content.get()).unwrap_or_default();
        budget.take_nested(&text)?;
        self.content.push_str(&text);
        Ok(text)
    }

    /// Takes what goes back with a call.
    pub(super) fn add_extra(&mut self, call_id: &str, extra: Value) {
        self.extra.insert(call_id.to_owned(), extra);
    }

    /// The opaque block that holds it, if there is any. A server that sends it in both forms wants the first.
    pub(super) fn into_block(self) -> Option<String> {
        let mut block = Map::new();
        if !self.details.is_empty() {
            block.insert("reasoning_details".to_owned(), self.details.into());
        } else if !self.content.is_empty() {
            block.insert("reasoning_content".to_owned(), Value::String(self.content));
        }
        if !self.extra.is_empty() {
            block.insert("extra_content".to_owned(), Value::Object(self.extra));
        }
        (!block.is_empty()).then(|| Value::Object(block).to_string())
    }
}

/// Whether a piece goes on with one that has begun: text under the same index, up to its signature. Encrypted pieces
/// come whole.
fn continues(begun: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let is_text = matches!(piece.get("type").and_then(Value::as_str), Some("reasoning.text" | "reasoning.summary"));
    let same = |key: &str| begun.get(key) == piece.get(key);
    let compatible = |key: &str| is_missing(begun.get(key)) || is_missing(piece.get(key)) || same(key);
    is_text && same("type") && same("index") && compatible("id") && is_missing(begun.get("signature"))
}

/// The words of a piece of reasoning; none where it is encrypted.
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
            // The index, the type and the format come with each piece.
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
        reasoning.into_block().map_or(Value::Null, |block| serde_json::from_str(&block).unwrap())
    }

    #[test]
    fn pieces_of_a_text_are_joined_and_take_their_signature() {
        let piece = |text: &str| json!({"type": "reasoning.text", "text": text, "signature": null, "index": 0});
        let signature = json!({"type": "reasoning.text", "signature": "c2ln", "format": "f", "index": 0});
        let next = json!({"type": "reasoning.text", "text": "And", "index": 1});
        let whole = json!({"type": "reasoning.text", "text": "Let me", "signature": "c2ln", "format": "f", "index": 0});
        let chunks = [json!([piece("Let")]), json!([piece(" me"), signature]), json!([next])];
        assert_eq!(block(&chunks), json!({"reasoning_details": [whole, next]}));
    }

    #[test]
    fn what_is_encrypted_or_closed_stays_as_it_came() {
        let encrypted = |id: &str| json!({"type": "reasoning.encrypted", "data": "eHl6", "id": id, "index": 0});
        let signed = json!({"type": "reasoning.text", "text": "a", "signature": "c2ln", "index": 0});
        let next = json!({"type": "reasoning.text", "text": "b", "index": 0});
        let pieces = json!([signed, next, encrypted("call_a"), encrypted("call_b")]);
        assert_eq!(block(std::slice::from_ref(&pieces)), json!({"reasoning_details": pieces}));
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        assert_eq!(block(&[json!(7), json!(["x"]), json!(null), json!([])]), Value::Null);
    }

    #[test]
    fn it_is_bounded() {
        let mut budget = AnswerBudget::default();
        let piece = to_raw_value(&json!([{"type": "reasoning.text", "text": "x".repeat(1 << 20)}])).unwrap();
        let mut reasoning = Reasoning::default();
        assert!((0..9).any(|_| reasoning.add_details(&piece, &mut budget).is_err()));
    }
}
