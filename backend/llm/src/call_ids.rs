//! Assigns the IDs of tool calls in a request. IDs that the receiving model (`reader`) wrote stay unchanged, because
//! some models need them verbatim (Kimi). IDs of other models are replaced with IDs in a form that every provider
//! accepts, unless they already have it.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};
use tallybook_protocol::ModelInfo;

use super::{
    limits::CALL_ID_CHARS,
    provider::ProviderKind,
    request::{AssistantBlock, ModelMessage, ToolCallRequest},
};

const LETTERS_AND_DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The unique IDs that are assigned to the tool calls of one request.
pub(crate) struct CallIds<'a> {
    reader: &'a ModelInfo,
    /// The IDs that the reader wrote. No other call gets one of them.
    own: HashSet<&'a str>,
    taken: HashSet<String>,
}

impl<'a> CallIds<'a> {
    /// Prepares the IDs for a request to the model `reader` with these messages.
    pub(crate) fn new(reader: &'a ModelInfo, messages: &'a [ModelMessage]) -> Self {
        let blocks = messages.iter().filter_map(|message| match message {
            ModelMessage::Assistant(blocks) => Some(blocks),
            ModelMessage::User(_) | ModelMessage::ToolResults(_) => None,
        });
        let calls = blocks.flatten().filter_map(AssistantBlock::tool_call);
        let own = calls.filter(|call| is_by(reader, call)).map(|call| call.id.as_str()).collect();
        Self { reader, own, taken: HashSet::new() }
    }

    /// Returns the ID for a call: the ID that the reader wrote, unless an earlier call has it. Otherwise the ID depends
    /// only on the call's own ID, plus a number if that ID is taken. It stays the same from request to request, so that
    /// providers' prompt caches stay valid.
    pub(crate) fn next(&mut self, call: &ToolCallRequest) -> String {
        if is_by(self.reader, call) && self.taken.insert(call.id.clone()) {
            return call.id.clone();
        }
        let mut candidate = if is_accepted_by_all(&call.id) { call.id.clone() } else { short_id(&call.id, 0) };
        let mut number = 0;
        while self.own.contains(candidate.as_str()) || !self.taken.insert(candidate.clone()) {
            number += 1;
            candidate = short_id(&call.id, number);
        }
        candidate
    }
}

/// Returns `true` if the reader wrote the call's ID and accepts it back.
fn is_by(reader: &ModelInfo, call: &ToolCallRequest) -> bool {
    !call.id.is_empty() && call.written_by.as_ref() == Some(reader) && accepts_own_id(reader, &call.id)
}

/// Returns `true` if the reader accepts an ID that it wrote. Anthropic's format allows only these characters
/// (`^[a-zA-Z0-9_-]+$`), even if a server of that format wrote others.
fn accepts_own_id(reader: &ModelInfo, id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    reader.provider != ProviderKind::Anthropic.as_str() || id.bytes().all(is_plain)
}

fn is_accepted_by_all(id: &str) -> bool {
    id.len() == CALL_ID_CHARS && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns nine letters and digits that are derived from the ID and a number.
fn short_id(id: &str, number: u64) -> String {
    let hash = Sha256::new().chain_update(number.to_be_bytes()).chain_update(id).finalize();
    let letter = |byte: &u8| char::from(LETTERS_AND_DIGITS[usize::from(*byte) % LETTERS_AND_DIGITS.len()]);
    hash.iter().take(CALL_ID_CHARS).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::{AssistantBlock, CallIds, ModelInfo, ModelMessage, ToolCallRequest};

    fn info(model: &str) -> ModelInfo {
        ModelInfo { provider: "openai".into(), model: model.into() }
    }

    fn given(reader: &str, calls: &[(&str, Option<&str>)]) -> Vec<String> {
        let call = |(id, writer): &(&str, Option<&str>)| ToolCallRequest {
            id: (*id).into(),
            name: "add".into(),
            input_text: "{}".into(),
            written_by: writer.map(info),
        };
        let calls: Vec<ToolCallRequest> = calls.iter().map(call).collect();
        let messages = [ModelMessage::Assistant(calls.iter().cloned().map(AssistantBlock::ToolCall).collect())];
        let reader = info(reader);
        let mut ids = CallIds::new(&reader, &messages);
        calls.iter().map(|call| ids.next(call)).collect()
    }

    #[test]
    fn a_model_gets_its_own_ids_back_unchanged() {
        let odd = "x".repeat(100);
        let own = ["functions.add:0", "a b", &odd, "call_1", "日本"];
        assert_eq!(given("kimi", &own.map(|id| (id, Some("kimi")))), own);
    }

    #[test]
    fn other_models_get_nine_letters_or_digits() {
        let calls =
            [("functions.add:0", Some("kimi")), ("call_1", None), ("", None), ("functions.add:0", Some("kimi"))];
        let ids = given("mistral", &calls);
        for id in &ids {
            assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        }
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 4, "{ids:?}");
        assert_eq!(given("mistral", &calls[1..])[..2], ids[1..3], "an id does not depend on what is before it");
        assert_eq!(given("mistral", &[("D681PevKs", Some("kimi"))]), ["D681PevKs"]);
    }

    #[test]
    fn ids_are_unique() {
        let short = given("a", &[("x", Some("b"))]).remove(0);
        // The other model's ID would be replaced by an ID that this model wrote later.
        let ids = given("a", &[("x", Some("b")), (&short, Some("a")), (&short, Some("a")), (&short, None)]);
        assert_eq!(ids[1], short);
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 4, "{ids:?}");
    }
}
