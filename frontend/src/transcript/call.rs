//! One tool call of an answer, as far as the page has heard of it. Events and messages carry long texts of calls cut; what
//! was loaded whole is never replaced by a beginning of it.

use std::{borrow::Cow, sync::Arc};

use tallybook_protocol::{
    ApprovalDecided, ApprovalRequested, ApprovalScope, DeciderKind, Decision, MAX_CALL_ERROR_BYTES, RawJson, ToolCall,
    ToolCallDecision, ToolCallEnd, ToolCallId, ToolCallReview, ToolCallStart, ToolCallStatus,
};

use super::progress::Progress;
use crate::{format, invisible::escaped, json};

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
    pub(super) fn input(json: &RawJson, bytes: Option<i64>) -> Self {
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

/// What was decided of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// The decider's name, which means nothing unless a user decided.
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
    /// The kind of failure.
    pub error_type: Option<String>,
    /// How long it ran, measured by the server.
    pub duration_ms: Option<i64>,
    /// When it began, in milliseconds since 1970; not told while it runs.
    pub started_ms: Option<i64>,
    /// How far it is, while it runs and says so.
    pub progress: Option<Progress>,
    /// What the model had asked for, where a person changed it.
    pub proposed: Option<CallText>,
    /// The last decision on it.
    pub decided: Option<Decided>,
    /// What reviewing models said of it.
    pub reviews: Vec<ToolCallReview>,
}

impl Call {
    /// Whether it has ended, in whichever way.
    pub fn is_over(&self) -> bool {
        !self.status.is_open()
    }

    /// Whether all its texts are whole. The rest of those that are not is to be had from the server.
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
        self.error_type = end.error_type;
        self.status = end.status;
        self.duration_ms = Some(end.duration_ms);
        self.progress = None;
    }

    /// Takes what is missing of its texts from the same call as it was heard of at another time.
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

    /// One that is stored and has not come to its end.
    fn begun(id: ToolCallId, name: String, input: CallText, offset: i64, status: ToolCallStatus) -> Self {
        Self {
            id,
            name,
            input,
            offset,
            status,
            output: None,
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
            error: call.error.map(|text| CallText::error(text, call.truncated, others_are_whole)),
            error_type: call.error_type,
            duration_ms: call.duration_ms,
            started_ms: Some(call.started_at.timestamp_millis()),
            progress: None,
            // A proposal is cut as the input is, but nothing tells how much of it there is.
            proposed: call.proposed_input.map(|input| CallText::input(&input, call.input_bytes)),
            decided: call.decision.map(Decided::from),
            reviews: call.reviews,
        }
    }
}

impl Call {
    /// Whether it waits for a person's decision.
    pub fn awaits_decision(&self) -> bool {
        self.status == ToolCallStatus::AwaitingApproval
    }

    /// Runs after it waited for a decision.
    pub(super) fn begin(&mut self, start: &ToolCallStart) {
        self.status = ToolCallStatus::Pending;
        self.take_input(CallText::input(&start.input, start.input_bytes));
    }

    /// Takes the input that it runs with, which may not be what the model had asked for. A text that came cut says nothing
    /// against one that is here whole.
    pub(super) fn take_input(&mut self, input: CallText) {
        if self.proposed.is_none() && input.is_whole() && input.text.trim() != self.input.text.trim() {
            self.proposed = Some(std::mem::replace(&mut self.input, input));
        }
    }

    /// Keeps what events told and messages do not.
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
