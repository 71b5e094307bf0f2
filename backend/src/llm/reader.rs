//! What the stream readers of all providers share: the port between bytes and events, the bound on what one answer may
//! hold, and the rules for handing on tool calls. Pure: no I/O, no time.

use std::collections::HashSet;

use serde_json::{Value, value::RawValue};
use tallybook_protocol::{Usage, sse};

use super::{ModelError, ModelEvent, StopReason, ToolCallRequest};

/// The most that one answer may hold, text and arguments together, in bytes.
pub(super) const LONGEST_ANSWER: usize = if cfg!(fuzzing) { 2048 } else { 8 * 1024 * 1024 };
/// The most tool calls that one answer may hold, and the most blocks.
pub(super) const MOST_BLOCKS: usize = if cfg!(fuzzing) { 8 } else { 1000 };

/// The longest word of a provider's that is kept, in characters.
const LONGEST_WORD: usize = 64;

/// Reads one provider's stream frame by frame.
pub(super) trait StreamReader: Send {
    /// Takes the next frame and gives what it means.
    fn on_frame(&mut self, frame: &sse::Frame) -> Result<Vec<ModelEvent>, ModelError>;

    /// The body has ended, cleanly or not: the rest of the answer, or `None` when it was not finished.
    fn on_end(&mut self) -> Option<Vec<ModelEvent>>;
}

/// Turns bytes in any portions into events. After an error, and after [`ModelEvent::Ended`], it is done.
pub(super) struct Parser<R> {
    decoder: sse::Decoder,
    reader: R,
}

impl<R: StreamReader> Parser<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { decoder: sse::Decoder::new(), reader }
    }

    /// The events that these bytes complete, up to and with an error if there is one.
    pub(super) fn push(&mut self, bytes: &[u8]) -> (Vec<ModelEvent>, Option<ModelError>) {
        let (frames, error) = match self.decoder.push(bytes) {
            Ok(frames) => (frames, None),
            Err(error) => {
                let words = error.to_string();
                (error.before, Some(bad_stream(words)))
            }
        };
        let mut events = Vec::new();
        for frame in frames {
            match self.reader.on_frame(&frame) {
                Ok(more) => events.extend(more),
                Err(error) => return (events, Some(error)),
            }
            if matches!(events.last(), Some(ModelEvent::Ended { .. })) {
                return (events, None);
            }
        }
        (events, error)
    }

    /// See [`StreamReader::on_end`].
    pub(super) fn end(&mut self) -> Option<Vec<ModelEvent>> {
        self.reader.on_end()
    }
}

/// What is left of the room for one answer.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(LONGEST_ANSWER)
    }
}

impl Room {
    /// Makes sure that `text` still fits.
    pub(super) fn take(&mut self, text: &str) -> Result<(), ModelError> {
        let left = self.0.checked_sub(text.len());
        self.0 = left.ok_or_else(|| bad_stream(format!("it is longer than {LONGEST_ANSWER} bytes")))?;
        Ok(())
    }
}

/// A tool call as the stream has built it up.
#[derive(Debug, Default)]
pub(super) struct PendingCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: String,
}

/// The end of an answer: the calls that may be handed on, then `Ended`.
///
/// When the answer was cut off (`StopReason::MaxTokens`), only calls whose arguments are whole JSON objects are given;
/// otherwise all are, and the agent answers unreadable arguments with an error that the model sees. A call that comes
/// twice, id and all, is given once; another call under the same id gets an id of its own.
pub(super) fn finish(calls: Vec<PendingCall>, stop_reason: StopReason, usage: Usage) -> Vec<ModelEvent> {
    let cut_off = stop_reason == StopReason::MaxTokens;
    let mut given: Vec<ToolCallRequest> = Vec::new();
    let mut ids = HashSet::new();
    for PendingCall { id, name, input } in calls {
        if cut_off && !is_json_object(&input) {
            continue;
        }
        let input_text = if input.trim().is_empty() { "{}".to_owned() } else { input };
        let repeats = |other: &ToolCallRequest| other.id == id && other.name == name && other.input_text == input_text;
        if !id.is_empty() && given.iter().any(repeats) {
            continue;
        }
        let id = if id.is_empty() || ids.contains(&id) { minted_id() } else { id };
        ids.insert(id.clone());
        given.push(ToolCallRequest { id, name, input_text });
    }
    // Providers disagree with themselves here ("stop" although calls were seen); the calls decide.
    let stop_reason = match stop_reason {
        StopReason::EndTurn if !given.is_empty() => StopReason::ToolUse,
        StopReason::ToolUse if given.is_empty() => StopReason::EndTurn,
        other => other,
    };
    let calls = given.into_iter().map(ModelEvent::ToolCall);
    calls.chain([ModelEvent::Ended { stop_reason, usage }]).collect()
}

/// An id for a call that its provider gave none; within the 40 characters that OpenAI allows.
pub(super) fn minted_id() -> String {
    format!("call_{}", uuid::Uuid::new_v4().simple())
}

/// Checks without recursion, so that any depth is fine.
fn is_json_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// A number of tokens, tolerant of what is missing or makes no sense.
pub(super) fn tokens(count: &Value) -> Option<i64> {
    count.as_i64().filter(|count| *count >= 0)
}

/// A reason to stop that nobody here knows, cut to the length of a word: it is stored as one.
pub(super) fn unknown_stop_reason(word: &str) -> StopReason {
    StopReason::Other(word.chars().take(LONGEST_WORD).collect())
}

/// The stream makes no sense in this way.
pub(super) fn bad_stream(detail: impl Into<String>) -> ModelError {
    ModelError::BadStream { detail: detail.into() }
}

/// Reading whole streams in tests.
#[cfg(any(test, fuzzing))]
pub(super) mod testing {
    use super::{ModelEvent, Parser, StreamReader};

    /// Everything that a body means, however it is cut, and the error's words if there is one.
    pub(in crate::llm) fn read<R: StreamReader>(reader: R, portions: &[&[u8]]) -> (Vec<ModelEvent>, Option<String>) {
        let mut parser = Parser::new(reader);
        let mut all = Vec::new();
        for portion in portions {
            let (events, error) = parser.push(portion);
            all.extend(events);
            if let Some(error) = error {
                return (all, Some(error.to_string()));
            }
            if matches!(all.last(), Some(ModelEvent::Ended { .. })) {
                return (all, None);
            }
        }
        match parser.end() {
            Some(events) => all.extend(events),
            None => return (all, Some("unfinished".to_owned())),
        }
        (all, None)
    }

    /// The body cut before each of these places.
    #[cfg(test)]
    pub(in crate::llm) fn cut<'a>(body: &'a [u8], places: &[proptest::sample::Index]) -> Vec<&'a [u8]> {
        let mut places: Vec<usize> = places.iter().map(|place| place.index(body.len() + 1)).collect();
        places.sort_unstable();
        places.push(body.len());
        let mut start = 0;
        places.into_iter().map(|end| &body[std::mem::replace(&mut start, end)..end]).collect()
    }

    /// The texts joined, since where deltas are cut is not part of the meaning.
    pub(in crate::llm) fn texts(events: &[ModelEvent]) -> String {
        events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::TextDelta(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelEvent, PendingCall, Room, StopReason, Usage, finish};

    fn call(id: &str, input: &str) -> PendingCall {
        PendingCall { id: id.into(), name: "add".into(), input: input.into() }
    }

    fn finished(calls: Vec<PendingCall>, stop: StopReason) -> (Vec<(String, String)>, StopReason) {
        let mut events = finish(calls, stop, Usage::default());
        let Some(ModelEvent::Ended { stop_reason, .. }) = events.pop() else { panic!("no end") };
        let calls = events.into_iter().map(|event| match event {
            ModelEvent::ToolCall(call) => (call.id, call.input_text),
            other => panic!("{other:?}"),
        });
        (calls.collect(), stop_reason)
    }

    fn pair(id: &str, input: &str) -> (String, String) {
        (id.to_owned(), input.to_owned())
    }

    #[test]
    fn max_tokens_inside_a_tool_block_is_never_executed() {
        let calls = vec![call("a", r#"{"x":1}"#), call("b", r#"{"x":"#), call("c", ""), call("d", "12")];
        assert_eq!(finished(calls, StopReason::MaxTokens), (vec![pair("a", r#"{"x":1}"#)], StopReason::MaxTokens));
    }

    #[test]
    fn arguments_that_are_not_json_are_for_the_agent_to_answer() {
        let calls = vec![call("a", "{oops"), call("b", " ")];
        let expected = (vec![pair("a", "{oops"), pair("b", "{}")], StopReason::ToolUse);
        assert_eq!(finished(calls, StopReason::ToolUse), expected);
    }

    #[test]
    fn the_calls_decide_the_stop_reason() {
        assert_eq!(finished(vec![call("a", "{}")], StopReason::EndTurn).1, StopReason::ToolUse);
        assert_eq!(finished(vec![], StopReason::ToolUse).1, StopReason::EndTurn);
        assert_eq!(finished(vec![], StopReason::Refusal).1, StopReason::Refusal);
    }

    #[test]
    fn ids_are_there_and_unique() {
        let (calls, _) = finished(
            vec![call("", "1"), call("a", "2"), call("a", "2"), call("a", "3"), call("", "1")],
            StopReason::ToolUse,
        );
        let inputs: Vec<&str> = calls.iter().map(|(_, input)| input.as_str()).collect();
        assert_eq!(inputs, ["1", "2", "3", "1"]);
        let ids: std::collections::HashSet<&String> = calls.iter().map(|(id, _)| id).collect();
        assert!(ids.len() == 4 && ids.iter().all(|id| !id.is_empty() && id.len() <= 40), "{ids:?}");
    }

    #[test]
    fn an_endless_answer_is_refused() {
        let mut room = Room::default();
        assert!(room.take(&"x".repeat(super::LONGEST_ANSWER)).is_ok());
        assert!(room.take("x").is_err());
    }
}
