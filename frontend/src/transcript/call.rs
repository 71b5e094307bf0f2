//! A tool call of an answer, as the page knows it. Events and messages contain only the beginning of long texts. A text
//! that was loaded in full is never replaced by its beginning.

use std::{borrow::Cow, sync::Arc};

use tallybook_protocol::{
    ApprovalDecided, ApprovalRequested, ApprovalScope, DeciderKind, Decision, MAX_CALL_ERROR_BYTES, MessageFile,
    RawJson, ToolCall, ToolCallDecision, ToolCallEnd, ToolCallId, ToolCallReview, ToolCallStart, ToolCallStatus,
};

use super::progress::Progress;
use crate::{format, invisible::escaped, json};

/// A text of a call, or its beginning. It is shared, because it may be long and is rendered while more events arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallText {
    /// The known part of the text.
    pub text: Arc<str>,
    /// The extent of the known part.
    pub extent: Extent,
}

/// The known part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The full text.
    Whole,
    /// The beginning; the server has the rest. Contains the length of the full text in UTF-8 bytes; `None` for errors.
    Beginning(Option<i64>),
}

impl CallText {
    /// Creates an output. It is a beginning if the full text has more bytes than `text`.
    fn output(text: String, bytes: Option<i64>) -> Self {
        let extent = Extent::of(&text, bytes);
        Self { text: text.into(), extent }
    }

    /// Creates arguments. Truncated arguments arrive as a JSON string with their beginning.
    pub(super) fn input(json: &RawJson, bytes: Option<i64>) -> Self {
        let beginning = bytes.and_then(|_| serde_json::from_str::<String>(json.as_str()).ok());
        let extent = beginning.map_or(Extent::Whole, |beginning| Extent::of(&beginning, bytes));
        Self { text: json.as_str().into(), extent }
    }

    /// Creates an error. If a call is `truncated`, the server does not say which of its texts are. The error counts as
    /// truncated if no other text is, if it is empty, or if it has the maximum length.
    fn error(text: String, truncated: bool, others_are_whole: bool) -> Self {
        // Texts are truncated between characters, so up to three bytes are missing.
        let is_full = text.is_empty() || text.len() + 4 > MAX_CALL_ERROR_BYTES;
        let is_cut = truncated && (others_are_whole || is_full);
        Self { text: text.into(), extent: if is_cut { Extent::Beginning(None) } else { Extent::Whole } }
    }

    /// Returns `true` if this is the full text.
    pub fn is_whole(&self) -> bool {
        self.extent == Extent::Whole
    }

    /// Replaces the text with another copy of it that is longer.
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

/// A decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// The decider's name. It is meaningless unless a user decided.
    pub by: String,
    /// The kind of decider.
    pub kind: DeciderKind,
    /// The scope of an approval beyond this call.
    pub scope: Option<ApprovalScope>,
    /// The time in milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// The reason, if the event that reported it was received.
    pub reason: Option<String>,
}

impl Decided {
    /// Returns `true` if `other` is the same decision with the reason, which events report and messages do not.
    pub(super) fn lacks_reason_of(&self, other: &Self) -> bool {
        // An event of an older server has no time.
        let is_at_one_time = self.at_ms.zip(other.at_ms).is_none_or(|(one, other)| one == other);
        let is_same = (self.decision, self.kind) == (other.decision, other.kind) && is_at_one_time;
        is_same && self.reason.is_none() && other.reason.is_some()
    }
}

impl From<ToolCallDecision> for Decided {
    fn from(decision: ToolCallDecision) -> Self {
        let ToolCallDecision { decision, decided_by: by, decided_by_kind: kind, scope, decided_at, .. } = decision;
        Self { decision, by, kind, scope, at_ms: Some(decided_at.timestamp_millis()), reason: None }
    }
}

impl From<ApprovalDecided> for Decided {
    fn from(event: ApprovalDecided) -> Self {
        let ApprovalDecided { decision, decided_by: by, decided_by_kind: kind, scope, decided_at, reason, .. } = event;
        Self { decision, by, kind, scope, at_ms: decided_at.map(|at| at.timestamp_millis()), reason }
    }
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Row ID.
    pub id: ToolCallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as JSON, as the model wrote them. If they are not JSON, or truncated, they are one JSON string.
    pub input: CallText,
    /// Position in the message's text, in UTF-8 bytes.
    pub offset: i64,
    /// The status.
    pub status: ToolCallStatus,
    /// The tool's output.
    pub output: Option<CallText>,
    /// The images that the tool returned.
    pub files: Vec<MessageFile>,
    /// The error message, if it failed.
    pub error: Option<CallText>,
    /// The kind of failure.
    pub error_type: Option<String>,
    /// Duration of the run, in milliseconds, as measured by the server.
    pub duration_ms: Option<i64>,
    /// When it started, in milliseconds since 1970. Only stored messages contain this.
    pub started_ms: Option<i64>,
    /// The last reported progress, while it runs.
    pub progress: Option<Progress>,
    /// The model's input, if a user changed it before the call ran.
    pub proposed: Option<CallText>,
    /// The last decision.
    pub decided: Option<Decided>,
    /// Votes of the reviewing models.
    pub reviews: Vec<ToolCallReview>,
}

impl Call {
    /// Returns `true` if the call has ended in any way.
    pub fn is_over(&self) -> bool {
        !self.status.is_open()
    }

    /// Returns `true` if all texts are complete. The server has the rest of those that are not.
    pub fn is_whole(&self) -> bool {
        let texts = [Some(&self.input), self.proposed.as_ref(), self.output.as_ref(), self.error.as_ref()];
        texts.into_iter().flatten().all(CallText::is_whole)
    }

    /// Returns the tool's display name.
    pub fn shown_name(&self) -> Cow<'_, str> {
        format::tool_name(&self.name)
    }

    /// Returns the tool's name as the model wrote it, with hidden characters escaped, if its display name differs.
    pub fn raw_name(&self) -> Option<String> {
        let name = escaped(&self.name);
        (name != self.shown_name()).then(|| name.into_owned())
    }

    /// Returns the arguments on one line.
    pub fn summary(&self) -> String {
        json::summary(&self.input.text)
    }

    /// Returns the first words of the output, or of the error, on one line.
    pub fn outcome(&self) -> Option<String> {
        let words = match self.status {
            ToolCallStatus::Success => json::first_words(&self.output.as_ref()?.text),
            ToolCallStatus::Error => json::first_words(&self.error.as_ref()?.text),
            _ => return None,
        };
        Some(words).filter(|words| !words.is_empty())
    }

    /// Returns when it started and ended, in milliseconds since 1970, if both are known.
    pub fn span(&self) -> Option<(i64, i64)> {
        let start = self.started_ms?;
        Some((start, start.saturating_add(self.duration_ms?)))
    }

    /// Applies the call's end.
    pub(super) fn end(&mut self, end: ToolCallEnd) {
        self.output = end.output.map(|text| CallText::output(text, end.output_bytes));
        let others_are_whole = self.input.is_whole() && self.output.as_ref().is_none_or(CallText::is_whole);
        self.error = end.error.map(|text| CallText::error(text, end.truncated, others_are_whole));
        self.error_type = end.error_type;
        self.files = end.files;
        self.status = end.status;
        self.duration_ms = Some(end.duration_ms);
        self.progress = None;
    }

    /// Adds what is missing here from another state of the same call.
    pub(super) fn extend_from(&mut self, other: &Self) {
        self.input.extend_from(&other.input);
        let texts =
            [(&mut self.proposed, &other.proposed), (&mut self.output, &other.output), (&mut self.error, &other.error)];
        for (text, other) in texts {
            if let (Some(text), Some(other)) = (text, other) {
                text.extend_from(other);
            }
        }
        self.keep_what_was_heard(other);
    }

    /// Creates a call that is stored and has not ended.
    fn begun(id: ToolCallId, name: String, input: CallText, offset: i64, status: ToolCallStatus) -> Self {
        Self {
            id,
            name,
            input,
            offset,
            status,
            output: None,
            files: Vec::new(),
            error: None,
            error_type: None,
            duration_ms: None,
            started_ms: None,
            progress: None,
            proposed: None,
            decided: None,
            reviews: Vec::new(),
        }
    }
}

impl From<ToolCallStart> for Call {
    fn from(start: ToolCallStart) -> Self {
        let input = CallText::input(&start.input, start.input_bytes);
        Self::begun(start.tool_call_id, start.tool_name, input, start.offset, ToolCallStatus::Pending)
    }
}

impl From<ApprovalRequested> for Call {
    fn from(asked: ApprovalRequested) -> Self {
        let input = CallText::input(&asked.input, asked.input_bytes);
        let status = ToolCallStatus::AwaitingApproval;
        let call = Self::begun(asked.tool_call_id, asked.tool_name, input, asked.offset, status);
        Self { reviews: asked.reviews, ..call }
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
            files: call.files,
            error: call.error.map(|text| CallText::error(text, call.truncated, others_are_whole)),
            error_type: call.error_type,
            duration_ms: call.duration_ms,
            started_ms: Some(call.started_at.timestamp_millis()),
            progress: None,
            // A proposed input is truncated like the input, but its full length is not reported.
            proposed: call.proposed_input.map(|input| CallText::input(&input, call.input_bytes)),
            decided: call.decision.map(Decided::from),
            reviews: call.reviews,
        }
    }
}

impl Call {
    /// Returns `true` if it waits for a decision.
    pub fn awaits_decision(&self) -> bool {
        self.status == ToolCallStatus::AwaitingApproval
    }

    /// Starts a call that waited for a decision.
    pub(super) fn begin(&mut self, start: &ToolCallStart) {
        self.status = ToolCallStatus::Pending;
        self.take_input(CallText::input(&start.input, start.input_bytes));
    }

    /// Sets the input that the call runs with, and keeps the model's as `proposed` if they differ. Ignores a truncated
    /// input.
    pub(super) fn take_input(&mut self, input: CallText) {
        if self.proposed.is_none() && input.is_whole() && input.text.trim() != self.input.text.trim() {
            self.proposed = Some(std::mem::replace(&mut self.input, input));
        }
    }

    /// Copies what is unknown here: the decision and its reason, votes, and progress. Stored messages contain no reason
    /// and no progress.
    fn keep_what_was_heard(&mut self, other: &Self) {
        let lacks_reason = |heard| self.decided.as_ref().is_none_or(|known| known.lacks_reason_of(heard));
        if other.decided.as_ref().is_some_and(lacks_reason) {
            self.decided.clone_from(&other.decided);
        }
        if self.reviews.is_empty() {
            self.reviews.clone_from(&other.reviews);
        }
        if self.status == ToolCallStatus::Pending && self.progress.is_none() {
            self.progress.clone_from(&other.progress);
        }
    }
}
