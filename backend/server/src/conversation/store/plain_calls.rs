//! SQL on `plain_calls`: models that programs asked once.

use tallybook_database::{Database, now};
use tallybook_protocol::{ModelInfo, Usage};

use super::columns::{MAX_MODEL_CHARS, MAX_WORD_CHARS, truncated};
use crate::accounts::UserId;

const CREATE: &str = "INSERT INTO plain_calls (user_id, provider, model, stop_reason, input_tokens, output_tokens, \
     cached_tokens, cost_nanos, duration_ms, error, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// One of them, which is over.
#[derive(Clone, Debug)]
pub(crate) struct PlainCall {
    pub(crate) user: UserId,
    pub(crate) model: ModelInfo,
    pub(crate) outcome: PlainOutcome,
    pub(crate) duration_ms: i64,
}

/// What came of it. Nothing of this is known when the program went away first.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainOutcome {
    pub(crate) stop_reason: Option<String>,
    pub(crate) usage: Usage,
    /// The code of its failure.
    pub(crate) error: Option<&'static str>,
}

impl PlainOutcome {
    /// How it ended, in a word.
    pub(crate) fn word(&self) -> &'static str {
        match (self.error, &self.stop_reason) {
            (Some(_), _) => "failed",
            (None, Some(_)) => "answered",
            (None, None) => "stopped",
        }
    }
}

/// Stores one.
pub(crate) async fn create(db: &Database, call: &PlainCall) -> sqlx::Result<()> {
    let PlainCall { user, model, outcome: PlainOutcome { stop_reason, usage, error }, duration_ms } = call;
    db.writer()
        .query(CREATE)
        .bind(user)
        .bind(truncated(&model.provider, MAX_WORD_CHARS))
        .bind(truncated(&model.model, MAX_MODEL_CHARS))
        .bind(stop_reason.as_deref().map(|reason| truncated(reason, MAX_WORD_CHARS)))
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
