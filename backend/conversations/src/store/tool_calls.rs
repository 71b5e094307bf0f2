//! SQL for `tool_calls`.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_agent::{EndedToolCall, StartedToolCall};
use tallybook_database::{Database, MAX_IDS_PER_QUERY, Transaction, now, select};
use tallybook_protocol::{CallsBudget, MessageId, ToolCall, ToolCallId, ToolCallStatus, first_chars};

use crate::store::{
    columns::{MAX_TOOL_NAME_CHARS, json_column, stored_error_type, stored_id},
    decisions::{add_decisions, add_reviews},
    message_files,
    rows::{NOT_STARTED, NOT_STARTED_TYPE, ToolCallRow, ToolCallTextsRow, is_copied, row_of_copy},
};

/// Stores a call and returns its ID. If `tool_hash` is set, the call waits for approval; otherwise it is about to run.
pub(crate) async fn create_tool_call(
    tx: &mut Transaction,
    message_id: MessageId,
    call: &StartedToolCall<'_>,
    text_offset: i64,
    tool_hash: Option<&str>,
    started_at: DateTime<Utc>,
) -> sqlx::Result<ToolCallId> {
    let status = if tool_hash.is_some() { ToolCallStatus::AwaitingApproval } else { ToolCallStatus::Pending };
    let request = call.request;
    let input = json_column(&request.input_text);
    tx.check_statement_size(input.as_str().len() + request.input_text.len()).await?;
    let done = tx
        .query(
            "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, status, step, position, \
             text_offset, tool_hash, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(message_id)
        .bind(stored_id(&request.id))
        .bind(first_chars(&request.name, MAX_TOOL_NAME_CHARS))
        .bind(input.as_str())
        .bind(&request.input_text)
        .bind(status.as_str())
        .bind(call.step)
        .bind(call.position)
        .bind(text_offset)
        .bind(tool_hash)
        .bind(started_at)
        .execute()
        .await?;
    Ok(ToolCallId(done.inserted_id))
}

/// Stores the result of a running call.
pub(crate) async fn end_tool_call(tx: &mut Transaction, id: ToolCallId, end: &EndedToolCall) -> sqlx::Result<()> {
    tx.check_statement_size([&end.output, &end.error].into_iter().flatten().map(String::len).sum()).await?;
    let ended = tx
        .query(
            "UPDATE tool_calls \
         SET status = ?, output = ?, error = ?, error_type = ?, duration_ms = ?, completed_at = ? \
         WHERE id = ? AND status = 'pending'",
        )
        .bind(end.status.as_str())
        .bind(&end.output)
        .bind(&end.error)
        .bind(end.error_type.as_deref().map(stored_error_type))
        .bind(end.duration_ms)
        .bind(now())
        .bind(id)
        .execute()
        .await?;
    // Otherwise an earlier transaction, whose commit was not confirmed, has stored the result with its files.
    if ended.rows == 1 { message_files::create_of_call(tx, id, &end.files).await } else { Ok(()) }
}

/// Ends the calls of a turn that are still open, so that no call stays pending when the turn is over. Running calls
/// become `interrupted` with the text `error`. Waiting calls become `cancelled`, since they never began.
pub(crate) async fn end_open_tool_calls(tx: &mut Transaction, message_id: MessageId, error: &str) -> sqlx::Result<()> {
    let (interrupted, waiting) = (ToolCallStatus::Interrupted.as_str(), ToolCallStatus::AwaitingApproval.as_str());
    // MySQL assigns from left to right, so the status, which the other values depend on, comes last.
    tx.query(
        "UPDATE tool_calls SET error = CASE status WHEN ? THEN ? ELSE ? END, \
         error_type = CASE status WHEN ? THEN ? ELSE ? END, completed_at = ?, \
         status = CASE status WHEN ? THEN ? ELSE ? END WHERE message_id = ? AND status IN (?, ?)",
    )
    .bind(waiting)
    .bind(NOT_STARTED)
    .bind(error)
    .bind(waiting)
    .bind(NOT_STARTED_TYPE)
    .bind(interrupted)
    .bind(now())
    .bind(waiting)
    .bind(ToolCallStatus::Cancelled.as_str())
    .bind(interrupted)
    .bind(message_id)
    .bind(waiting)
    .bind(ToolCallStatus::Pending.as_str())
    .execute()
    .await
    .map(|_| ())
}

/// Columns of a [`ToolCallRow`] in which `tool_calls` and `copied_tool_calls` differ.
macro_rules! own_columns {
    (tool_calls) => {
        "t.id, OCTET_LENGTH(t.input_text) AS input_bytes, OCTET_LENGTH(t.output) AS output_bytes, \
         FALSE AS truncated, t.tool_hash, t.decided_at"
    };
    (copied_tool_calls) => {
        "-t.id AS id, COALESCE(t.input_bytes, OCTET_LENGTH(t.input_text)) AS input_bytes, \
         COALESCE(t.output_bytes, OCTET_LENGTH(t.output)) AS output_bytes, t.truncated, \
         NULL AS tool_hash, NULL AS decided_at"
    };
}

/// Selects calls of `$table` with truncated texts; the list of their messages follows.
macro_rules! select_calls {
    ($table:ident) => {
        concat!(
            "SELECT ",
            own_columns!($table),
            ", t.message_id, t.tool_call_id, t.tool_name, SUBSTR(t.input_text, 1, ?) AS input_text, \
             SUBSTR(t.proposed_input_text, 1, ?) AS proposed_input_text, \
             OCTET_LENGTH(t.proposed_input_text) AS proposed_input_bytes, SUBSTR(t.output, 1, ?) AS output, \
             SUBSTR(t.error, 1, ?) AS error, OCTET_LENGTH(t.error) AS error_bytes, \
             t.error_type, t.status, t.step, t.position, t.text_offset, t.started_at, t.duration_ms FROM ",
            stringify!($table),
            " t WHERE t.message_id IN ("
        )
    };
}

/// Lists the calls of the turns `message_ids`, which must be sorted, in the order in which the model requested them.
/// Each text is truncated to `max_chars` characters. The ID of a copied call is the negated ID of its row.
pub(crate) async fn list_tool_calls(
    db: &Database,
    message_ids: &[MessageId],
    max_chars: usize,
) -> sqlx::Result<Vec<ToolCallRow>> {
    let max_chars = i64::try_from(max_chars).unwrap_or(i64::MAX);
    let mut rows = Vec::new();
    for ids in message_ids.chunks(MAX_IDS_PER_QUERY) {
        let query = db.reader().query(select!(select_calls!(tool_calls))).bind(max_chars).bind(max_chars);
        let mut query = query.bind(max_chars).bind(max_chars);
        query.push_list(ids.iter().copied());
        query.push(concat!(") UNION ALL ", select_calls!(copied_tool_calls)));
        let mut query = query.bind(max_chars).bind(max_chars).bind(max_chars).bind(max_chars);
        query.push_list(ids.iter().copied()).push(") ORDER BY message_id, step, position");
        rows.append(&mut query.fetch_all().await?);
    }
    Ok(rows)
}

/// Returns the calls by turn, for clients. Texts are truncated to what one response or event has room for; the newest
/// turns have priority.
pub(crate) async fn list_truncated_tool_calls(
    db: &Database,
    message_ids: &[MessageId],
) -> sqlx::Result<HashMap<MessageId, Vec<ToolCall>>> {
    let mut calls_of: HashMap<MessageId, Vec<ToolCall>> = HashMap::new();
    for call in list_carried_tool_calls(db, message_ids).await? {
        calls_of.entry(call.message_id).or_default().push(call.to_tool_call());
    }
    let mut budget = CallsBudget::default();
    for id in message_ids.iter().rev() {
        calls_of.get_mut(id).into_iter().flatten().for_each(|call| budget.fit(call));
    }
    Ok(calls_of)
}

/// Lists the calls of one turn, truncated as in [`list_truncated_tool_calls`], after `change` was applied to each row.
pub(crate) async fn list_changed_tool_calls_of(
    db: &Database,
    message_id: MessageId,
    change: impl FnMut(&mut ToolCallRow),
) -> sqlx::Result<Vec<ToolCall>> {
    let mut rows = list_carried_tool_calls(db, &[message_id]).await?;
    rows.iter_mut().for_each(change);
    let mut calls: Vec<ToolCall> = rows.iter().map(ToolCallRow::to_tool_call).collect();
    let mut budget = CallsBudget::default();
    for call in &mut calls {
        budget.fit(call);
    }
    Ok(calls)
}

/// Lists the calls of one turn, truncated as in [`list_truncated_tool_calls`].
pub(crate) async fn list_truncated_tool_calls_of(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<ToolCall>> {
    Ok(list_truncated_tool_calls(db, &[message_id]).await?.remove(&message_id).unwrap_or_default())
}

/// Lists calls with their texts, votes and decisions. Reads the lengths first, so that no more text is read than one
/// response has room for.
async fn list_carried_tool_calls(db: &Database, message_ids: &[MessageId]) -> sqlx::Result<Vec<ToolCallRow>> {
    let mut rows = list_tool_calls(db, message_ids, 0).await?;
    let mut budget = CallsBudget::default();
    let newest_first = rows.chunk_by(|one, next| one.message_id == next.message_id).rev().flatten();
    let carried = newest_first
        .filter(|row| budget.reserve(row.input_bytes, row.proposed_input_bytes, row.output_bytes, row.error_bytes));
    let (copied, carried): (Vec<ToolCallId>, Vec<ToolCallId>) =
        carried.map(|row| row.id).partition(|id| is_copied(*id));
    let copied: Vec<i64> = copied.into_iter().map(row_of_copy).collect();
    // The numbers of characters are `MAX_CALL_TEXT_BYTES` and `MAX_CALL_ERROR_BYTES`; a character has at least one
    // byte.
    let mut texts: Vec<ToolCallTextsRow> = db
        .reader()
        .list_by_ids(
            select!(
                "SELECT id, SUBSTR(input_text, 1, 65536) AS input_text, \
             SUBSTR(proposed_input_text, 1, 65536) AS proposed_input_text, SUBSTR(output, 1, 65536) AS output, \
             SUBSTR(error, 1, 4096) AS error FROM tool_calls WHERE id IN ("
            ),
            &carried,
            ")",
        )
        .await?;
    let of_copies = db.reader().list_by_ids(
        select!(
            "SELECT -id AS id, SUBSTR(input_text, 1, 65536) AS input_text, \
             SUBSTR(proposed_input_text, 1, 65536) AS proposed_input_text, SUBSTR(output, 1, 65536) AS output, \
             SUBSTR(error, 1, 4096) AS error FROM copied_tool_calls WHERE id IN ("
        ),
        &copied,
        ")",
    );
    texts.append(&mut of_copies.await?);
    let mut texts: HashMap<ToolCallId, ToolCallTextsRow> = texts.into_iter().map(|texts| (texts.id, texts)).collect();
    for row in &mut rows {
        if let Some(texts) = texts.remove(&row.id) {
            row.input_text = texts.input_text;
            // If a call was decided on or ended in between, the row keeps the state from when the lengths were read.
            row.proposed_input_text = row.proposed_input_text.take().and(texts.proposed_input_text);
            row.output = row.output.take().and(texts.output);
            row.error = row.error.take().and(texts.error);
        }
    }
    add_reviews(db, &mut rows).await?;
    add_decisions(db, &mut rows).await?;
    message_files::add_call_files(db, &mut rows).await?;
    Ok(rows)
}

/// Returns the full arguments of a call.
pub(crate) async fn find_input_text(db: &Database, id: ToolCallId) -> sqlx::Result<Option<String>> {
    db.reader().query(select!("SELECT input_text FROM tool_calls WHERE id = ?")).bind(id).fetch_optional_value().await
}

/// Selects a user's call of `$table` with its full texts.
macro_rules! select_call {
    ($table:ident) => {
        concat!(
            "SELECT ",
            own_columns!($table),
            ", t.message_id, t.tool_call_id, t.tool_name, t.input_text, t.proposed_input_text, \
             OCTET_LENGTH(t.proposed_input_text) AS proposed_input_bytes, t.output, t.error, \
             OCTET_LENGTH(t.error) AS error_bytes, t.error_type, t.status, t.step, t.position, t.text_offset, \
             t.started_at, t.duration_ms FROM ",
            stringify!($table),
            " t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
             WHERE t.id = ? AND c.user_id = ? AND c.deleted_at IS NULL"
        )
    };
}

/// Returns a user's call with its full texts.
pub(crate) async fn find_tool_call(db: &Database, user: UserId, id: ToolCallId) -> sqlx::Result<Option<ToolCallRow>> {
    let (call, row) = if is_copied(id) {
        (select!(select_call!(copied_tool_calls)), row_of_copy(id))
    } else {
        (select!(select_call!(tool_calls)), id.0)
    };
    let mut call: Option<ToolCallRow> = db.reader().query(call).bind(row).bind(user).fetch_optional().await?;
    add_reviews(db, call.as_mut_slice()).await?;
    add_decisions(db, call.as_mut_slice()).await?;
    message_files::add_call_files(db, call.as_mut_slice()).await?;
    Ok(call)
}
