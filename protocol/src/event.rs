//! Chat events, which subscribers of a turn receive. One struct per kind, and the mapping of kinds to SSE event names.
//! Applying an event twice changes nothing, so a client may join late, reconnect, or receive events again.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::{
    AnswerMode, ApprovalDecided, ApprovalRequested, ContextTruncation, MessageFile, MessageId, MessageStatus, Plan,
    PlanStepChanged, RawJson, Reasoning, ReasoningDelta, ToolCall, ToolCallId, ToolCallReview, ToolCallStatus, Usage,
};

/// The user's message is stored and a turn has started.
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
    /// The files of the user's message. The part that the model receives is not known yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MessageFile>,
    /// Row id of the message before the user's; absent for the first message. Messages that were shown after it are now
    /// on another branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<MessageId>,
    /// All versions of the user's message, as in [`crate::Message::siblings`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_siblings: Vec<MessageId>,
    /// All versions of the assistant's message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assistant_siblings: Vec<MessageId>,
    /// Provider of the model that answers.
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
    /// The arguments as the model wrote them. If they are too long, one JSON string with their beginning.
    pub input: RawJson,
    /// Length of the arguments as the model wrote them, in UTF-8 bytes; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<i64>,
    /// `true` if texts here are truncated. `GET /api/tool-calls/{id}` returns them in full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Position of the call in the answer's text, in UTF-8 bytes.
    pub offset: i64,
}

/// A tool call's result is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallEnd {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The tool's output, or its beginning if it is too long.
    pub output: Option<String>,
    /// Length of the output in UTF-8 bytes; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<i64>,
    /// `true` if texts here are truncated. `GET /api/tool-calls/{id}` returns them in full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The reason for a failure.
    pub error: Option<String>,
    /// The kind of failure, e.g. `timeout` or `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Final status of the call.
    pub status: ToolCallStatus,
    /// Duration of the call, in milliseconds.
    pub duration_ms: i64,
    /// Images that the tool returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MessageFile>,
}

/// The model is writing a call's arguments. Sent a few times a second, without an ID, and not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallPreparing {
    /// The tool's name.
    pub tool_name: String,
    /// Length of the arguments so far, in UTF-8 bytes.
    pub bytes: u64,
}

/// Progress of a running call. Sent at most four times a second, without an ID, and not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallProgress {
    /// Row id of the call.
    pub tool_call_id: ToolCallId,
    /// The amount that is done, in the tool's own unit.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub progress: Number,
    /// The total amount, in the same unit; absent if the tool does not know it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// A message from the tool; absent if it sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A model request failed and will be retried. Sent without an ID, and not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelRetry {
    /// Stable name of the cause, as in [`TurnError::code`].
    pub code: String,
    /// Number of the next attempt, from 2.
    pub attempt: u32,
    /// Total number of attempts.
    pub attempts: u32,
    /// Delay before the next attempt, in milliseconds.
    pub delay_ms: u64,
}

/// The model wrote text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContentDelta {
    /// Length of the answer before `delta`, in UTF-8 bytes. Clients drop text that they already have.
    pub offset: i64,
    /// The new text.
    pub delta: String,
}

/// The turn has ended or paused, and all of it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageEnd {
    /// Row id of the assistant's message.
    pub assistant_message_id: MessageId,
    /// The complete text of the answer.
    pub content: String,
    /// All calls of the turn, in the order in which the model requested them.
    pub tool_calls: Vec<ToolCall>,
    /// The model's reasoning, one item per step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The plan that the answer follows, in plan mode. Also absent in plan mode if no plan could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Mode of the answer. Absent for `react`.
    #[serde(default, skip_serializing_if = "AnswerMode::is_default")]
    pub mode: AnswerMode,
    /// `complete`, `stopped`, `interrupted` or `awaiting_approval`.
    pub status: MessageStatus,
    /// A message for the user that says why the answer ended early; only with `interrupted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Stable name of the cause of `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Reason why the model stopped: `end_turn`, `max_tokens`, `refusal`, `step_limit`, …; null if it did not stop by
    /// itself.
    pub stop_reason: Option<String>,
    /// Tokens of the whole turn.
    pub usage: Usage,
    /// Provider of the model that wrote the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The catalog's name of that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The part of the conversation that the model received; absent if it received all of it.
    #[serde(rename = "told", default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextTruncation>,
    /// The files of the user's message, each with the part that the model received.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MessageFile>,
    /// `true` if the turn ended because its conversation was deleted. Absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversation_deleted: bool,
}

/// The turn failed. Without `assistant_message_id`, only this stream failed: the frame has no ID, and the turn may
/// still be running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnError {
    /// A message for the user: the problem, and what to do next.
    pub error: String,
    /// Stable name of the cause, for example `model_auth`, `model_unreachable` or `storage_unavailable`.
    pub code: String,
    /// Row id of the user's message; absent if the message is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message_id: Option<MessageId>,
    /// Row id of the assistant's message that failed; absent if the error concerns only this stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assistant_message_id: Option<MessageId>,
}

/// The assistant's message so far. It replaces everything that the client has of this message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Snapshot {
    /// Row id of the assistant's message.
    pub assistant_message_id: MessageId,
    /// Number of the turn's lease. It grows each time the turn resumes. Only then can the text be shorter than before.
    #[serde(default)]
    pub epoch: i32,
    /// The text so far.
    pub content: String,
    /// The calls so far.
    pub tool_calls: Vec<ToolCall>,
    /// The model's reasoning so far, one item per step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The plan that the answer follows, in plan mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Status of the message.
    pub status: MessageStatus,
    /// Provider of the model that writes the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The catalog's name of that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// An event of a turn, as its subscribers receive it.
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
    /// `plan`: the whole plan, when it is made and each time it is revised.
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
    /// A kind that this version does not know. Clients skip it, so an old page works with a new server.
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

    /// Parses an event from its SSE name and data. An unknown name gives [`ChatEvent::Unknown`]. Fails if the data does
    /// not match the name.
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

    /// Returns `true` if the turn ends with this event. An error that names no message ends only this subscription: the
    /// turn is still running, and its end may arrive over another connection. The frame's ID does not distinguish these
    /// errors, because an ID also applies to the following frames.
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
    fn only_an_error_that_names_a_message_ends_its_turn() {
        let of_turn = r#"{"error":"No.","code":"model_auth","user_message_id":1,"assistant_message_id":2}"#;
        let of_reader = r#"{"error":"No.","code":"storage_unavailable"}"#;
        assert!(ChatEvent::parse("error", of_turn).unwrap().is_terminal());
        assert!(!ChatEvent::parse("error", of_reader).unwrap().is_terminal());
    }
}
