//! SQL for `model_calls`.

use tallybook_agent::ModelCallRecord;
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{MessageId, Usage, first_chars};

use crate::store::{
    columns::{MAX_MODEL_CHARS, MAX_WORD_CHARS},
    rows::{ConversationId, ModelCallRow, UsageRow},
};

/// Stores a model call.
pub(crate) async fn create_model_call(
    tx: &mut Transaction,
    message_id: MessageId,
    call: &ModelCallRecord,
) -> sqlx::Result<()> {
    tx.check_statement_size(call.blocks.len() + call.error.as_ref().map_or(0, String::len)).await?;
    tx.query(
        "INSERT INTO model_calls (message_id, step, purpose, provider, model, stop_reason, input_tokens, \
         output_tokens, cached_tokens, cost_nanos, attempts, time_to_first_token_ms, duration_ms, error, \
         blocks, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(message_id)
    .bind(call.step)
    .bind(call.purpose.as_str())
    .bind(first_chars(&call.provider, MAX_WORD_CHARS))
    .bind(first_chars(&call.model, MAX_MODEL_CHARS))
    .bind(call.stop_reason.as_deref().map(|reason| first_chars(reason, MAX_WORD_CHARS)))
    .bind(call.usage.input_tokens)
    .bind(call.usage.output_tokens)
    .bind(call.usage.cached_tokens)
    .bind(call.usage.cost_nanos)
    .bind(call.attempts)
    .bind(call.time_to_first_token_ms)
    .bind(call.duration_ms)
    .bind(&call.error)
    .bind(&call.blocks)
    .bind(now())
    .execute()
    .await
    .map(|_| ())
}

/// Lists the numbers of a turn's stored steps, as a transaction sees them.
pub(crate) async fn list_steps(tx: &mut Transaction, message_id: MessageId) -> sqlx::Result<Vec<i64>> {
    tx.query("SELECT step FROM model_calls WHERE message_id = ? AND purpose = 'answer'")
        .bind(message_id)
        .fetch_values()
        .await
}

/// Clears the model's output in failed steps, so that no later prompt contains it. The calls and their costs stay.
pub(crate) async fn forget_failed_steps(tx: &mut Transaction, message_id: MessageId) -> sqlx::Result<()> {
    tx.query("UPDATE model_calls SET blocks = '[]' WHERE message_id = ? AND error IS NOT NULL")
        .bind(message_id)
        .execute()
        .await
        .map(|_| ())
}

/// Lists the steps of the turns `message_ids`, which must be sorted. Includes the steps of copied answers.
pub(crate) async fn list_model_calls(db: &Database, message_ids: &[MessageId]) -> sqlx::Result<Vec<ModelCallRow>> {
    let selects = (
        select!(
            "SELECT message_id, step, stop_reason, provider, model, input_tokens, output_tokens, error, blocks \
             FROM model_calls WHERE purpose = 'answer' AND message_id IN ("
        ),
        ") UNION ALL SELECT message_id, step, stop_reason, provider, model, input_tokens, output_tokens, error, \
         blocks FROM copied_model_calls WHERE message_id IN (",
    );
    db.reader().list_union_by_ids(selects, message_ids, ") ORDER BY message_id, step").await
}

/// Lists the usage of each turn of a conversation: sums over its stored model calls, without auxiliary calls for titles
/// and summaries.
pub(crate) async fn list_usage(db: &Database, conversation_id: ConversationId) -> sqlx::Result<Vec<UsageRow>> {
    // MySQL returns sums of integers as decimals.
    db.reader()
        .query(select!(
            "SELECT k.message_id, CAST(SUM(k.input_tokens) AS SIGNED) AS input_tokens, \
             CAST(SUM(k.output_tokens) AS SIGNED) AS output_tokens, CAST(SUM(k.cached_tokens) AS SIGNED) \
             AS cached_tokens, CAST(SUM(k.cost_nanos) AS SIGNED) AS cost_nanos FROM model_calls k \
             JOIN messages m ON m.id = k.message_id WHERE m.conversation_id = ? \
             AND k.purpose NOT IN ('title', 'summary', 'reasoning_summary') GROUP BY k.message_id"
        ))
        .bind(conversation_id)
        .fetch_all()
        .await
}

/// Returns the usage of a turn: the sum over its stored model calls, without auxiliary calls for titles and summaries.
pub(crate) async fn find_usage(db: &Database, message_id: MessageId) -> sqlx::Result<Usage> {
    let sums: Option<UsageRow> = db
        .reader()
        .query(select!(
            "SELECT message_id, CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, CAST(SUM(output_tokens) AS \
             SIGNED) AS output_tokens, CAST(SUM(cached_tokens) AS SIGNED) AS cached_tokens, CAST(SUM(cost_nanos) \
             AS SIGNED) AS cost_nanos FROM model_calls WHERE message_id = ? \
             AND purpose NOT IN ('title', 'summary', 'reasoning_summary') GROUP BY message_id"
        ))
        .bind(message_id)
        .fetch_optional()
        .await?;
    Ok(sums.map(UsageRow::sum).unwrap_or_default())
}
