//! Chat events, which subscribers of a turn receive. One struct per kind, and the mapping of kinds to SSE event names. Applying
//! an event twice changes nothing, so a client may join late, reconnect, or receive events again.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::{
    AnswerMode, ApprovalDecided, ApprovalRequested, MessageId, MessageStatus, Plan, PlanStepChanged, RawJson,
    Reasoning, ReasoningDelta, Told, ToolCall, ToolCallId, ToolCallReview, ToolCallStatus, Usage,
};

/// The user message is stored and a turn began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageStart {
    /// Row id of the user's message.
    pub user_message_id: MessageId,
    /// Row id of the assistant's message, which is the turn.
    pub assistant_message_id: MessageId,
    /// The conversation's UUID.
    pub conversation_id: uuid::Uuid,
    /// The user's text, for other tabs.
    pub content: String,
    /// The message before the user's; absent for the first. What was shown after it is another branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<MessageId>,
    /// All versions of the user's message, as in [`crate::Message::siblings`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_siblings: Vec<MessageId>,
    /// All versions of the assistant's message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assistant_siblings: Vec<MessageId>,
    /// Who provides the model that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The catalog's name of that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A tool call is stored and about to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallStart {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments as the model wrote them; as one JSON string with their beginning when they are long.
    pub input: RawJson,
    /// How many UTF-8 bytes the arguments have as the model wrote them; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<i64>,
    /// Whether something was left out of the texts here; `GET /api/tool-calls/{id}` gives all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Where in the answer's text it happened, in UTF-8 bytes.
    pub offset: i64,
}

/// A tool call's result is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallEnd {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// What the tool gave back, or the beginning of it.
    pub output: Option<String>,
    /// How many UTF-8 bytes the output has; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<i64>,
    /// Whether something was left out of the texts here; `GET /api/tool-calls/{id}` gives all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Why it failed.
    pub error: Option<String>,
    /// The kind of failure, e.g. `timeout` or `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// How it ended.
    pub status: ToolCallStatus,
    /// How long it ran, in milliseconds.
    pub duration_ms: i64,
}

/// A model writes a call's arguments. Told a few times a second, without an id, and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallPreparing {
    /// The tool's name.
    pub tool_name: String,
    /// UTF-8 bytes of the arguments so far.
    pub bytes: u64,
}

/// A call that runs says how far it is. Told at most four times a second, without an id, and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallProgress {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// What is done, in the tool's own measure.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub progress: Number,
    /// What there is to do, in the same measure, where the tool knows.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// In the tool's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The model could not be asked, and will be asked again. Without an id, and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelRetry {
    /// A stable name of what went wrong, as in [`TurnError::code`].
    pub code: String,
    /// The attempt that comes next, from 2.
    pub attempt: u32,
    /// How many attempts there are in all.
    pub attempts: u32,
    /// How many milliseconds it is until then.
    pub delay_ms: u64,
}

/// The model wrote text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContentDelta {
    /// How many UTF-8 bytes of the answer precede `delta`; a reader drops what it already has.
    pub offset: i64,
    /// The new text.
    pub delta: String,
}

/// All is stored; the turn is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageEnd {
    /// Row id of the assistant's message.
    pub assistant_message_id: MessageId,
    /// The answer, whole.
    pub content: String,
    /// Every call of the turn, in the order asked for.
    pub tool_calls: Vec<ToolCall>,
    /// What the model showed of its thinking, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The plan that the answer is made by, in plan mode. Absent there, too, if no plan could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Mode of the answer. Absent for `react`.
    #[serde(default, skip_serializing_if = "AnswerMode::is_default")]
    pub mode: AnswerMode,
    /// `complete`, `stopped`, `interrupted` or `awaiting_approval`.
    pub status: MessageStatus,
    /// What cut the answer off, in words for the reader; only with `interrupted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A stable name of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Why the model stopped: `end_turn`, `max_tokens`, `refusal`, `step_limit`, …; absent when it did not.
    pub stop_reason: Option<String>,
    /// Tokens of the whole turn.
    pub usage: Usage,
    /// Who provides the model that wrote its last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The catalog's name of that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its model was told of the conversation, where that was not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
}

/// The turn failed; or, when it names no assistant's message (its frame has no id then), this reader cannot be served and
/// the turn may be closed later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnError {
    /// What went wrong and what to do next, in plain words.
    pub error: String,
    /// A stable name of the cause, e.g. `model_auth`, `model_unreachable`, `storage_unavailable`.
    pub code: String,
    /// Row id of the user's message, when it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message_id: Option<MessageId>,
    /// Row id of the assistant's message that failed; absent when the error concerns this reader alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assistant_message_id: Option<MessageId>,
}

/// The assistant's message as far as it is; replaces whatever the reader holds of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Snapshot {
    /// Row id of the assistant's message.
    pub assistant_message_id: MessageId,
    /// The lease under which the turn runs. It grows when the turn goes on after it was cut off, and only then may the
    /// text be less than it was.
    #[serde(default)]
    pub epoch: i32,
    /// The text so far.
    pub content: String,
    /// The calls so far.
    pub tool_calls: Vec<ToolCall>,
    /// What the model showed of its thinking so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The plan that the answer is made by, in plan mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Where the message stands.
    pub status: MessageStatus,
    /// Who provides the model that writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The catalog's name of that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What a reader of a turn receives.
#[derive(Clone, Debug, PartialEq, Eq)]
// Describes the frames of a stream: [`ChatEvent::name`] writes `event`, and [`ChatEvent::data`] writes `data`.
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    serde(tag = "event", content = "data", rename_all = "snake_case")
)]
pub enum ChatEvent {
    /// `message_start`
    MessageStart(MessageStart),
    /// `tool_call_start`
    ToolCallStart(ToolCallStart),
    /// `tool_call_end`
    ToolCallEnd(ToolCallEnd),
    /// `tool_call_preparing`
    ToolCallPreparing(ToolCallPreparing),
    /// `tool_call_progress`
    ToolCallProgress(ToolCallProgress),
    /// `approval_requested`
    ApprovalRequested(ApprovalRequested),
    /// `approval_decided`
    ApprovalDecided(ApprovalDecided),
    /// `tool_call_review`
    ToolCallReview(ToolCallReview),
    /// `model_retry`
    ModelRetry(ModelRetry),
    /// `plan`: the whole plan, when it is made and each time it is planned anew.
    Plan(Plan),
    /// `plan_step`
    PlanStep(PlanStepChanged),
    /// `reasoning_delta`
    ReasoningDelta(ReasoningDelta),
    /// `content_delta`
    ContentDelta(ContentDelta),
    /// `message_end`
    MessageEnd(MessageEnd),
    /// `error`
    Error(TurnError),
    /// `snapshot`
    Snapshot(Snapshot),
    /// A kind that this reader does not know yet; skipped, so that an old tab survives a new server.
    #[cfg_attr(feature = "openapi", serde(skip))]
    Unknown,
}

impl ChatEvent {
    /// Returns the SSE event name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MessageStart(_) => "message_start",
            Self::ToolCallStart(_) => "tool_call_start",
            Self::ToolCallEnd(_) => "tool_call_end",
            Self::ToolCallPreparing(_) => "tool_call_preparing",
            Self::ToolCallProgress(_) => "tool_call_progress",
            Self::ApprovalRequested(_) => "approval_requested",
            Self::ApprovalDecided(_) => "approval_decided",
            Self::ToolCallReview(_) => "tool_call_review",
            Self::ModelRetry(_) => "model_retry",
            Self::Plan(_) => "plan",
            Self::PlanStep(_) => "plan_step",
            Self::ReasoningDelta(_) => "reasoning_delta",
            Self::ContentDelta(_) => "content_delta",
            Self::MessageEnd(_) => "message_end",
            Self::Error(_) => "error",
            Self::Snapshot(_) => "snapshot",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the SSE data as JSON. It has several lines if a [`RawJson`] in it contains line breaks.
    pub fn data(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::MessageStart(data) => serde_json::to_string(data),
            Self::ToolCallStart(data) => serde_json::to_string(data),
            Self::ToolCallEnd(data) => serde_json::to_string(data),
            Self::ToolCallPreparing(data) => serde_json::to_string(data),
            Self::ToolCallProgress(data) => serde_json::to_string(data),
            Self::ApprovalRequested(data) => serde_json::to_string(data),
            Self::ApprovalDecided(data) => serde_json::to_string(data),
            Self::ToolCallReview(data) => serde_json::to_string(data),
            Self::ModelRetry(data) => serde_json::to_string(data),
            Self::Plan(data) => serde_json::to_string(data),
            Self::PlanStep(data) => serde_json::to_string(data),
            Self::ReasoningDelta(data) => serde_json::to_string(data),
            Self::ContentDelta(data) => serde_json::to_string(data),
            Self::MessageEnd(data) => serde_json::to_string(data),
            Self::Error(data) => serde_json::to_string(data),
            Self::Snapshot(data) => serde_json::to_string(data),
            Self::Unknown => Ok("null".to_owned()),
        }
    }

    /// Parses an event from its SSE name and data. An unknown name gives [`ChatEvent::Unknown`]. Fails if the data does not match
    /// the name.
    pub fn parse(name: &str, data: &str) -> Result<Self, serde_json::Error> {
        Ok(match name {
            "message_start" => Self::MessageStart(serde_json::from_str(data)?),
            "tool_call_start" => Self::ToolCallStart(serde_json::from_str(data)?),
            "tool_call_end" => Self::ToolCallEnd(serde_json::from_str(data)?),
            "tool_call_preparing" => Self::ToolCallPreparing(serde_json::from_str(data)?),
            "tool_call_progress" => Self::ToolCallProgress(serde_json::from_str(data)?),
            "approval_requested" => Self::ApprovalRequested(serde_json::from_str(data)?),
            "approval_decided" => Self::ApprovalDecided(serde_json::from_str(data)?),
            "tool_call_review" => Self::ToolCallReview(serde_json::from_str(data)?),
            "model_retry" => Self::ModelRetry(serde_json::from_str(data)?),
            "plan" => Self::Plan(serde_json::from_str(data)?),
            "plan_step" => Self::PlanStep(serde_json::from_str(data)?),
            "reasoning_delta" => Self::ReasoningDelta(serde_json::from_str(data)?),
            "content_delta" => Self::ContentDelta(serde_json::from_str(data)?),
            "message_end" => Self::MessageEnd(serde_json::from_str(data)?),
            "error" => Self::Error(serde_json::from_str(data)?),
            "snapshot" => Self::Snapshot(serde_json::from_str(data)?),
            _ => Self::Unknown,
        })
    }

    /// Returns `true` if the turn ends with this event. An error that names no message only means that this subscriber receives
    /// no more events. The end of the turn is still to come, perhaps over another connection. The frame's ID does not distinguish
    /// these errors, because an ID stays in force for the following frames.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::MessageEnd(_) => true,
            Self::Error(error) => error.assistant_message_id.is_some(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ChatEvent;

    #[test]
    fn an_error_ends_the_turn_whose_message_it_names_and_no_other() {
        let of_turn = r#"{"error":"No.","code":"model_auth","user_message_id":1,"assistant_message_id":2}"#;
        let of_reader = r#"{"error":"No.","code":"storage_unavailable"}"#;
        assert!(ChatEvent::parse("error", of_turn).unwrap().is_terminal());
        assert!(!ChatEvent::parse("error", of_reader).unwrap().is_terminal());
    }
}
