//! SQL on `tool_reruns`: calls that an admin ran again.

use chrono::{DateTime, Utc};
use tallybook_agent::EndedToolCall;
use tallybook_database::{Database, select};
use tallybook_protocol::{ToolCallId, ToolCallStatus};

use crate::accounts::UserId;

/// Characters of `tool_reruns.error_type`.
const MAX_WORD_CHARS: usize = 64;

const CREATE: &str = "INSERT INTO tool_reruns (tool_call_id, user_id, input_text, status, created_at) \
     VALUES (?, ?, ?, 'pending', ?)";

const END: &str = "UPDATE tool_reruns SET status = ?, output = ?, error = ?, error_type = ?, duration_ms = ? \
     WHERE id = ? AND status = 'pending'";

const LIST: &str = "SELECT r.id, r.status, r.duration_ms, r.created_at, u.name AS user_name FROM tool_reruns r \
     LEFT JOIN users u ON u.id = r.user_id WHERE r.tool_call_id = ? ORDER BY r.created_at DESC, r.id DESC LIMIT ?";

const FIND_TEXTS: &str = "SELECT id, SUBSTR(input_text, 1, ?) AS input, SUBSTR(COALESCE(output, error), 1, ?) AS result, \
     OCTET_LENGTH(COALESCE(output, error)) AS result_bytes FROM tool_reruns WHERE tool_call_id = ? AND id = ?";

/// Row id of a re-run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, sqlx::Type)]
#[serde(transparent)]
#[sqlx(transparent)]
pub(crate) struct RerunId(pub(crate) i64);

impl std::fmt::Display for RerunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A call that is about to be run again.
#[derive(Clone, Copy, Debug)]
pub(in crate::book) struct NewRerun<'a> {
    pub(in crate::book) call: ToolCallId,
    /// Who runs it.
    pub(in crate::book) user: UserId,
    pub(in crate::book) input: &'a str,
    pub(in crate::book) at: DateTime<Utc>,
}

/// A re-run as it is listed.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct RerunRow {
    pub(crate) id: RerunId,
    #[sqlx(try_from = "String")]
    pub(in crate::book) status: ToolCallStatus,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) user_name: Option<String>,
}

/// The beginnings of its texts.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct RerunTextsRow {
    pub(crate) id: RerunId,
    pub(crate) input: String,
    /// Its output, or its error.
    pub(crate) result: Option<String>,
    pub(crate) result_bytes: Option<i64>,
}

/// Notes that a call is run again. Gives the key.
pub(in crate::book) async fn create(db: &Database, new: NewRerun<'_>) -> sqlx::Result<RerunId> {
    let NewRerun { call, user, input, at } = new;
    let query = db.writer().query(CREATE).bind(call).bind(user).bind(input).bind(at);
    Ok(RerunId(query.execute().await?.inserted_id))
}

/// Notes what came of it.
pub(in crate::book) async fn end(db: &Database, id: RerunId, end: &EndedToolCall) -> sqlx::Result<()> {
    let error_type = end.error_type.as_deref().map(|word| word.chars().take(MAX_WORD_CHARS).collect::<String>());
    let query = db.writer().query(END).bind(end.status.as_str()).bind(&end.output).bind(&end.error).bind(&error_type);
    query.bind(end.duration_ms).bind(id).execute().await.map(|_| ())
}

/// The re-runs of a call, at most `limit`, the newest first.
pub(in crate::book) async fn list(db: &Database, call: ToolCallId, limit: u32) -> sqlx::Result<Vec<RerunRow>> {
    db.reader().query(select!(LIST)).bind(call).bind(limit).fetch_all().await
}

/// One of them, with so many characters of its texts.
pub(in crate::book) async fn find_texts(
    db: &Database,
    call: ToolCallId,
    id: RerunId,
    max_chars: u32,
) -> sqlx::Result<Option<RerunTextsRow>> {
    let query = db.reader().query(select!(FIND_TEXTS)).bind(max_chars).bind(max_chars).bind(call).bind(id);
    query.fetch_optional().await
}
