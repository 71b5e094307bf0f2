//! The tool calls of an answer: collects their fragments from the stream, repairs arguments that are not one JSON
//! object but have an unambiguous meaning, and decides at the end of the stream which calls are complete. Numbers keep
//! their digits.

use std::{borrow::Cow, collections::HashSet};

use serde_json::{Deserializer, Value, value::RawValue};
use tallybook_protocol::{Usage, first_chars};

use super::{
    event::{ModelEvent, StopReason},
    limits::MAX_TOOL_NAME_CHARS,
    object::Object,
    request::ToolCallRequest,
};

/// A tool call that the stream has built up so far.
#[derive(Debug, Default)]
pub(crate) struct PendingCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: String,
    /// Tracks whether each fragment of the arguments repeats everything before it, as some servers do.
    repeats: Repeats,
    /// Size of the arguments at the last [`ModelEvent::ToolCallProgress`], in bytes; `None` before the first one.
    reported_bytes: Option<usize>,
}

/// State of the check whether a call's arguments repeat.
#[derive(Debug, Default)]
enum Repeats {
    /// Fewer than two fragments were received.
    #[default]
    Unknown,
    /// Each fragment began with the previous one. The last fragment begins at this byte.
    All { last: usize },
    /// A fragment did not begin with the previous one, so it continues it.
    No,
}

impl PendingCall {
    /// Creates a call with the arguments received so far.
    pub(crate) fn begun(id: String, name: String, input: String) -> Self {
        Self { id, name, input, ..Self::default() }
    }

    /// Appends a fragment of the arguments.
    pub(crate) fn push_input(&mut self, fragment: &str) {
        if fragment.is_empty() {
            return;
        }
        let start = self.input.len();
        let before = match self.repeats {
            Repeats::Unknown => Some(&self.input[..]),
            Repeats::All { last } => Some(&self.input[last..]),
            Repeats::No => None,
        };
        self.repeats = match before {
            Some("") => Repeats::Unknown,
            Some(before) if fragment.starts_with(before) => Repeats::All { last: start },
            _ => Repeats::No,
        };
        self.input.push_str(fragment);
    }

    /// Returns the arguments as one JSON object, if they mean one: see [`repaired`].
    fn repaired_input(&self) -> Cow<'_, str> {
        let repaired = repaired(&self.input);
        match self.repeats {
            Repeats::All { last } if !is_object(&repaired) && is_object(&self.input[last..]) => {
                Cow::Borrowed(&self.input[last..])
            }
            _ => repaired,
        }
    }

    /// Returns `true` if its arguments are a complete JSON object.
    pub(crate) fn is_complete(&self) -> bool {
        !self.input.trim().is_empty() && is_object(&self.repaired_input())
    }

    /// Returns a [`ModelEvent::ToolCallProgress`] once the call's name is known, and again whenever its arguments grew
    /// by [`PROGRESS_STEP_BYTES`].
    pub(crate) fn growth(&mut self) -> Option<ModelEvent> {
        let bytes = self.input.len();
        let is_news = self.reported_bytes.is_none_or(|reported| bytes - reported >= PROGRESS_STEP_BYTES);
        (is_news && !self.name.is_empty()).then(|| {
            self.reported_bytes = Some(bytes);
            // The event is sent many times, and the name may be as long as an answer.
            ModelEvent::ToolCallProgress { name: first_chars(&self.name, MAX_TOOL_NAME_CHARS).to_owned(), bytes }
        })
    }
}

/// Growth of the arguments between two events, in bytes. Clients are notified a few times a second at most, and a model
/// writes a few hundred bytes in that time.
const PROGRESS_STEP_BYTES: usize = 64;

/// Ends an answer: returns the calls to pass on, then `Ended`.
///
/// If the answer was truncated, only calls whose arguments are complete JSON objects are returned. Otherwise all calls
/// are returned; the agent answers unreadable arguments with an error that the model sees. Two calls with the same ID,
/// name and arguments count as one. A different call with the same ID gets a generated ID.
pub(crate) fn finish(calls: Vec<PendingCall>, stop_reason: StopReason, usage: Usage) -> Vec<ModelEvent> {
    let mut given: Vec<ToolCallRequest> = Vec::new();
    let mut ids = HashSet::new();
    for call in calls {
        if stop_reason.is_cut_off() && !call.is_complete() {
            continue;
        }
        let input_text = call.repaired_input().into_owned();
        let PendingCall { id, name, .. } = call;
        let repeats = |other: &ToolCallRequest| other.id == id && other.name == name && other.input_text == input_text;
        if !id.is_empty() && given.iter().any(repeats) {
            continue;
        }
        let id = if id.is_empty() || ids.contains(&id) { generated_id() } else { id };
        ids.insert(id.clone());
        given.push(ToolCallRequest { id, name, input_text, written_by: None });
    }
    // Some providers contradict themselves, for example with "stop" although there are calls. The calls decide.
    let stop_reason = match stop_reason {
        StopReason::EndTurn if !given.is_empty() => StopReason::ToolUse,
        StopReason::ToolUse if given.is_empty() => StopReason::EndTurn,
        other => other,
    };
    let calls = given.into_iter().map(ModelEvent::ToolCall);
    calls.chain([ModelEvent::Ended { stop_reason, usage }]).collect()
}

/// Generates an ID for a call without one. It is within the 40 characters that OpenAI allows.
pub(crate) fn generated_id() -> String {
    format!("call_{}", uuid::Uuid::new_v4().simple())
}

/// Maximum number of times that arguments may be encoded as JSON within a string.
const MAX_QUOTINGS: usize = 2;

/// Maximum number of JSON values in the arguments of one call. If there are more, the text is not repaired.
const MAX_REPEATS: usize = 8;

/// Returns the object that the arguments mean: `{}` for an empty text or `null`, the content of a string, or one object
/// for arguments that were sent several times. Returns anything else unchanged; the agent answers it with an error.
fn repaired(written: &str) -> Cow<'_, str> {
    if is_object(written) {
        return Cow::Borrowed(written);
    }
    let mut text = Cow::Borrowed(written);
    for _ in 0..MAX_QUOTINGS {
        let Ok(content) = serde_json::from_str::<String>(&text) else { break };
        text = Cow::Owned(content);
    }
    if text.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    repeated(&text).map_or(Cow::Borrowed(written), |object| Cow::Owned(object.to_owned()))
}

/// Returns `true` if the text is a JSON object. The check does not recurse, so any nesting depth is safe.
fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns `true` if the text is a JSON object without fields.
pub(crate) fn is_empty_object(text: &str) -> bool {
    text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(|inner| inner.trim().is_empty())
}

/// Returns the object that the text holds once or several times, possibly next to empty values: some servers send the
/// complete arguments again after their parts. Each object may add fields to the previous one. Returns `None` for
/// anything else, because two different objects may be two calls.
fn repeated(text: &str) -> Option<&str> {
    let mut found: Option<&RawValue> = None;
    for (number, value) in Deserializer::from_str(text).into_iter::<&RawValue>().enumerate() {
        let value = value.ok().filter(|_| number < MAX_REPEATS)?;
        if matches!(value.get(), "null" | "\"\"") || is_empty_object(value.get()) {
            continue;
        }
        if !value.get().starts_with('{') {
            return None;
        }
        match found {
            Some(before) if !extends(value, before) => return None,
            _ => found = Some(value),
        }
    }
    Some(found.map_or("{}", RawValue::get))
}

/// Returns `true` if `object` has every field of `before`, with the same value.
fn extends(object: &RawValue, before: &RawValue) -> bool {
    if object.get() == before.get() {
        return true;
    }
    let (Some(object), Some(before)) = (Object::parse(object.get()), Object::parse(before.get())) else { return false };
    before.fields().all(|(key, value)| object.find(&[key]).is_some_and(|now| is_same(now, value)))
}

/// Returns `true` if two values are equal as JSON. White space and key order do not matter, and numbers are compared as
/// 64-bit integers or floats.
fn is_same(one: &RawValue, other: &RawValue) -> bool {
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    one.get() == other.get() || value(one).is_some_and(|one| Some(one) == value(other))
}

#[cfg(test)]
mod tests {
    use super::{ModelEvent, PendingCall, StopReason, Usage, finish, repaired};

    fn call(id: &str, input: &str) -> PendingCall {
        PendingCall::begun(id.into(), "add".into(), input.into())
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
    fn progress_events_are_small_even_if_the_tool_name_is_long() {
        let mut growing = PendingCall { name: "n".repeat(1 << 20), ..PendingCall::default() };
        let progress: Vec<ModelEvent> = (0..1000)
            .filter_map(|_| {
                growing.input.push_str(&"x".repeat(64));
                growing.growth()
            })
            .collect();
        assert_eq!(progress.len(), 1000);
        let bytes = |event: &ModelEvent| match event {
            ModelEvent::ToolCallProgress { name, .. } => name.len(),
            other => panic!("{other:?}"),
        };
        assert!(progress.iter().map(bytes).all(|bytes| bytes <= 64));
    }

    #[test]
    fn fragments_that_repeat_all_before_them_are_not_joined() {
        let given = |fragments: &[&str]| {
            let mut call = call("a", "");
            for fragment in fragments {
                call.push_input(fragment);
            }
            finished(vec![call], StopReason::ToolUse).0.remove(0).1
        };
        assert_eq!(given(&["{", "{\"a", "{\"a\":1", "{\"a\":1}"]), "{\"a\":1}");
        assert_eq!(given(&["{\"a\":", "", "{\"a\":1.50}", "{\"a\":1.50}"]), "{\"a\":1.50}");
        // If the joined fragments are an object, they mean that object, although its inner part begins in the same way.
        assert_eq!(given(&["{\"a\":", "{\"a\":1}}"]), "{\"a\":{\"a\":1}}");
        assert_eq!(given(&["{\"a\":1", "1", "}"]), "{\"a\":11}");
        assert_eq!(given(&["{\"a\":", "{\"a\":1", "x}"]), "{\"a\":{\"a\":1x}");
    }

    #[test]
    fn the_calls_decide_the_stop_reason() {
        assert_eq!(finished(vec![call("a", "{}")], StopReason::EndTurn).1, StopReason::ToolUse);
        assert_eq!(finished(vec![], StopReason::ToolUse).1, StopReason::EndTurn);
        assert_eq!(finished(vec![], StopReason::Refusal).1, StopReason::Refusal);
    }

    #[test]
    fn ids_are_present_and_unique() {
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
    fn arguments_whose_meaning_is_clear_become_one_object() {
        for (written, expected) in [
            (r#"{"a": 0.10}"#, r#"{"a": 0.10}"#),
            ("", "{}"),
            (" \n", "{}"),
            ("null", "{}"),
            (r#""""#, "{}"),
            (r#""null""#, "{}"),
            ("{}{}", "{}"),
            (r#"{}{"a":1}"#, r#"{"a":1}"#),
            (r#"null{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1}{ }"#, r#"{"a":1}"#),
            (r#"{"a":1.10}{"a":1.10}"#, r#"{"a":1.10}"#),
            ("{\"a\":1}\n{\"a\": 1}", r#"{"a": 1}"#),
            (r#"{"a":[1, 2]}{"a":[1,2]}"#, r#"{"a":[1,2]}"#),
            (r#"{"a":1}{"a":1,"b":1e400}"#, r#"{"a":1,"b":1e400}"#),
            (r#""{\"a\":1.50}""#, r#"{"a":1.50}"#),
            (r#""\"{\\\"a\\\":1}\"""#, r#"{"a":1}"#),
        ] {
            assert_eq!(repaired(written), expected, "{written}");
        }
    }

    #[test]
    fn everything_else_stays_as_written() {
        for written in [
            "{oops",
            r#"{"a":1}{"a":"#,
            r#"{"a":1}{"a":2}"#,
            r#"{"a":1}{"b":2}"#,
            r#"{"a":1}}"#,
            "[1]",
            "[1]{}",
            "7",
            r#""words""#,
            "true",
            &"\"".repeat(100),
        ] {
            assert_eq!(repaired(written), written);
        }
    }
}
