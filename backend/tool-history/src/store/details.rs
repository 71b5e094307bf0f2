//! SQL that reads one call with its turn, or a conversation, of any user.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_conversations::{ConversationId, FeedbackRow};
use tallybook_database::{Database, select};
use tallybook_protocol::{
    ApprovalScope, DeciderKind, Decision, MessageId, MessageStatus, Role, ToolCallId, ToolCallStatus, Verdict,
};

use super::sql::list_first_by_ids;

/// A call with the beginnings of its texts.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct CallDetailsRow {
    pub id: ToolCallId,
    pub message_id: MessageId,
    /// The provider's ID of the call.
    pub tool_call_id: String,
    pub tool_name: String,
    pub server: String,
    #[sqlx(try_from = "String")]
    pub status: ToolCallStatus,
    pub started_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
    pub duration_ms: Option<i64>,
    pub decided_at: Option<DateTime<Utc>>,
    /// `true` if the call needed approval.
    pub(crate) needed_approval: bool,
    pub error_type: Option<String>,
    #[sqlx(try_from = "String")]
    pub turn_status: MessageStatus,
    pub model: Option<String>,
    /// The user's feedback on the answer.
    #[sqlx(flatten)]
    pub feedback: FeedbackRow,
    /// UUID of the conversation.
    pub uuid: String,
    pub title: String,
    pub user_id: UserId,
    pub user_name: String,
    /// When the conversation, or else its owner's account, was deleted.
    pub(crate) deleted_at: Option<DateTime<Utc>>,
    pub input: String,
    pub input_bytes: i64,
    /// The input that the model requested, if the user edited it.
    pub proposed_input: Option<String>,
    pub proposed_input_bytes: Option<i64>,
    pub output: Option<String>,
    pub output_bytes: Option<i64>,
    pub error: Option<String>,
    pub error_bytes: Option<i64>,
}

/// A decision on a call.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct DecisionRow {
    #[sqlx(try_from = "String")]
    pub decision: Decision,
    pub decided_by: String,
    #[sqlx(try_from = "Option<String>")]
    pub decided_by_kind: DeciderKind,
    pub decided_by_user_id: Option<i64>,
    pub reason: Option<String>,
    #[sqlx(try_from = "Option<String>")]
    pub scope: Reach,
    pub created_at: DateTime<Utc>,
}

/// Scope of a decision; `None` if the decision covers only its own call.
#[derive(Clone, Copy, Debug)]
pub struct Reach(pub Option<ApprovalScope>);

impl From<Option<String>> for Reach {
    fn from(word: Option<String>) -> Self {
        Self(word.map(ApprovalScope::from))
    }
}

/// The vote of a reviewing model on a call.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct VoteRow {
    pub model: String,
    #[sqlx(try_from = "String")]
    pub verdict: Verdict,
    pub reason: String,
    pub duration_ms: i64,
}

/// The reasoning that a model showed in a step.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct ReasoningRow {
    pub message_id: MessageId,
    pub text: String,
    pub text_bytes: i64,
    pub duration_ms: Option<i64>,
}

/// A model call of a turn, either of a step or auxiliary.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct ModelCallOfTurnRow {
    pub message_id: MessageId,
    /// Purpose of the call, an open set.
    pub purpose: String,
    pub provider: String,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_nanos: Option<i64>,
    pub attempts: i32,
    pub error: Option<String>,
    pub duration_ms: i64,
    /// When the call finished.
    pub created_at: DateTime<Utc>,
}

/// The columns of a [`CallOfTurnRow`].
macro_rules! call_of_turn_columns {
    () => {
        "id, message_id, tool_name, status, started_at, duration_ms"
    };
}

/// A call in the list of its turn.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct CallOfTurnRow {
    pub id: ToolCallId,
    pub message_id: MessageId,
    pub tool_name: String,
    #[sqlx(try_from = "String")]
    pub status: ToolCallStatus,
    pub started_at: DateTime<Utc>,
    pub duration_ms: Option<i64>,
}

/// A copied call in the list of its message. The call ran in another conversation.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct CopiedCallRow {
    pub message_id: MessageId,
    /// The call that ran; `None` if it has been purged.
    pub original_id: Option<ToolCallId>,
    pub tool_name: String,
    #[sqlx(try_from = "String")]
    pub status: ToolCallStatus,
    pub duration_ms: Option<i64>,
}

/// A file of a message or a tool call.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct FileRow {
    /// The message of the file, or of its tool call.
    pub message_id: MessageId,
    pub name: String,
    pub media_type: String,
    pub bytes: i64,
}

/// A conversation of any user.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct WholeConversationRow {
    pub(crate) id: ConversationId,
    pub uuid: String,
    pub title: String,
    pub user_id: UserId,
    pub user_name: String,
    pub created_at: DateTime<Utc>,
    /// When the conversation, or else its owner's account, was deleted.
    pub(crate) deleted_at: Option<DateTime<Utc>>,
}

/// A message with the beginning of its text.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct WholeMessageRow {
    pub id: MessageId,
    #[sqlx(try_from = "String")]
    pub role: Role,
    pub content: String,
    pub content_bytes: i64,
    #[sqlx(try_from = "String")]
    pub status: MessageStatus,
    pub error: Option<String>,
    pub model: Option<String>,
    /// The first message that was sent to the model in full, if earlier messages were left out; and (`told_summary`)
    /// the summary that was sent in their place.
    pub told_from: Option<MessageId>,
    pub told_summary: Option<String>,
    /// The user's feedback on the message, if it is an answer.
    #[sqlx(flatten)]
    pub feedback: FeedbackRow,
    pub created_at: DateTime<Utc>,
}

/// Returns a call with at most `max_chars` characters of each text.
pub(crate) async fn find_call_texts(
    db: &Database,
    id: ToolCallId,
    max_chars: u32,
) -> sqlx::Result<Option<CallDetailsRow>> {
    let query = db
        .reader()
        .query(select!(
            "SELECT t.id, t.message_id, t.tool_call_id, t.tool_name, t.server, t.status, t.started_at, \
             t.completed_at, t.duration_ms, t.decided_at, t.tool_hash IS NOT NULL AS needed_approval, \
             t.error_type, m.status AS turn_status, m.model, f.rating, f.reason AS rating_reason, c.uuid, c.title, \
             c.user_id, u.name AS user_name, COALESCE(c.deleted_at, u.deleted_at) AS deleted_at, \
             SUBSTR(t.input_text, 1, ?) AS input, \
             OCTET_LENGTH(t.input_text) AS input_bytes, SUBSTR(t.proposed_input_text, 1, ?) AS proposed_input, \
             OCTET_LENGTH(t.proposed_input_text) AS proposed_input_bytes, SUBSTR(t.output, 1, ?) AS output, \
             OCTET_LENGTH(t.output) AS output_bytes, SUBSTR(t.error, 1, ?) AS error, OCTET_LENGTH(t.error) AS \
             error_bytes FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             JOIN conversations c ON c.id = m.conversation_id JOIN users u ON u.id = c.user_id \
             LEFT JOIN feedback f ON f.message_id = m.id WHERE t.id = ?"
        ))
        .bind(max_chars)
        .bind(max_chars)
        .bind(max_chars)
        .bind(max_chars);
    query.bind(id).fetch_optional().await
}

/// Returns a call without its texts.
pub(crate) async fn find_call(db: &Database, id: ToolCallId) -> sqlx::Result<Option<CallDetailsRow>> {
    find_call_texts(db, id, 0).await
}

/// Returns the decisions on a call.
pub(crate) async fn list_decisions(db: &Database, id: ToolCallId, limit: u32) -> sqlx::Result<Vec<DecisionRow>> {
    db.reader()
        .query(select!(
            "SELECT decision, decided_by, decided_by_kind, decided_by_user_id, reason, scope, created_at \
             FROM approvals WHERE tool_call_id = ? ORDER BY created_at, id LIMIT ?"
        ))
        .bind(id)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns the votes of reviewing models on a call.
pub(crate) async fn list_votes(db: &Database, id: ToolCallId, limit: u32) -> sqlx::Result<Vec<VoteRow>> {
    db.reader()
        .query(select!(
            "SELECT model, verdict, reason, duration_ms FROM tool_call_reviews \
             WHERE tool_call_id = ? ORDER BY created_at, id LIMIT ?"
        ))
        .bind(id)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns the model calls of several turns, in order.
pub(crate) async fn list_model_calls_of(
    db: &Database,
    message_ids: &[MessageId],
    limit: u32,
) -> sqlx::Result<Vec<ModelCallOfTurnRow>> {
    // Casts the purpose to text, because MySQL stores it as an enumeration. Auxiliary model calls are in the order in
    // which they finished.
    list_first_by_ids(
        db,
        select!(
            "SELECT message_id, CAST(purpose AS CHAR(32)) AS purpose, provider, model, \
             input_tokens, output_tokens, cost_nanos, attempts, error, duration_ms, created_at FROM model_calls \
             WHERE message_id IN ("
        ),
        message_ids,
        ") ORDER BY message_id, id",
        limit,
    )
    .await
}

/// Returns the tool calls of a turn.
pub(crate) async fn list_calls(db: &Database, message_id: MessageId, limit: u32) -> sqlx::Result<Vec<CallOfTurnRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            call_of_turn_columns!(),
            " FROM tool_calls WHERE message_id = ? ORDER BY step, position LIMIT ?"
        )))
        .bind(message_id)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns the tool calls of several turns.
pub(crate) async fn list_calls_of(
    db: &Database,
    message_ids: &[MessageId],
    limit: u32,
) -> sqlx::Result<Vec<CallOfTurnRow>> {
    list_first_by_ids(
        db,
        select!(concat!("SELECT ", call_of_turn_columns!(), " FROM tool_calls WHERE message_id IN (")),
        message_ids,
        ") ORDER BY message_id, step, position",
        limit,
    )
    .await
}

/// Returns the copied calls of several messages.
pub(crate) async fn list_copied_calls_of(
    db: &Database,
    message_ids: &[MessageId],
    limit: u32,
) -> sqlx::Result<Vec<CopiedCallRow>> {
    list_first_by_ids(
        db,
        select!(
            "SELECT t.message_id, o.id AS original_id, t.tool_name, t.status, t.duration_ms FROM copied_tool_calls t \
             LEFT JOIN tool_calls o ON o.id = t.original_id WHERE t.message_id IN ("
        ),
        message_ids,
        ") ORDER BY t.message_id, t.step, t.position",
        limit,
    )
    .await
}

/// Returns the files of several messages, without those of their calls.
pub(crate) async fn list_files_of(db: &Database, message_ids: &[MessageId], limit: u32) -> sqlx::Result<Vec<FileRow>> {
    list_first_by_ids(
        db,
        select!(
            "SELECT m.message_id, f.name, f.media_type, f.bytes FROM message_files m \
             JOIN files f ON f.id = m.file_id WHERE m.message_id IN ("
        ),
        message_ids,
        ") ORDER BY m.message_id, m.position",
        limit,
    )
    .await
}

/// Returns the files that a call returned.
pub(crate) async fn list_files_of_call(db: &Database, id: ToolCallId, limit: u32) -> sqlx::Result<Vec<FileRow>> {
    db.reader()
        .query(select!(
            "SELECT t.message_id, f.name, f.media_type, f.bytes FROM tool_call_files c \
             JOIN tool_calls t ON t.id = c.tool_call_id JOIN files f ON f.id = c.file_id \
             WHERE c.tool_call_id = ? ORDER BY c.position LIMIT ?"
        ))
        .bind(id)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns the reasoning of several turns, at most `max_chars` characters each.
pub(crate) async fn list_reasoning_of(
    db: &Database,
    message_ids: &[MessageId],
    max_chars: u32,
    limit: u32,
) -> sqlx::Result<Vec<ReasoningRow>> {
    if message_ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = db
        .reader()
        .query(select!(
            "SELECT message_id, SUBSTR(words, 1, ?) AS text, OCTET_LENGTH(words) AS text_bytes, \
             duration_ms FROM reasonings WHERE message_id IN ("
        ))
        .bind(max_chars);
    query.push_list(message_ids.iter().copied());
    query.push(") ORDER BY message_id, step LIMIT ").push_bind(limit);
    query.fetch_all().await
}

/// Returns a conversation of any user.
pub(crate) async fn find_conversation(db: &Database, uuid: &str) -> sqlx::Result<Option<WholeConversationRow>> {
    db.reader()
        .query(select!(
            "SELECT c.id, c.uuid, c.title, c.user_id, u.name AS user_name, c.created_at, \
             COALESCE(c.deleted_at, u.deleted_at) AS deleted_at \
             FROM conversations c JOIN users u ON u.id = c.user_id WHERE c.uuid = ?"
        ))
        .bind(uuid)
        .fetch_optional()
        .await
}

/// Returns messages of all branches, starting with `from` (0 for the first message), at most `max_chars` characters of
/// each.
pub(crate) async fn list_messages(
    db: &Database,
    conversation: ConversationId,
    from: MessageId,
    max_chars: u32,
    limit: u32,
) -> sqlx::Result<Vec<WholeMessageRow>> {
    let query = db
        .reader()
        .query(select!(
            "SELECT id, role, SUBSTR(content, 1, ?) AS content, OCTET_LENGTH(content) AS content_bytes, \
             status, error, model, told_from, (SELECT s.summary FROM conversation_summaries s \
             WHERE s.id = messages.summary_id) AS told_summary, (SELECT r.rating FROM feedback r \
             WHERE r.message_id = messages.id) AS rating, (SELECT r.reason FROM feedback r \
             WHERE r.message_id = messages.id) AS rating_reason, created_at FROM messages \
             WHERE conversation_id = ? AND (created_at, id) >= (SELECT f.created_at, f.id \
             FROM messages f WHERE f.conversation_id = ? AND ? IN (0, f.id) \
             ORDER BY f.created_at, f.id LIMIT 1) ORDER BY created_at, id LIMIT ?"
        ))
        .bind(max_chars)
        .bind(conversation)
        .bind(conversation)
        .bind(from);
    query.bind(limit).fetch_all().await
}

/// Returns the name of a user.
pub(crate) async fn find_user_name(db: &Database, id: UserId) -> sqlx::Result<Option<String>> {
    db.reader().query(select!("SELECT name FROM users WHERE id = ?")).bind(id).fetch_optional_value().await
}
