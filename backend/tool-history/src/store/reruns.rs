//! SQL for `tool_reruns`: the re-runs of calls by admins.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_agent::EndedToolCall;
use tallybook_database::{Database, select};
use tallybook_protocol::{ToolCallId, ToolCallStatus, first_chars};

/// Length of `tool_reruns.error_type`, in characters.
const MAX_WORD_CHARS: usize = 64;

/// Row id of a re-run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, sqlx::Type)]
#[serde(transparent)]
#[sqlx(transparent)]
pub struct RerunId(pub i64);

impl std::fmt::Display for RerunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A re-run that is about to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRerun<'a> {
    pub(crate) call: ToolCallId,
    /// The user who runs it.
    pub(crate) user: UserId,
    pub(crate) input: &'a str,
    pub(crate) at: DateTime<Utc>,
}

/// A re-run in the list.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct RerunRow {
    pub id: RerunId,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub duration_ms: Option<i64>,
    pub created_at: DateTime<Utc>,
    pub user_name: Option<String>,
}

/// The beginnings of the texts of a re-run.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct RerunTextsRow {
    pub id: RerunId,
    pub input: String,
    /// The output, or else the error.
    pub result: Option<String>,
    pub result_bytes: Option<i64>,
}

/// Stores the start of a re-run. Returns its ID.
pub(crate) async fn create(db: &Database, new: NewRerun<'_>) -> sqlx::Result<RerunId> {
    let NewRerun { call, user, input, at } = new;
    let query = db
        .writer()
        .query(
            "INSERT INTO tool_reruns (tool_call_id, user_id, input_text, status, created_at) \
             VALUES (?, ?, ?, 'pending', ?)",
        )
        .bind(call)
        .bind(user)
        .bind(input)
        .bind(at);
    Ok(RerunId(query.execute().await?.inserted_id))
}

/// Stores the result of a re-run, unless it already has one.
pub(crate) async fn end(db: &Database, id: RerunId, end: &EndedToolCall) -> sqlx::Result<()> {
    let error_type = end.error_type.as_deref().map(|word| first_chars(word, MAX_WORD_CHARS).to_owned());
    let query = db
        .writer()
        .query(
            "UPDATE tool_reruns SET status = ?, output = ?, error = ?, error_type = ?, duration_ms = ? \
             WHERE id = ? AND status = 'pending'",
        )
        .bind(end.status.as_str())
        .bind(&end.output)
        .bind(&end.error)
        .bind(&error_type);
    query.bind(end.duration_ms).bind(id).execute().await.map(|_| ())
}

/// Returns the re-runs of a call, at most `limit`, the newest first.
pub(crate) async fn list(db: &Database, call: ToolCallId, limit: u32) -> sqlx::Result<Vec<RerunRow>> {
    db.reader()
        .query(select!(
            "SELECT r.id, r.status, r.duration_ms, r.created_at, u.name AS user_name \
             FROM tool_reruns r LEFT JOIN users u ON u.id = r.user_id WHERE r.tool_call_id = ? \
             ORDER BY r.created_at DESC, r.id DESC LIMIT ?"
        ))
        .bind(call)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns the texts of a re-run, at most `max_chars` characters each.
pub(crate) async fn find_texts(
    db: &Database,
    call: ToolCallId,
    id: RerunId,
    max_chars: u32,
) -> sqlx::Result<Option<RerunTextsRow>> {
    let query = db
        .reader()
        .query(select!(
            "SELECT id, SUBSTR(input_text, 1, ?) AS input, SUBSTR(COALESCE(output, error), 1, ?) AS result, \
             OCTET_LENGTH(COALESCE(output, error)) AS result_bytes FROM tool_reruns WHERE tool_call_id = ? AND id = ?"
        ))
        .bind(max_chars)
        .bind(max_chars)
        .bind(call)
        .bind(id);
    query.fetch_optional().await
}
