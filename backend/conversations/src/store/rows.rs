//! Rows of conversations, and their conversion to protocol types.

use chrono::{DateTime, Utc};
use tallybook_llm::AssistantBlock;
use tallybook_protocol::{
    AnswerMode, ContextTruncation, ConversationSummary, Feedback, Message, MessageFile, MessageId, MessagePart,
    MessageStatus, ModelInfo, RawJson, Role, ToolCall, ToolCallDecision, ToolCallId, ToolCallReview, ToolCallStatus,
    Usage,
};
use uuid::Uuid;

/// Row ID of a conversation. The API identifies conversations by UUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type)]
#[sqlx(transparent)]
pub struct ConversationId(pub i64);

/// A row of `conversations`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ConversationRow {
    pub id: ConversationId,
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
    pub title: String,
    pub head_message_id: Option<MessageId>,
    /// The turn that has claimed the conversation.
    pub active_message_id: Option<MessageId>,
    /// `true` if that turn waits for approval; otherwise the turn runs.
    pub awaiting_approval: bool,
    pub pinned: bool,
    pub archived: bool,
    /// Catalog name of the model that was chosen for the conversation.
    pub model: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// State of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct StateRow {
    #[sqlx(try_from = "String")]
    pub status: MessageStatus,
    pub epoch: i32,
}

/// Value of `messages.mode` for plan mode.
pub(crate) const PLAN_MODE: &str = "plan";

fn answer_mode(stored: Option<&str>) -> AnswerMode {
    if stored == Some(PLAN_MODE) { AnswerMode::Plan } else { AnswerMode::React }
}

/// A row of `messages`, without the columns that only leases need.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct MessageRow {
    pub id: MessageId,
    pub parent_id: Option<MessageId>,
    #[sqlx(try_from = "String")]
    pub role: Role,
    pub content: String,
    /// The parts that the user sent, as JSON, if there are several.
    #[sqlx(rename = "parts")]
    several_parts: Option<String>,
    #[sqlx(try_from = "String")]
    pub status: MessageStatus,
    pub error: Option<String>,
    pub error_code: Option<String>,
    pub stop_reason: Option<String>,
    pub epoch: i32,
    pub created_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
    /// Provider of the last step's model.
    pub provider: Option<String>,
    /// Catalog name of the model. For an answer from before the catalog existed, the provider's name of the last step's
    /// model.
    pub model: Option<String>,
    #[sqlx(flatten)]
    pub context: ContextRow,
    /// Mode of the answer; `None` for the default mode.
    pub mode: Option<String>,
    /// Byte offset in the text at which the steps of the plan end; `None` without a plan.
    pub plan_end: Option<i64>,
    #[sqlx(flatten)]
    feedback: FeedbackRow,
}

/// Columns that say which part of the conversation an answer's prompt contained.
#[derive(Clone, Debug, Default, sqlx::FromRow)]
pub(crate) struct ContextRow {
    /// The first message that was in the prompt in full; `None` if all were.
    pub told_from: Option<MessageId>,
    pub told_summary: Option<String>,
}

impl ContextRow {
    /// Converts the row; `None` if the prompt contained all messages.
    pub(crate) fn into_truncation(self) -> Option<ContextTruncation> {
        Some(ContextTruncation { from: self.told_from?, summary: self.told_summary })
    }
}

/// Columns with the feedback on a message.
#[derive(Clone, Debug, Default, sqlx::FromRow)]
pub struct FeedbackRow {
    rating: Option<String>,
    rating_reason: Option<String>,
}

impl FeedbackRow {
    /// Converts the row; `None` if the message is not rated.
    pub fn into_feedback(self) -> Option<Feedback> {
        Some(Feedback { rating: self.rating?.into(), reason: self.rating_reason })
    }
}

/// The answer that a row of `conversation_summaries` covers.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct SummaryRef {
    pub id: i64,
    pub message_id: MessageId,
}

/// A row of `conversation_summaries`, as exported.
#[derive(Clone, Debug, sqlx::FromRow, serde::Serialize)]
pub(crate) struct StoredSummary {
    /// The last answer that the summary covers.
    pub message_id: MessageId,
    pub summary: String,
    pub model: String,
    pub created_at: DateTime<Utc>,
}

/// A row of `tool_calls` or `copied_tool_calls`. Its texts are truncated to what the query asked for.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ToolCallRow {
    pub id: ToolCallId,
    pub message_id: MessageId,
    #[sqlx(rename = "tool_call_id")]
    pub provider_call_id: String,
    pub tool_name: String,
    pub input_text: String,
    pub input_bytes: i64,
    /// The input that the model proposed, if the user edited it.
    pub proposed_input_text: Option<String>,
    pub proposed_input_bytes: Option<i64>,
    pub output: Option<String>,
    pub output_bytes: Option<i64>,
    pub error: Option<String>,
    pub error_bytes: Option<i64>,
    pub error_type: Option<String>,
    #[sqlx(try_from = "String")]
    pub status: ToolCallStatus,
    pub step: i32,
    pub position: i32,
    pub text_offset: i64,
    /// Hash of the tool's definition when approval was requested.
    pub tool_hash: Option<String>,
    /// When the call was approved or denied.
    pub decided_at: Option<DateTime<Utc>>,
    pub started_at: DateTime<Utc>,
    pub duration_ms: Option<i64>,
    /// `true` if texts are truncated in the table: a share link showed only the beginning of what it copies.
    pub truncated: bool,
    /// Votes of the reviewing models; read only for clients.
    #[sqlx(skip)]
    pub reviews: Vec<ToolCallReview>,
    /// The last decision on the call; read only for clients.
    #[sqlx(skip)]
    pub decision: Option<ToolCallDecision>,
    /// Images that the tool returned.
    #[sqlx(skip)]
    pub files: Vec<MessageFile>,
}

/// Returns `true` if this is the ID of a copied call: the negated ID of a row of `copied_tool_calls`.
pub(crate) fn is_copied(id: ToolCallId) -> bool {
    id.0 < 0
}

/// Returns the row ID of a copied call.
pub(crate) fn row_of_copy(id: ToolCallId) -> i64 {
    id.0.saturating_neg()
}

/// The beginnings of a call's texts.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ToolCallTextsRow {
    pub id: ToolCallId,
    pub input_text: String,
    pub proposed_input_text: Option<String>,
    pub output: Option<String>,
    pub error: Option<String>,
}

/// A row of `model_calls` that is a step, with the columns that the history needs.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ModelCallRow {
    pub message_id: MessageId,
    pub step: i32,
    pub stop_reason: Option<String>,
    pub provider: String,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// Why the model failed; `None` if the model's answer is complete.
    pub error: Option<String>,
    pub blocks: String,
}

/// The position of a message in the tree. A parent is always older than its children, so cycles cannot occur. A
/// parent's key need not be smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct TreeNode {
    pub id: MessageId,
    /// The message before it; `None` for the first message, which has several versions once it has been edited.
    pub parent_id: Option<MessageId>,
}

/// Upper estimate of the size of a message in a prompt, in bytes.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct SizeRow {
    pub id: MessageId,
    pub bytes: i64,
    /// Number of tool calls.
    pub calls: i64,
    /// `true` if tools returned files.
    pub has_call_files: bool,
}

/// Usage of one turn: sums over its `model_calls`, without auxiliary calls.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct UsageRow {
    pub message_id: MessageId,
    #[sqlx(flatten)]
    tokens: TokensRow,
}

/// Sums over `model_calls`.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct TokensRow {
    input_tokens: i64,
    output_tokens: i64,
    cached_tokens: i64,
    cost_nanos: Option<i64>,
}

impl From<TokensRow> for Usage {
    fn from(row: TokensRow) -> Self {
        let TokensRow { input_tokens, output_tokens, cached_tokens, cost_nanos } = row;
        Self { input_tokens, output_tokens, cached_tokens, cost_nanos }
    }
}

impl UsageRow {
    /// Returns the usage as in the turn's end event.
    pub(crate) fn sum(self) -> Usage {
        self.tokens.into()
    }

    /// Returns the usage; `None` if the provider reports none.
    pub(crate) fn usage(self) -> Option<Usage> {
        Some(self.sum()).filter(|usage| *usage != Usage::default())
    }
}

impl ConversationRow {
    /// Returns the turn that runs in the conversation, or `None` if none runs.
    pub(crate) fn running_message_id(&self) -> Option<MessageId> {
        self.active_message_id.filter(|_| !self.awaiting_approval)
    }

    pub(crate) fn summary(&self) -> ConversationSummary {
        ConversationSummary {
            uuid: self.uuid,
            title: self.title.clone(),
            running: self.running_message_id().is_some(),
            awaiting_approval: self.awaiting_approval,
            pinned: self.pinned,
            archived: self.archived,
            model: self.model.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

impl MessageRow {
    pub(crate) fn is_user(&self) -> bool {
        self.role == Role::User
    }

    /// Returns the parts of a user's message. If there is one part, it is the content.
    pub(crate) fn parts(&self) -> Vec<MessagePart> {
        let several = self.several_parts.as_deref().and_then(|parts| serde_json::from_str(parts).ok());
        several.unwrap_or_else(|| vec![MessagePart::Text { text: self.content.clone() }])
    }

    /// Returns `true` if the user attached files to the message.
    pub(crate) fn has_files(&self) -> bool {
        self.several_parts.is_some() && self.parts().iter().any(|part| part.file_id().is_some())
    }

    /// Returns the answer's mode.
    pub(crate) fn answer_mode(&self) -> AnswerMode {
        answer_mode(self.mode.as_deref())
    }

    /// Returns the final text of a complete answer in plan mode, without the texts of the plan's steps. Returns `None`
    /// for other answers, or if the final text is empty.
    pub(crate) fn answer_by_plan(&self) -> Option<&str> {
        let end = self.plan_end.filter(|_| self.status == MessageStatus::Complete)?;
        let answer = self.content.get(usize::try_from(end).ok()?..)?.trim_start_matches('\n');
        Some(answer).filter(|answer| !answer.is_empty())
    }

    pub(crate) fn into_message(self, tool_calls: Vec<ToolCall>, usage: Option<Usage>) -> Message {
        Message {
            id: self.id,
            mode: self.answer_mode(),
            role: self.role,
            epoch: self.epoch,
            status: self.status,
            content: self.content,
            files: Vec::new(),
            error: self.error,
            error_code: self.error_code,
            stop_reason: self.stop_reason,
            tool_calls,
            reasoning: Vec::new(),
            plan: None,
            siblings: Vec::new(),
            usage,
            provider: self.provider,
            model: self.model,
            context: self.context.into_truncation(),
            feedback: self.feedback.into_feedback(),
            created_at: self.created_at,
            completed_at: self.completed_at,
        }
    }
}

impl ModelCallRow {
    /// Returns the blocks of the model's answer. If they cannot be parsed, the list is empty, and only the step's tool
    /// calls are in the history.
    pub(crate) fn blocks(&self) -> Vec<AssistantBlock> {
        let mut blocks: Vec<AssistantBlock> = serde_json::from_str(&self.blocks).unwrap_or_default();
        for block in &mut blocks {
            if let AssistantBlock::ToolCall(call) = block {
                let (provider, model) = (self.provider.clone(), self.model.clone());
                call.written_by = Some(ModelInfo { provider, model });
            }
        }
        blocks
    }
}

/// Error text of a call that never began: it waited for approval, or for earlier calls.
pub(crate) const NOT_STARTED: &str = "The answer ended before this call began. It has not run.";

/// Error type of a call that was denied.
pub(crate) const DENIED_TYPE: &str = "denied";

/// Error type of a call that never began.
pub(crate) const NOT_STARTED_TYPE: &str = "not_started";

impl ToolCallRow {
    /// Returns `true` if the call was approved and has not begun.
    pub(crate) fn is_approved(&self) -> bool {
        self.status == ToolCallStatus::AwaitingApproval && self.decided_at.is_some()
    }

    /// Ends an open call as [`super::tool_calls::end_open_tool_calls`] does.
    pub(crate) fn end_if_open(&mut self, error: &str) {
        let (status, error, error_type) = match self.status {
            ToolCallStatus::Pending => (ToolCallStatus::Interrupted, error, ToolCallStatus::Interrupted.as_str()),
            ToolCallStatus::AwaitingApproval => (ToolCallStatus::Cancelled, NOT_STARTED, NOT_STARTED_TYPE),
            _ => return,
        };
        self.status = status;
        self.error = Some(error.to_owned());
        self.error_type = Some(error_type.to_owned());
    }

    /// Converts the row. If its texts are truncated, the result is marked as truncated.
    pub(crate) fn to_tool_call(&self) -> ToolCall {
        let is_cut = |text: Option<&str>, bytes: Option<i64>| {
            let held = text.map(|text| i64::try_from(text.len()).unwrap_or(i64::MAX));
            held.zip(bytes).is_some_and(|(held, bytes)| held < bytes)
        };
        let input_is_cut = is_cut(Some(&self.input_text), Some(self.input_bytes));
        let proposed_is_cut = is_cut(self.proposed_input_text.as_deref(), self.proposed_input_bytes);
        let json = |text: &str, is_cut: bool| if is_cut { RawJson::string(text) } else { RawJson::from_text(text) };
        let truncated = self.truncated
            || input_is_cut
            || proposed_is_cut
            || is_cut(self.output.as_deref(), self.output_bytes)
            || is_cut(self.error.as_deref(), self.error_bytes);
        ToolCall {
            tool_call_id: self.id,
            tool_name: self.tool_name.clone(),
            input: json(&self.input_text, input_is_cut),
            input_bytes: truncated.then_some(self.input_bytes),
            proposed_input: self.proposed_input_text.as_deref().map(|text| json(text, proposed_is_cut)),
            offset: self.text_offset,
            // The decision is made, and the call is about to run.
            status: if self.is_approved() { ToolCallStatus::Pending } else { self.status },
            output: self.output.clone(),
            output_bytes: self.output_bytes.filter(|_| truncated),
            error: self.error.clone(),
            error_type: self.error_type.clone(),
            truncated,
            duration_ms: self.duration_ms,
            started_at: self.started_at,
            reviews: self.reviews.clone(),
            decision: self.decision.clone(),
            files: self.files.clone(),
        }
    }
}
