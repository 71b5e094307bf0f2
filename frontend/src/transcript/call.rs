//! One tool call of an answer, as far as the page has heard of it. Events and messages carry long texts of calls cut; what
//! was loaded whole is never replaced by a beginning of it.

use std::sync::Arc;

use tallybook_protocol::{
    MAX_CALL_ERROR_BYTES, RawJson, ToolCall, ToolCallEnd, ToolCallId, ToolCallStart, ToolCallStatus,
};

use crate::json;

/// A text of a call, or the beginning of it. Shared: it may be long, and is drawn from while more is heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallText {
    /// As much as is here.
    pub text: Arc<str>,
    /// How much that is.
    pub extent: Extent,
}

/// How much of a text is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Its beginning. The server has the rest, and says how many UTF-8 bytes the whole has; not for errors.
    Beginning(Option<i64>),
}

impl CallText {
    /// An output, or its beginning when the whole has more than the bytes that are here.
    fn output(text: String, bytes: Option<i64>) -> Self {
        let extent = Extent::of(&text, bytes);
        Self { text: text.into(), extent }
    }

    /// Arguments. Those that are cut travel as a JSON string with their beginning.
    fn input(json: &RawJson, bytes: Option<i64>) -> Self {
        let beginning = bytes.and_then(|_| serde_json::from_str::<String>(json.as_str()).ok());
        let extent = beginning.map_or(Extent::Whole, |beginning| Extent::of(&beginning, bytes));
        Self { text: json.as_str().into(), extent }
    }

    /// An error. Of a call with `truncated` texts the server does not say whether its error is one of them, but it is
    /// when no other text is, when nothing is left of it, and when it fills what an error may have.
    fn error(text: String, truncated: bool, others_are_whole: bool) -> Self {
        // A text is cut between characters, so up to three bytes are missing.
        let is_full = text.is_empty() || text.len() + 4 > MAX_CALL_ERROR_BYTES;
        let is_cut = truncated && (others_are_whole || is_full);
        Self { text: text.into(), extent: if is_cut { Extent::Beginning(None) } else { Extent::Whole } }
    }

    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.extent == Extent::Whole
    }

    /// Takes the same text as it was heard at another time, when that is more of it.
    fn extend_from(&mut self, other: &Self) {
        if !self.is_whole() && (other.is_whole() || other.text.len() > self.text.len()) {
            self.clone_from(other);
        }
    }
}

impl Extent {
    fn of(text: &str, bytes: Option<i64>) -> Self {
        let is_cut = bytes.and_then(|bytes| usize::try_from(bytes).ok()).is_some_and(|bytes| bytes > text.len());
        if is_cut { Self::Beginning(bytes) } else { Self::Whole }
    }
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Row id.
    pub id: ToolCallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as JSON, as the model wrote them; as one JSON string when they were not JSON, or are cut.
    pub input: CallText,
    /// Where in the message's text it happened, in UTF-8 bytes.
    pub offset: i64,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// What the tool gave back.
    pub output: Option<CallText>,
    /// Why it failed.
    pub error: Option<CallText>,
    /// How long it ran, measured by the server.
    pub duration_ms: Option<i64>,
    /// When it began, in milliseconds since 1970; not told while it runs.
    pub started_ms: Option<i64>,
}

impl Call {
    /// Whether it has ended, in whichever way.
    pub fn is_over(&self) -> bool {
        !self.status.is_open()
    }

    /// Whether all its texts are whole. The rest of those that are not is to be had from the server.
    pub fn is_whole(&self) -> bool {
        [Some(&self.input), self.output.as_ref(), self.error.as_ref()].into_iter().flatten().all(CallText::is_whole)
    }

    /// With what, on one line.
    pub fn summary(&self) -> String {
        json::summary(&self.input.text)
    }

    /// What came of it, on one line: its result's first words, or those of the reason why it failed.
    pub fn outcome(&self) -> Option<String> {
        let words = match self.status {
            ToolCallStatus::Success => json::first_words(&self.output.as_ref()?.text),
            ToolCallStatus::Error => json::first_words(&self.error.as_ref()?.text),
            _ => return None,
        };
        Some(words).filter(|words| !words.is_empty())
    }

    /// When it began and ended, in milliseconds since 1970, as far as both are known.
    pub fn span(&self) -> Option<(i64, i64)> {
        let start = self.started_ms?;
        Some((start, start.saturating_add(self.duration_ms?)))
    }

    /// Takes how it ended.
    pub(super) fn end(&mut self, end: ToolCallEnd) {
        self.output = end.output.map(|text| CallText::output(text, end.output_bytes));
        let others_are_whole = self.input.is_whole() && self.output.as_ref().is_none_or(CallText::is_whole);
        self.error = end.error.map(|text| CallText::error(text, end.truncated, others_are_whole));
        self.status = end.status;
        self.duration_ms = Some(end.duration_ms);
    }

    /// Takes what is missing of its texts from the same call as it was heard of at another time.
    pub(super) fn extend_from(&mut self, other: &Self) {
        self.input.extend_from(&other.input);
        for (text, other) in [(&mut self.output, &other.output), (&mut self.error, &other.error)] {
            if let (Some(text), Some(other)) = (text, other) {
                text.extend_from(other);
            }
        }
    }
}

impl From<ToolCallStart> for Call {
    fn from(start: ToolCallStart) -> Self {
        Self {
            id: start.tool_call_id,
            name: start.tool_name,
            input: CallText::input(&start.input, start.input_bytes),
            offset: start.offset,
            status: ToolCallStatus::Pending,
            output: None,
            error: None,
            duration_ms: None,
            started_ms: None,
        }
    }
}

impl From<ToolCall> for Call {
    fn from(call: ToolCall) -> Self {
        let input = CallText::input(&call.input, call.input_bytes);
        let output = call.output.map(|text| CallText::output(text, call.output_bytes));
        let others_are_whole = input.is_whole() && output.as_ref().is_none_or(CallText::is_whole);
        Self {
            id: call.tool_call_id,
            name: call.tool_name,
            input,
            offset: call.offset,
            status: call.status,
            output,
            error: call.error.map(|text| CallText::error(text, call.truncated, others_are_whole)),
            duration_ms: call.duration_ms,
            started_ms: Some(call.started_at.timestamp_millis()),
        }
    }
}
