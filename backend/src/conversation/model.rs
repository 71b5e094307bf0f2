//! What is stored of conversations, as rows, and how rows become what the wire carries.

use chrono::{DateTime, Utc};
use tallybook_protocol::{ConversationSummary, Message, MessageStatus, RawJson, Role, ToolCall, ToolCallStatus, Usage};
use uuid::Uuid;

use crate::llm::AssistantBlock;

/// A row of `conversations`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ConversationRow {
    pub(crate) id: i64,
    pub(crate) uuid: String,
    pub(crate) title: String,
    pub(crate) head_message_id: Option<i64>,
    pub(crate) active_message_id: Option<i64>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

/// A row of `messages`, without what only leases need.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct MessageRow {
    pub(crate) id: i64,
    pub(crate) parent_id: Option<i64>,
    pub(crate) role: String,
    pub(crate) content: String,
    pub(crate) status: String,
    pub(crate) error: Option<String>,
    pub(crate) error_code: Option<String>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) epoch: i32,
    pub(crate) created_at: DateTime<Utc>,
}

/// A row of `tool_calls`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ToolCallRow {
    pub(crate) id: i64,
    pub(crate) message_id: i64,
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: String,
    pub(crate) input_text: String,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) error_type: Option<String>,
    pub(crate) status: String,
    pub(crate) step: i32,
    pub(crate) position: i32,
    pub(crate) text_offset: i64,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) duration_ms: Option<i64>,
}

/// A row of `model_calls`, as far as history and usage need it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ModelCallRow {
    pub(crate) message_id: i64,
    pub(crate) step: i32,
    pub(crate) stop_reason: Option<String>,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) cached_tokens: i64,
    /// Why the model failed; absent when its answer is whole.
    pub(crate) error: Option<String>,
    pub(crate) blocks: String,
}

/// What one turn cost: the sums over its `model_calls`.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct UsageRow {
    pub(crate) message_id: i64,
    input_tokens: i64,
    output_tokens: i64,
    cached_tokens: i64,
}

impl UsageRow {
    /// `None` where the provider counts nothing.
    pub(crate) fn usage(self) -> Option<Usage> {
        let Self { input_tokens, output_tokens, cached_tokens, .. } = self;
        Some(Usage { input_tokens, output_tokens, cached_tokens }).filter(|usage| *usage != Usage::default())
    }
}

impl ConversationRow {
    pub(crate) fn summary(&self) -> ConversationSummary {
        ConversationSummary {
            // The column is only ever written from a Uuid; should it hold anything else, the nil UUID finds nothing.
            uuid: Uuid::parse_str(&self.uuid).unwrap_or_default(),
            title: self.title.clone(),
            running: self.active_message_id.is_some(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

impl MessageRow {
    pub(crate) fn is_user(&self) -> bool {
        self.role == "user"
    }

    pub(crate) fn status(&self) -> MessageStatus {
        match self.status.as_str() {
            "complete" => MessageStatus::Complete,
            "streaming" => MessageStatus::Streaming,
            "stopped" => MessageStatus::Stopped,
            "failed" => MessageStatus::Failed,
            "interrupted" => MessageStatus::Interrupted,
            _ => MessageStatus::Unknown,
        }
    }

    pub(crate) fn into_message(self, tool_calls: Vec<ToolCall>, usage: Option<Usage>) -> Message {
        Message {
            id: self.id,
            role: if self.is_user() { Role::User } else { Role::Assistant },
            epoch: self.epoch,
            status: self.status(),
            content: self.content,
            error: self.error,
            error_code: self.error_code,
            stop_reason: self.stop_reason,
            tool_calls,
            siblings: Vec::new(),
            usage,
            created_at: self.created_at,
        }
    }
}

impl ModelCallRow {
    /// What the model said. A step that cannot be read is told by its calls alone.
    pub(crate) fn blocks(&self) -> Vec<AssistantBlock> {
        serde_json::from_str(&self.blocks).unwrap_or_default()
    }

    /// Tokens of the step.
    pub(crate) fn usage(&self) -> Usage {
        let Self { input_tokens, output_tokens, cached_tokens, .. } = *self;
        Usage { input_tokens, output_tokens, cached_tokens }
    }
}

impl ToolCallRow {
    pub(crate) fn to_tool_call(&self) -> ToolCall {
        ToolCall {
            tool_call_id: self.id,
            tool_name: self.tool_name.clone(),
            input: RawJson::from_text(&self.input_text),
            offset: self.text_offset,
            status: tool_call_status(&self.status),
            output: self.output.clone(),
            error: self.error.clone(),
            duration_ms: self.duration_ms,
            started_at: self.started_at,
        }
    }
}

/// Tells of calls that are open as of ones that were interrupted.
pub(crate) fn interrupt_open(calls: &mut [ToolCall], error: &str) {
    let open = |call: &&mut ToolCall| matches!(call.status, ToolCallStatus::Pending | ToolCallStatus::AwaitingApproval);
    for call in calls.iter_mut().filter(open) {
        call.status = ToolCallStatus::Interrupted;
        call.error = Some(error.to_owned());
    }
}

/// What the `status` column of `tool_calls` says.
pub(crate) fn tool_call_status(word: &str) -> ToolCallStatus {
    match word {
        "pending" => ToolCallStatus::Pending,
        "awaiting_approval" => ToolCallStatus::AwaitingApproval,
        "success" => ToolCallStatus::Success,
        "error" => ToolCallStatus::Error,
        "denied" => ToolCallStatus::Denied,
        "cancelled" => ToolCallStatus::Cancelled,
        "interrupted" => ToolCallStatus::Interrupted,
        _ => ToolCallStatus::Unknown,
    }
}

/// The word that the `status` column of `tool_calls` holds.
pub(crate) fn tool_call_status_word(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Pending => "pending",
        ToolCallStatus::AwaitingApproval => "awaiting_approval",
        ToolCallStatus::Success => "success",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        ToolCallStatus::Interrupted => "interrupted",
        // `Unknown` is for readers only and never written.
        ToolCallStatus::Error | ToolCallStatus::Unknown => "error",
    }
}
