//! SQL for `plain_calls`: direct model calls of API clients.

use tallybook_accounts::UserId;
use tallybook_database::{Database, now};
use tallybook_protocol::{ModelInfo, Usage, first_chars};

use crate::store::columns::{MAX_MODEL_CHARS, MAX_WORD_CHARS};

/// A direct model call that has ended.
#[derive(Clone, Debug)]
pub(crate) struct PlainCall {
    pub user: UserId,
    pub model: ModelInfo,
    pub outcome: PlainOutcome,
    pub duration_ms: i64,
}

/// The result of a direct model call. All fields are empty if the client disconnected first.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainOutcome {
    pub stop_reason: Option<String>,
    pub usage: Usage,
    /// Code of the error.
    pub error: Option<&'static str>,
}

impl PlainOutcome {
    /// Returns the result as one word: `failed`, `answered` or `stopped`.
    pub(crate) fn word(&self) -> &'static str {
        match (self.error, &self.stop_reason) {
            (Some(_), _) => "failed",
            (None, Some(_)) => "answered",
            (None, None) => "stopped",
        }
    }
}

/// Stores a direct model call.
pub(crate) async fn create(db: &Database, call: &PlainCall) -> sqlx::Result<()> {
    let PlainCall { user, model, outcome: PlainOutcome { stop_reason, usage, error }, duration_ms } = call;
    db.writer()
        .query(
            "INSERT INTO plain_calls (user_id, provider, model, stop_reason, input_tokens, output_tokens, \
             cached_tokens, cost_nanos, duration_ms, error, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(user)
        .bind(first_chars(&model.provider, MAX_WORD_CHARS))
        .bind(first_chars(&model.model, MAX_MODEL_CHARS))
        .bind(stop_reason.as_deref().map(|reason| first_chars(reason, MAX_WORD_CHARS)))
        .bind(usage.input_tokens)
        .bind(usage.output_tokens)
        .bind(usage.cached_tokens)
        .bind(usage.cost_nanos)
        .bind(duration_ms)
        .bind(error)
        .bind(now())
        .execute()
        .await
        .map(|_| ())
}
