//! SQL that reads one call, with its turn around it, or a conversation, whosever they are.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Select, select};
use tallybook_protocol::{
    ApprovalScope, DeciderKind, Decision, MessageId, MessageStatus, Role, ToolCallId, ToolCallStatus, Verdict,
};

use super::sql::list_by_ids;
use crate::{accounts::UserId, conversation::ConversationId};

const FIND_CALL: &str = "SELECT t.id, t.message_id, t.tool_call_id, t.tool_name, t.server, t.status, t.started_at, \
     t.completed_at, t.duration_ms, t.decided_at, t.tool_hash IS NOT NULL AS asked_consent, t.error_type, \
     m.status AS turn_status, m.model, c.uuid, c.title, c.user_id, u.name AS user_name, \
     COALESCE(c.deleted_at, u.deleted_at) AS deleted_at, \
     SUBSTR(t.input_text, 1, ?) AS input, OCTET_LENGTH(t.input_text) AS input_bytes, \
     SUBSTR(t.proposed_input_text, 1, ?) AS proposed_input, OCTET_LENGTH(t.proposed_input_text) AS proposed_input_bytes, \
     SUBSTR(t.output, 1, ?) AS output, OCTET_LENGTH(t.output) AS output_bytes, \
     SUBSTR(t.error, 1, ?) AS error, OCTET_LENGTH(t.error) AS error_bytes FROM tool_calls t \
     JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
     JOIN users u ON u.id = c.user_id WHERE t.id = ?";

const LIST_DECISIONS: &str = "SELECT decision, decided_by, decided_by_kind, decided_by_user_id, reason, scope, created_at FROM approvals \
     WHERE tool_call_id = ? ORDER BY created_at, id LIMIT ?";

const LIST_VOTES: &str = "SELECT model, verdict, reason, duration_ms FROM tool_call_reviews \
     WHERE tool_call_id = ? ORDER BY created_at, id LIMIT ?";

// MySQL keeps purposes as an enumeration. Calls beside a turn's steps come in the order in which they were over.
const LIST_MODEL_CALLS_OF: Select = select!(
    "SELECT message_id, CAST(purpose AS CHAR(32)) AS purpose, provider, model, \
     input_tokens, output_tokens, cost_nanos, attempts, error, duration_ms, created_at FROM model_calls \
     WHERE message_id IN ("
);

const LIST_CALLS: &str = "SELECT id, message_id, tool_name, status, started_at, duration_ms FROM tool_calls \
     WHERE message_id = ? ORDER BY step, position LIMIT ?";

const LIST_CALLS_OF: Select = select!(
    "SELECT id, message_id, tool_name, status, started_at, duration_ms FROM tool_calls \
     WHERE message_id IN ("
);

const LIST_THOUGHTS_OF: &str = "SELECT message_id, SUBSTR(words, 1, ?) AS words, OCTET_LENGTH(words) AS words_bytes, \
     duration_ms FROM reasonings WHERE message_id IN (";

const FIND_CONVERSATION: &str = "SELECT c.id, c.uuid, c.title, c.user_id, u.name AS user_name, c.created_at, \
     COALESCE(c.deleted_at, u.deleted_at) AS deleted_at \
     FROM conversations c JOIN users u ON u.id = c.user_id WHERE c.uuid = ?";

const LIST_MESSAGES: &str = "SELECT id, role, SUBSTR(content, 1, ?) AS content, OCTET_LENGTH(content) AS content_bytes, \
     status, error, model, told_from, \
     (SELECT s.summary FROM conversation_summaries s WHERE s.id = messages.summary_id) AS told_summary, created_at \
     FROM messages WHERE conversation_id = ? \
     AND (created_at, id) >= (SELECT f.created_at, f.id FROM messages f WHERE f.conversation_id = ? AND ? IN (0, f.id) \
     ORDER BY f.created_at, f.id LIMIT 1) ORDER BY created_at, id LIMIT ?";

const FIND_USER_NAME: &str = "SELECT name FROM users WHERE id = ?";

/// A call, with the beginnings of its texts.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct WholeCallRow {
    pub(crate) id: ToolCallId,
    pub(crate) message_id: MessageId,
    /// The provider's id of it.
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: String,
    pub(crate) server: String,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) completed_at: Option<DateTime<Utc>>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) decided_at: Option<DateTime<Utc>>,
    /// Whether it was one that needs consent.
    pub(in crate::book) asked_consent: bool,
    pub(crate) error_type: Option<String>,
    #[sqlx(try_from = "String")]
    pub(crate) turn_status: MessageStatus,
    pub(crate) model: Option<String>,
    /// Of its conversation.
    pub(crate) uuid: String,
    pub(crate) title: String,
    pub(crate) user_id: UserId,
    pub(crate) user_name: String,
    /// Of its conversation, or else of its owner's account.
    pub(in crate::book) deleted_at: Option<DateTime<Utc>>,
    pub(crate) input: String,
    pub(crate) input_bytes: i64,
    /// What the model had asked for, where a person changed it.
    pub(crate) proposed_input: Option<String>,
    pub(crate) proposed_input_bytes: Option<i64>,
    pub(crate) output: Option<String>,
    pub(crate) output_bytes: Option<i64>,
    pub(crate) error: Option<String>,
    pub(crate) error_bytes: Option<i64>,
}

/// What was decided on a call.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DecisionRow {
    #[sqlx(try_from = "String")]
    pub(crate) decision: Decision,
    pub(crate) decided_by: String,
    #[sqlx(try_from = "Option<String>")]
    pub(crate) decided_by_kind: DeciderKind,
    pub(crate) decided_by_user_id: Option<i64>,
    pub(crate) reason: Option<String>,
    #[sqlx(try_from = "Option<String>")]
    pub(crate) scope: Reach,
    pub(crate) created_at: DateTime<Utc>,
}

/// How far a decision reaches; nowhere beyond its own call, where that is nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach(pub(crate) Option<ApprovalScope>);

impl From<Option<String>> for Reach {
    fn from(word: Option<String>) -> Self {
        Self(word.map(ApprovalScope::from))
    }
}

/// What a reviewing model said of a call.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct VoteRow {
    pub(crate) model: String,
    #[sqlx(try_from = "String")]
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) duration_ms: i64,
}

/// What a model showed of its thinking in a step.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ThoughtRow {
    pub(crate) message_id: MessageId,
    pub(crate) words: String,
    pub(crate) words_bytes: i64,
    pub(crate) duration_ms: Option<i64>,
}

/// A model call, of a step or beside it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ModelCallOfTurnRow {
    pub(crate) message_id: MessageId,
    /// What the model was asked for, which is an open set.
    pub(crate) purpose: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) cost_nanos: Option<i64>,
    pub(crate) attempts: i32,
    pub(crate) error: Option<String>,
    pub(crate) duration_ms: i64,
    /// When it was over.
    pub(crate) created_at: DateTime<Utc>,
}

/// A call as its turn shows it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct CallOfTurnRow {
    pub(crate) id: ToolCallId,
    pub(crate) message_id: MessageId,
    pub(crate) tool_name: String,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) duration_ms: Option<i64>,
}

/// A conversation, whosever it is.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct WholeConversationRow {
    pub(in crate::book) id: ConversationId,
    pub(crate) uuid: String,
    pub(crate) title: String,
    pub(crate) user_id: UserId,
    pub(crate) user_name: String,
    pub(crate) created_at: DateTime<Utc>,
    /// Or else when its owner's account was.
    pub(in crate::book) deleted_at: Option<DateTime<Utc>>,
}

/// A message, with the beginning of its text.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct WholeMessageRow {
    pub(crate) id: MessageId,
    #[sqlx(try_from = "String")]
    pub(crate) role: Role,
    pub(crate) content: String,
    pub(crate) content_bytes: i64,
    #[sqlx(try_from = "String")]
    pub(crate) status: MessageStatus,
    pub(crate) error: Option<String>,
    pub(crate) model: Option<String>,
    /// The first message that its model was told whole, where it was not told all, and the summary that it was told then.
    pub(crate) told_from: Option<MessageId>,
    pub(crate) told_summary: Option<String>,
    pub(crate) created_at: DateTime<Utc>,
}

/// A call with as many characters of each of its texts.
pub(in crate::book) async fn find_call_texts(
    db: &Database,
    id: ToolCallId,
    max_chars: u32,
) -> sqlx::Result<Option<WholeCallRow>> {
    let query = db.reader().query(select!(FIND_CALL)).bind(max_chars).bind(max_chars).bind(max_chars).bind(max_chars);
    query.bind(id).fetch_optional().await
}

/// A call without its texts.
pub(in crate::book) async fn find_call(db: &Database, id: ToolCallId) -> sqlx::Result<Option<WholeCallRow>> {
    find_call_texts(db, id, 0).await
}

/// What was decided on a call.
pub(in crate::book) async fn list_decisions(
    db: &Database,
    id: ToolCallId,
    limit: u32,
) -> sqlx::Result<Vec<DecisionRow>> {
    db.reader().query(select!(LIST_DECISIONS)).bind(id).bind(limit).fetch_all().await
}

/// What reviewing models said of a call.
pub(in crate::book) async fn list_votes(db: &Database, id: ToolCallId, limit: u32) -> sqlx::Result<Vec<VoteRow>> {
    db.reader().query(select!(LIST_VOTES)).bind(id).bind(limit).fetch_all().await
}

/// The model calls of several turns, in order.
pub(in crate::book) async fn list_model_calls_of(
    db: &Database,
    message_ids: &[MessageId],
    limit: u32,
) -> sqlx::Result<Vec<ModelCallOfTurnRow>> {
    list_by_ids(db, LIST_MODEL_CALLS_OF, message_ids, ") ORDER BY message_id, id", Some(limit)).await
}

/// The tool calls of a turn.
pub(in crate::book) async fn list_calls(
    db: &Database,
    message_id: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<CallOfTurnRow>> {
    db.reader().query(select!(LIST_CALLS)).bind(message_id).bind(limit).fetch_all().await
}

/// The tool calls of several turns.
pub(in crate::book) async fn list_calls_of(
    db: &Database,
    message_ids: &[MessageId],
    limit: u32,
) -> sqlx::Result<Vec<CallOfTurnRow>> {
    list_by_ids(db, LIST_CALLS_OF, message_ids, ") ORDER BY message_id, step, position", Some(limit)).await
}

/// What was thought in several turns, with as many characters of each.
pub(in crate::book) async fn list_thoughts_of(
    db: &Database,
    message_ids: &[MessageId],
    max_chars: u32,
    limit: u32,
) -> sqlx::Result<Vec<ThoughtRow>> {
    if message_ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = db.reader().query(select!(LIST_THOUGHTS_OF)).bind(max_chars);
    query.push_list(message_ids.iter().copied());
    query.push(") ORDER BY message_id, step LIMIT ").push_bind(limit);
    query.fetch_all().await
}

/// A conversation, whosever it is.
pub(in crate::book) async fn find_conversation(
    db: &Database,
    uuid: &str,
) -> sqlx::Result<Option<WholeConversationRow>> {
    db.reader().query(select!(FIND_CONVERSATION)).bind(uuid).fetch_optional().await
}

/// Its messages of all branches, from one on, or with 0 from the first, with as many characters of each.
pub(in crate::book) async fn list_messages(
    db: &Database,
    conversation: ConversationId,
    from: MessageId,
    max_chars: u32,
    limit: u32,
) -> sqlx::Result<Vec<WholeMessageRow>> {
    let query =
        db.reader().query(select!(LIST_MESSAGES)).bind(max_chars).bind(conversation).bind(conversation).bind(from);
    query.bind(limit).fetch_all().await
}

/// What a person is called.
pub(in crate::book) async fn find_user_name(db: &Database, id: UserId) -> sqlx::Result<Option<String>> {
    db.reader().query(select!(FIND_USER_NAME)).bind(id).fetch_optional_value().await
}
