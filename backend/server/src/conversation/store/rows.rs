//! What is stored of conversations, as rows, and how rows become what the wire carries.

use chrono::{DateTime, Utc};
use tallybook_llm::AssistantBlock;
use tallybook_protocol::{
    AnswerMode, ConversationSummary, Message, MessageId, MessagePart, MessageStatus, ModelInfo, RawJson, Role, Told,
    ToolCall, ToolCallDecision, ToolCallId, ToolCallReview, ToolCallStatus, Usage,
};
use uuid::Uuid;

/// Row id of a conversation. On the wire conversations are known by their UUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type)]
#[sqlx(transparent)]
pub(crate) struct ConversationId(pub(crate) i64);

/// A row of `conversations`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ConversationRow {
    pub(crate) id: ConversationId,
    #[sqlx(try_from = "String")]
    pub(crate) uuid: Uuid,
    pub(crate) title: String,
    pub(crate) head_message_id: Option<MessageId>,
    /// The turn that has claimed it.
    pub(crate) active_message_id: Option<MessageId>,
    /// Whether that turn waits for consent; otherwise it runs.
    pub(crate) awaiting_approval: bool,
    pub(crate) pinned: bool,
    pub(crate) archived: bool,
    /// The catalog's name of the model that was chosen for it.
    pub(crate) model: Option<String>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct StateRow {
    #[sqlx(try_from = "String")]
    pub(crate) status: MessageStatus,
    pub(crate) epoch: i32,
}

/// Which model wrote an answer, and how, as in [`MessageRow`].
#[derive(Clone, Debug, Default, sqlx::FromRow)]
pub(crate) struct AuthorRow {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    mode: Option<String>,
}

impl AuthorRow {
    /// Mode of the answer.
    pub(crate) fn answer_mode(&self) -> AnswerMode {
        answer_mode(self.mode.as_deref())
    }
}

/// Stands in `messages.mode`.
pub(crate) const PLAN_MODE: &str = "plan";

fn answer_mode(stored: Option<&str>) -> AnswerMode {
    if stored == Some(PLAN_MODE) { AnswerMode::Plan } else { AnswerMode::React }
}

/// A row of `messages`, without what only leases need.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct MessageRow {
    pub(crate) id: MessageId,
    pub(crate) parent_id: Option<MessageId>,
    #[sqlx(try_from = "String")]
    pub(crate) role: Role,
    pub(crate) content: String,
    /// The parts of what a person sent, as JSON, where there are several.
    #[sqlx(rename = "parts")]
    several_parts: Option<String>,
    #[sqlx(try_from = "String")]
    pub(crate) status: MessageStatus,
    pub(crate) error: Option<String>,
    pub(crate) error_code: Option<String>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) epoch: i32,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) completed_at: Option<DateTime<Utc>>,
    /// Of its last step.
    pub(crate) provider: Option<String>,
    /// The catalog's name; of an answer of before there was a catalog, the provider's name in its last step.
    pub(crate) model: Option<String>,
    #[sqlx(flatten)]
    pub(crate) told: ToldRow,
    /// How it was made, where that is not as most are.
    pub(crate) mode: Option<String>,
    /// Where in its text the steps of its plan end; absent where it has none.
    pub(crate) plan_end: Option<i64>,
}

/// What an answer's model was told in place of the whole conversation.
#[derive(Clone, Debug, Default, sqlx::FromRow)]
pub(crate) struct ToldRow {
    /// The first message that it was told whole; absent where it was told all.
    pub(crate) told_from: Option<MessageId>,
    pub(crate) told_summary: Option<String>,
}

impl ToldRow {
    /// As the wire carries it.
    pub(crate) fn told(self) -> Option<Told> {
        Some(Told { from: self.told_from?, summary: self.told_summary })
    }
}

/// Which answer a row of `conversation_summaries` covers.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct SummaryPlace {
    pub(crate) id: i64,
    pub(crate) message_id: MessageId,
}

/// A row of `conversation_summaries`, as files have it.
#[derive(Clone, Debug, sqlx::FromRow, serde::Serialize)]
pub(crate) struct StoredSummary {
    /// The answer that it covers.
    pub(crate) message_id: MessageId,
    pub(crate) summary: String,
    pub(crate) model: String,
    pub(crate) created_at: DateTime<Utc>,
}

/// A row of `tool_calls`, with as much of its texts as was asked for.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ToolCallRow {
    pub(crate) id: ToolCallId,
    pub(crate) message_id: MessageId,
    #[sqlx(rename = "tool_call_id")]
    pub(crate) provider_call_id: String,
    pub(crate) tool_name: String,
    pub(crate) input_text: String,
    pub(crate) input_bytes: i64,
    /// What the model had asked for, where a person changed it.
    pub(crate) proposed_input_text: Option<String>,
    pub(crate) proposed_input_bytes: Option<i64>,
    pub(crate) output: Option<String>,
    pub(crate) output_bytes: Option<i64>,
    pub(crate) error: Option<String>,
    pub(crate) error_bytes: Option<i64>,
    pub(crate) error_type: Option<String>,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) step: i32,
    pub(crate) position: i32,
    pub(crate) text_offset: i64,
    /// Of the tool when consent was asked for.
    pub(crate) tool_hash: Option<String>,
    /// When somebody decided on it.
    pub(crate) decided_at: Option<DateTime<Utc>>,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) duration_ms: Option<i64>,
    /// What reviewing models said of it; read only where the wire carries it.
    #[sqlx(skip)]
    pub(crate) reviews: Vec<ToolCallReview>,
    /// The last decision on it; read only where the wire carries it.
    #[sqlx(skip)]
    pub(crate) decision: Option<ToolCallDecision>,
}

/// The beginnings of a call's texts.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ToolCallTextsRow {
    pub(crate) id: ToolCallId,
    pub(crate) input_text: String,
    pub(crate) proposed_input_text: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
}

/// A row of `model_calls` that is a step, as far as history needs it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ModelCallRow {
    pub(crate) message_id: MessageId,
    pub(crate) step: i32,
    pub(crate) stop_reason: Option<String>,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    /// Why the model failed; absent when its answer is whole.
    pub(crate) error: Option<String>,
    pub(crate) blocks: String,
}

/// Where a message stands. A parent is always older than its children, so there are no cycles; its key need not be smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct TreeNode {
    pub(crate) id: MessageId,
    /// The message before it; `None` for the first, of which there are several once it has been edited.
    pub(crate) parent_id: Option<MessageId>,
}

/// About how much a model would be told of a message: at least as many bytes as it is.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct SizeRow {
    pub(crate) id: MessageId,
    pub(crate) bytes: i64,
    /// How many tool calls it has.
    pub(crate) calls: i64,
}

/// What one turn cost: the sums over its `model_calls`, but for what was asked when it was over.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct UsageRow {
    pub(crate) message_id: MessageId,
    #[sqlx(flatten)]
    tokens: TokensRow,
}

/// Sums over `model_calls`.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct TokensRow {
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
    /// As the turn's end tells it.
    pub(crate) fn sum(self) -> Usage {
        self.tokens.into()
    }

    /// `None` where the provider counts nothing.
    pub(crate) fn usage(self) -> Option<Usage> {
        Some(self.sum()).filter(|usage| *usage != Usage::default())
    }
}

impl ConversationRow {
    /// The turn that runs.
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

    /// What a person sent. One part is the content.
    pub(crate) fn parts(&self) -> Vec<MessagePart> {
        let several = self.several_parts.as_deref().and_then(|parts| serde_json::from_str(parts).ok());
        several.unwrap_or_else(|| vec![MessagePart::Text { text: self.content.clone() }])
    }

    /// How it is made.
    pub(crate) fn answer_mode(&self) -> AnswerMode {
        answer_mode(self.mode.as_deref())
    }

    /// What of a whole answer that was made by a plan is said in the end; the rest is how it was found.
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
            told: self.told.told(),
            created_at: self.created_at,
            completed_at: self.completed_at,
        }
    }
}

impl ModelCallRow {
    /// What the model said. A step that cannot be read is told by its calls alone.
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

/// Said of a call that never began: it waited for consent, or for those before it.
pub(crate) const NOT_STARTED: &str = "The answer ended before this call began. It has not run.";

/// The kind of failure of a call that was denied.
pub(crate) const DENIED_TYPE: &str = "denied";

/// The kind of failure of that.
pub(crate) const NOT_STARTED_TYPE: &str = "not_started";

impl ToolCallRow {
    /// Whether it waited for consent, was approved, and has not begun.
    pub(crate) fn is_approved(&self) -> bool {
        self.status == ToolCallStatus::AwaitingApproval && self.decided_at.is_some()
    }

    /// What [`super::tool_calls::end_open_tool_calls`] makes of it.
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

    /// The call as the wire carries it. Where the texts here are only the beginnings of what is stored, it says so.
    pub(crate) fn to_tool_call(&self) -> ToolCall {
        let is_cut = |text: Option<&str>, bytes: Option<i64>| {
            let held = text.map(|text| i64::try_from(text.len()).unwrap_or(i64::MAX));
            held.zip(bytes).is_some_and(|(held, bytes)| held < bytes)
        };
        let input_is_cut = is_cut(Some(&self.input_text), Some(self.input_bytes));
        let proposed_is_cut = is_cut(self.proposed_input_text.as_deref(), self.proposed_input_bytes);
        let json = |text: &str, is_cut: bool| if is_cut { RawJson::string(text) } else { RawJson::from_text(text) };
        let truncated = input_is_cut
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
            // Whoever may decide has done so, and it is about to run.
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
        }
    }
}
