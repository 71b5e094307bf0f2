//! SQL on `model_calls`.

use tallybook_agent::StepRecord;
use tallybook_protocol::MessageId;

use super::{
    columns::{MAX_MODEL_CHARS, MAX_WORD_CHARS, truncated},
    list_of::list_of,
    rows::{ConversationId, ModelCallRow, UsageRow},
};
use crate::db::{Database, Transaction, now, on_db, on_tx};

const CREATE_MODEL_CALL: &str = "INSERT INTO model_calls \
     (message_id, step, provider, model, stop_reason, input_tokens, output_tokens, cached_tokens, cost_nanos, \
      attempts, time_to_first_token_ms, duration_ms, error, blocks, created_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const FORGET_FAILED_STEPS: &str = "UPDATE model_calls SET blocks = '[]' WHERE message_id = ? AND error IS NOT NULL";

const LIST_MODEL_CALLS: &str = "SELECT message_id, step, stop_reason, input_tokens, output_tokens, cached_tokens, \
     cost_nanos, error, blocks FROM model_calls WHERE message_id IN (";

// The sums of integers are decimals to MySQL.
const LIST_USAGE: &str = "SELECT k.message_id, CAST(SUM(k.input_tokens) AS SIGNED) AS input_tokens, \
     CAST(SUM(k.output_tokens) AS SIGNED) AS output_tokens, CAST(SUM(k.cached_tokens) AS SIGNED) AS cached_tokens, \
     CAST(SUM(k.cost_nanos) AS SIGNED) AS cost_nanos \
     FROM model_calls k JOIN messages m ON m.id = k.message_id \
     WHERE m.conversation_id = ? GROUP BY k.message_id";

/// Stores one model call.
pub(crate) async fn create_model_call(
    tx: &mut Transaction,
    message_id: MessageId,
    step: &StepRecord,
) -> sqlx::Result<()> {
    on_tx!(tx, |connection| {
        sqlx::query(CREATE_MODEL_CALL)
            .bind(message_id)
            .bind(step.step)
            .bind(truncated(&step.provider, MAX_WORD_CHARS))
            .bind(truncated(&step.model, MAX_MODEL_CHARS))
            .bind(step.stop_reason.as_deref().map(|reason| truncated(reason, MAX_WORD_CHARS)))
            .bind(step.usage.input_tokens)
            .bind(step.usage.output_tokens)
            .bind(step.usage.cached_tokens)
            .bind(step.usage.cost_nanos)
            .bind(step.attempts)
            .bind(step.time_to_first_token_ms)
            .bind(step.duration_ms)
            .bind(&step.error)
            .bind(&step.blocks)
            .bind(now())
            .execute(connection)
            .await
            .map(|_| ())
    })
}

/// Empties what failed steps said, so that no model is told of it. That they were asked, and what it cost, stays.
pub(crate) async fn forget_failed_steps(tx: &mut Transaction, message_id: MessageId) -> sqlx::Result<()> {
    on_tx!(tx, |connection| sqlx::query(FORGET_FAILED_STEPS).bind(message_id).execute(connection).await.map(|_| ()))
}

/// The model calls of the turns `message_ids`, which are in order, step by step.
pub(crate) async fn list_model_calls(db: &Database, message_ids: &[MessageId]) -> sqlx::Result<Vec<ModelCallRow>> {
    list_of(db, LIST_MODEL_CALLS, message_ids, ") ORDER BY message_id, step").await
}

/// What each turn of a conversation cost, as far as its steps are done.
pub(crate) async fn list_usage(db: &Database, conversation_id: ConversationId) -> sqlx::Result<Vec<UsageRow>> {
    on_db!(db, |pool| sqlx::query_as(LIST_USAGE).bind(conversation_id).fetch_all(pool).await)
}
