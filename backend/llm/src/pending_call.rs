//! The tool calls of an answer: collects their fragments from the stream, and decides at its end which calls are
//! complete.

use std::{borrow::Cow, collections::HashSet};

use tallybook_protocol::{Usage, first_chars};

use super::{
    arguments,
    event::{ModelEvent, StopReason},
    limits::MAX_TOOL_NAME_CHARS,
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

    /// Returns the arguments as one JSON object, if they mean one: see [`arguments::mended`].
    fn mended_input(&self) -> Cow<'_, str> {
        let mended = arguments::mended(&self.input);
        match self.repeats {
            Repeats::All { last } if !arguments::is_object(&mended) && arguments::is_object(&self.input[last..]) => {
                Cow::Borrowed(&self.input[last..])
            }
            _ => mended,
        }
    }

    /// Returns `true` if its arguments are a complete JSON object.
    pub(crate) fn is_complete(&self) -> bool {
        !self.input.trim().is_empty() && arguments::is_object(&self.mended_input())
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
        let input_text = call.mended_input().into_owned();
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

#[cfg(test)]
mod tests {
    use super::{ModelEvent, PendingCall, StopReason, Usage, finish};

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
}
