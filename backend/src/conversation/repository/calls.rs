//! SQL on `tool_calls` and `model_calls`.

use chrono::{DateTime, Utc};
use tallybook_protocol::{RawJson, json_depth};

use super::{
    super::model::{ModelCallRow, ToolCallRow, UsageRow, tool_call_status_word},
    list_of,
};
use crate::{
    agent::{EndedToolCall, StartedToolCall, StepRecord},
    db::{Database, InsertedId, Transaction, now, on_db, on_tx},
};

const CREATE_TOOL_CALL: &str = "INSERT INTO tool_calls \
     (message_id, tool_call_id, tool_name, input, input_text, status, step, position, text_offset, started_at) \
     VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?)";

const END_TOOL_CALL: &str = "UPDATE tool_calls \
     SET status = ?, output = ?, error = ?, error_type = ?, duration_ms = ?, completed_at = ? \
     WHERE id = ? AND status = 'pending'";

const END_OPEN_TOOL_CALLS: &str = "UPDATE tool_calls SET status = ?, error = ?, error_type = ?, completed_at = ? \
     WHERE message_id = ? AND status IN ('pending', 'awaiting_approval')";

const CREATE_MODEL_CALL: &str = "INSERT INTO model_calls \
     (message_id, step, provider, model, stop_reason, input_tokens, output_tokens, cached_tokens, \
      attempts, time_to_first_token_ms, duration_ms, error, blocks, created_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const FORGET_FAILED_STEPS: &str = "UPDATE model_calls SET blocks = '[]' WHERE message_id = ? AND error IS NOT NULL";

const LIST_TOOL_CALLS: &str = "SELECT id, message_id, tool_call_id, tool_name, input_text, output, error, error_type, \
     status, step, position, text_offset, started_at, duration_ms FROM tool_calls WHERE message_id IN (";

const LIST_MODEL_CALLS: &str = "SELECT message_id, step, stop_reason, input_tokens, output_tokens, cached_tokens, \
     error, blocks FROM model_calls WHERE message_id IN (";

// The sums of integers are decimals to MySQL.
const LIST_USAGE: &str = "SELECT k.message_id, CAST(SUM(k.input_tokens) AS SIGNED) AS input_tokens, \
     CAST(SUM(k.output_tokens) AS SIGNED) AS output_tokens, CAST(SUM(k.cached_tokens) AS SIGNED) AS cached_tokens \
     FROM model_calls k JOIN messages m ON m.id = k.message_id \
     WHERE m.conversation_id = ? GROUP BY k.message_id";

/// Stores a call that is about to run. Gives its key.
pub(crate) async fn create_tool_call(
    tx: &mut Transaction,
    message_id: i64,
    call: &StartedToolCall<'_>,
    text_offset: i64,
    started_at: DateTime<Utc>,
) -> sqlx::Result<i64> {
    let request = call.request;
    on_tx!(tx, |connection| {
        let done = sqlx::query(CREATE_TOOL_CALL)
            .bind(message_id)
            .bind(stored_id(&request.id))
            .bind(truncated(&request.name, 100))
            .bind(json_column(&request.input_text).as_str())
            .bind(&request.input_text)
            .bind(call.step)
            .bind(call.position)
            .bind(text_offset)
            .bind(started_at)
            .execute(connection)
            .await?;
        Ok(done.inserted_id())
    })
}

/// Stores how a call ended.
pub(crate) async fn end_tool_call(tx: &mut Transaction, id: i64, end: &EndedToolCall) -> sqlx::Result<()> {
    on_tx!(tx, |connection| {
        sqlx::query(END_TOOL_CALL)
            .bind(tool_call_status_word(end.status))
            .bind(&end.output)
            .bind(&end.error)
            .bind(&end.error_type)
            .bind(end.duration_ms)
            .bind(now())
            .bind(id)
            .execute(connection)
            .await
            .map(|_| ())
    })
}

/// Ends whatever calls of a turn are still open, so that nothing stays pending when the turn is over.
pub(crate) async fn end_open_tool_calls(
    tx: &mut Transaction,
    message_id: i64,
    status: &str,
    error: &str,
) -> sqlx::Result<()> {
    on_tx!(tx, |connection| {
        sqlx::query(END_OPEN_TOOL_CALLS)
            .bind(status)
            .bind(error)
            .bind(status)
            .bind(now())
            .bind(message_id)
            .execute(connection)
            .await
            .map(|_| ())
    })
}

/// Stores one model call.
pub(crate) async fn create_model_call(tx: &mut Transaction, message_id: i64, step: &StepRecord) -> sqlx::Result<()> {
    on_tx!(tx, |connection| {
        sqlx::query(CREATE_MODEL_CALL)
            .bind(message_id)
            .bind(step.step)
            .bind(truncated(&step.provider, 64))
            .bind(truncated(&step.model, 190))
            .bind(step.stop_reason.as_deref().map(|reason| truncated(reason, 64)))
            .bind(step.usage.input_tokens)
            .bind(step.usage.output_tokens)
            .bind(step.usage.cached_tokens)
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

/// Takes back what steps said that broke off; that they were asked, and what it cost, stays.
pub(crate) async fn forget_failed_steps(tx: &mut Transaction, message_id: i64) -> sqlx::Result<()> {
    on_tx!(tx, |connection| sqlx::query(FORGET_FAILED_STEPS).bind(message_id).execute(connection).await.map(|_| ()))
}

/// The calls of the turns `message_ids`, which are in order, as they were asked for.
pub(crate) async fn list_tool_calls(db: &Database, message_ids: &[i64]) -> sqlx::Result<Vec<ToolCallRow>> {
    list_of(db, LIST_TOOL_CALLS, message_ids, ") ORDER BY message_id, step, position").await
}

/// The model calls of the turns `message_ids`, which are in order, step by step.
pub(crate) async fn list_model_calls(db: &Database, message_ids: &[i64]) -> sqlx::Result<Vec<ModelCallRow>> {
    list_of(db, LIST_MODEL_CALLS, message_ids, ") ORDER BY message_id, step").await
}

/// What each turn of a conversation cost, as far as its steps are done.
pub(crate) async fn list_usage(db: &Database, conversation_id: i64) -> sqlx::Result<Vec<UsageRow>> {
    on_db!(db, |pool| sqlx::query_as(LIST_USAGE).bind(conversation_id).fetch_all(pool).await)
}

/// What the `input` column holds: the text where every engine can read it as JSON, otherwise a JSON string. MariaDB
/// takes 31 levels, and MySQL no number beyond a double and no half of a surrogate pair, which is also what serde reads.
fn json_column(text: &str) -> RawJson {
    let readable = json_depth(text) < 32 && serde_json::from_str::<serde_json::Value>(text).is_ok();
    if readable { RawJson::from_text(text) } else { RawJson::string(text) }
}

/// A provider's id of a call, as its column holds it.
pub(crate) fn stored_id(id: &str) -> &str {
    truncated(id, 255)
}

/// The first `limit` characters: a model may write a name or an id longer than its column.
fn truncated(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}
