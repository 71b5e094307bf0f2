//! SQL that copies messages to a new conversation: a branch of a conversation of the same user, or the messages of a
//! share link. The calls of copied answers are in `copied_tool_calls` and `copied_model_calls`. The tool history,
//! statistics, budgets and usage read only `tool_calls` and `model_calls`, so they count each call once.

use std::collections::HashMap;

use tallybook_accounts::UserId;
use tallybook_database::{Database, LONG_STATEMENT_TIMEOUT, Transaction, now, select};
use tallybook_protocol::{Message, MessageId, Role, ToolCall, first_chars};
use uuid::Uuid;

use crate::store::{
    columns::{MAX_MODEL_CHARS, MAX_TOOL_NAME_CHARS, MAX_WORD_CHARS, stored_id},
    rows::{ConversationId, PLAN_MODE},
};

/// Copies the calls of `$table` to the copies of their messages. `$original` is the ID of the call that ran, and
/// `$truncation` are the columns that mark truncated texts.
macro_rules! copy_tool_calls {
    ($table:literal, $original:literal, $truncation:literal) => {
        concat!(
            "INSERT INTO copied_tool_calls (message_id, original_id, tool_call_id, tool_name, input_text, \
             proposed_input_text, output, error, error_type, status, step, position, text_offset, started_at, \
             duration_ms, truncated, input_bytes, output_bytes) SELECT m.id, ",
            $original,
            ", t.tool_call_id, t.tool_name, t.input_text, t.proposed_input_text, t.output, t.error, t.error_type, \
             t.status, t.step, t.position, t.text_offset, t.started_at, t.duration_ms, ",
            $truncation,
            " FROM messages m JOIN ",
            $table,
            " t ON t.message_id = m.copied_from WHERE m.conversation_id = ?"
        )
    };
}

/// Copies the steps of `$table` to the copies of their messages.
macro_rules! copy_model_calls {
    ($table:literal, $condition:literal) => {
        concat!(
            "INSERT INTO copied_model_calls (message_id, step, provider, model, stop_reason, input_tokens, \
             output_tokens, error, blocks) SELECT m.id, k.step, k.provider, k.model, k.stop_reason, k.input_tokens, \
             k.output_tokens, k.error, k.blocks FROM messages m JOIN ",
            $table,
            " k ON k.message_id = m.copied_from WHERE m.conversation_id = ?",
            $condition
        )
    };
}

/// The statements that copy what belongs to messages, after the messages are copied. The argument is the new
/// conversation.
const COPIES: [&str; 9] = [
    copy_tool_calls!("tool_calls", "t.id", "FALSE, NULL, NULL"),
    copy_tool_calls!("copied_tool_calls", "t.original_id", "t.truncated, t.input_bytes, t.output_bytes"),
    copy_model_calls!("model_calls", " AND k.purpose = 'answer'"),
    copy_model_calls!("copied_model_calls", ""),
    "INSERT INTO reasonings (message_id, step, text_offset, calls_before, words, truncated, duration_ms) \
     SELECT m.id, r.step, r.text_offset, r.calls_before, r.words, r.truncated, r.duration_ms FROM messages m \
     JOIN reasonings r ON r.message_id = m.copied_from WHERE m.conversation_id = ?",
    "INSERT INTO plans (message_id, revision, reason, success_criteria, text_offset, created_at) \
     SELECT m.id, p.revision, p.reason, p.success_criteria, p.text_offset, p.created_at FROM messages m \
     JOIN plans p ON p.message_id = m.copied_from WHERE m.conversation_id = ?",
    "INSERT INTO plan_steps (plan_id, revision, position, instruction, expected, status, attempt, reason, text_offset, \
     calls_before, attempt_offset, attempt_step, end_offset, end_step, started_at, ended_at) SELECT p.id, s.revision, \
     s.position, s.instruction, s.expected, s.status, s.attempt, s.reason, s.text_offset, s.calls_before, \
     s.attempt_offset, s.attempt_step, s.end_offset, s.end_step, s.started_at, s.ended_at FROM messages m \
     JOIN plans p ON p.message_id = m.id JOIN plans o ON o.message_id = m.copied_from \
     JOIN plan_steps s ON s.plan_id = o.id WHERE m.conversation_id = ?",
    "INSERT INTO conversation_summaries (conversation_id, message_id, summary, model, created_at) \
     SELECT m.conversation_id, m.id, s.summary, s.model, s.created_at FROM messages m \
     JOIN conversation_summaries s ON s.message_id = m.copied_from WHERE m.conversation_id = ?",
    "INSERT INTO message_files (message_id, position, file_id, context) SELECT m.id, f.position, f.file_id, f.context \
     FROM messages m JOIN message_files f ON f.message_id = m.copied_from \
     WHERE m.conversation_id = ? AND f.copied_call_id IS NULL",
];

/// The files that the copied calls returned: in the originals, and in originals that are copies themselves.
const CALL_FILES: [&str; 2] = [
    "SELECT c.message_id, c.id, f.file_id FROM messages m JOIN copied_tool_calls c ON c.message_id = m.id \
     JOIN tool_calls o ON o.message_id = m.copied_from AND o.step = c.step AND o.position = c.position \
     JOIN tool_call_files f ON f.tool_call_id = o.id WHERE m.conversation_id = ? \
     ORDER BY c.message_id, c.step, c.position, f.position",
    "SELECT c.message_id, c.id, f.file_id FROM messages m JOIN copied_tool_calls c ON c.message_id = m.id \
     JOIN copied_tool_calls o ON o.message_id = m.copied_from AND o.step = c.step AND o.position = c.position \
     JOIN message_files f ON f.message_id = m.copied_from AND f.copied_call_id = o.id WHERE m.conversation_id = ? \
     ORDER BY c.message_id, f.position",
];

/// The size of the calls of `$table`, in bytes.
macro_rules! call_bytes {
    ($table:literal) => {
        concat!(
            "COALESCE((SELECT SUM(OCTET_LENGTH(t.input_text) + COALESCE(OCTET_LENGTH(t.proposed_input_text), 0) \
             + COALESCE(OCTET_LENGTH(t.output), 0) + COALESCE(OCTET_LENGTH(t.error), 0)) FROM ",
            $table,
            " t WHERE t.message_id = m.id), 0)"
        )
    };
}

/// Returns the size of messages with their calls, reasoning and plans, in bytes.
pub(crate) async fn sum_bytes(db: &Database, ids: &[MessageId]) -> sqlx::Result<i64> {
    // MySQL returns sums of integers as decimals.
    let sizes: Vec<(i64,)> = db
        .reader()
        .list_by_ids(
            select!(concat!(
                "SELECT CAST(OCTET_LENGTH(m.content) + ",
                call_bytes!("tool_calls"),
                " + ",
                call_bytes!("copied_tool_calls"),
                " + COALESCE((SELECT SUM(OCTET_LENGTH(k.blocks)) FROM model_calls k \
             WHERE k.message_id = m.id AND k.purpose = 'answer'), 0) \
             + COALESCE((SELECT SUM(OCTET_LENGTH(k.blocks)) FROM copied_model_calls k WHERE k.message_id = m.id), 0) \
             + COALESCE((SELECT SUM(OCTET_LENGTH(r.words)) FROM reasonings r WHERE r.message_id = m.id), 0) \
             + COALESCE((SELECT SUM(OCTET_LENGTH(s.instruction) + OCTET_LENGTH(s.expected)) FROM plans p \
             JOIN plan_steps s ON s.plan_id = p.id WHERE p.message_id = m.id), 0) \
             AS SIGNED) FROM messages m WHERE m.id IN ("
            )),
            ids,
            ")",
        )
        .await?;
    Ok(sizes.into_iter().map(|(bytes,)| bytes).sum())
}

/// Creates an empty conversation with the title, the model and the disabled tools of another one of the same user.
/// Returns `None` if that conversation has been deleted.
pub(crate) async fn create_conversation_like(
    tx: &mut Transaction,
    user: UserId,
    uuid: Uuid,
    client_conversation_id: Option<&str>,
    original: ConversationId,
) -> sqlx::Result<Option<ConversationId>> {
    let now = now();
    let create = tx
        .query(
            "INSERT INTO conversations (uuid, user_id, title, model, disabled_tools, client_conversation_id, \
             created_at, updated_at) SELECT ?, user_id, title, model, disabled_tools, ?, ?, ? FROM conversations \
             WHERE id = ? AND user_id = ? AND deleted_at IS NULL",
        )
        .bind(uuid.to_string())
        .bind(client_conversation_id)
        .bind(now)
        .bind(now);
    let done = create.bind(original).bind(user).execute().await?;
    Ok((done.rows == 1).then_some(ConversationId(done.inserted_id)))
}

/// Copies a branch to a new conversation, with everything that belongs to its messages except feedback, approvals,
/// reviews and events. Returns the copy of the last message, or `None` if a message of the branch has been purged.
pub(crate) async fn copy_branch(
    tx: &mut Transaction,
    conversation: ConversationId,
    branch: &[MessageId],
) -> sqlx::Result<Option<MessageId>> {
    let mut copies = HashMap::new();
    let mut parent: Option<MessageId> = None;
    for original in branch {
        let done = tx
            .query(
                "INSERT INTO messages (conversation_id, parent_id, role, content, parts, status, error, error_code, \
                 stop_reason, epoch, model, mode, created_at, completed_at, copied_from) SELECT ?, ?, m.role, \
                 m.content, m.parts, m.status, m.error, m.error_code, m.stop_reason, m.epoch, COALESCE(m.model, \
                 (SELECT k.model FROM model_calls k WHERE k.message_id = m.id AND k.purpose = 'answer' \
                 ORDER BY k.step DESC LIMIT 1)), m.mode, m.created_at, m.completed_at, m.id FROM messages m \
                 WHERE m.id = ? AND m.status NOT IN ('streaming', 'awaiting_approval')",
            )
            .bind(conversation)
            .bind(parent)
            .bind(*original)
            .execute()
            .await?;
        if done.rows != 1 {
            return Ok(None);
        }
        let copy = MessageId(done.inserted_id);
        copies.insert(*original, copy);
        parent = Some(copy);
    }
    for copy in COPIES {
        tx.query(copy).with_timeout(LONG_STATEMENT_TIMEOUT).bind(conversation).execute().await?;
    }
    for files in CALL_FILES {
        let files: Vec<(MessageId, i64, i64)> = tx.query(files).bind(conversation).fetch_all().await?;
        create_call_files(tx, &files).await?;
    }
    copy_truncations(tx, conversation, &copies).await?;
    Ok(parent)
}

/// Stores the files of copied calls. Each row has the message, the copied call and the file; the rows of a message
/// follow one another.
pub(crate) async fn create_call_files(tx: &mut Transaction, files: &[(MessageId, i64, i64)]) -> sqlx::Result<()> {
    let files: Vec<_> = files.chunk_by(|one, next| one.0 == next.0).flat_map(|files| (0_i32..).zip(files)).collect();
    tx.insert_rows(
        "INSERT INTO message_files (message_id, position, file_id, copied_call_id) VALUES ",
        &files,
        |_| 0,
        |row, (position, (message, call, file))| {
            row.push(*message).push(*position).push(*file).push(*call);
        },
    )
    .await
}

/// Copies the record of what the model received of a conversation, from the originals to their `copies`.
async fn copy_truncations(
    tx: &mut Transaction,
    conversation: ConversationId,
    copies: &HashMap<MessageId, MessageId>,
) -> sqlx::Result<()> {
    let truncations: Vec<(MessageId, MessageId, Option<i64>)> = tx
        .query(
            "SELECT m.id, o.told_from, o.summary_id FROM messages m JOIN messages o ON o.id = m.copied_from \
             WHERE m.conversation_id = ? AND o.told_from IS NOT NULL",
        )
        .bind(conversation)
        .fetch_all()
        .await?;
    if truncations.is_empty() {
        return Ok(());
    }
    let summaries: Vec<(i64, i64)> = tx
        .query(
            "SELECT o.id, n.id FROM messages m JOIN conversation_summaries o ON o.message_id = m.copied_from \
             JOIN conversation_summaries n ON n.message_id = m.id WHERE m.conversation_id = ?",
        )
        .bind(conversation)
        .fetch_all()
        .await?;
    let summaries: HashMap<i64, i64> = summaries.into_iter().collect();
    for (message, from, summary) in truncations {
        let summary = summary.and_then(|summary| summaries.get(&summary).copied());
        let set = tx.query("UPDATE messages SET told_from = ?, summary_id = ? WHERE id = ?");
        set.bind(copies.get(&from).copied()).bind(summary).bind(message).execute().await?;
    }
    Ok(())
}

/// Stores a copy of a message that a share link shows. `parts` are the parts of a user's message as JSON, if there are
/// several.
pub(crate) async fn create_message(
    tx: &mut Transaction,
    conversation: ConversationId,
    parent: Option<MessageId>,
    message: &Message,
    parts: Option<&str>,
) -> sqlx::Result<MessageId> {
    tx.check_statement_size(message.content.len() + parts.map_or(0, str::len)).await?;
    let insert = tx
        .query(
            "INSERT INTO messages (conversation_id, parent_id, role, content, parts, status, error, error_code, \
             stop_reason, epoch, model, mode, created_at, completed_at, copied_from) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(conversation)
        .bind(parent)
        .bind(if message.role == Role::User { "user" } else { "assistant" })
        .bind(&message.content)
        .bind(parts)
        .bind(message.status.as_str())
        .bind(&message.error)
        .bind(&message.error_code);
    let insert = insert
        .bind(&message.stop_reason)
        .bind(message.epoch)
        .bind(&message.model)
        .bind((!message.mode.is_default()).then_some(PLAN_MODE))
        .bind(message.created_at)
        .bind(message.completed_at.unwrap_or(message.created_at))
        .bind(message.id);
    Ok(MessageId(insert.execute().await?.inserted_id))
}

/// A tool call that a share link shows, and its place in the answer.
#[derive(Clone, Debug)]
pub(crate) struct SharedCall<'a> {
    pub message: MessageId,
    pub call: &'a ToolCall,
    /// ID of the call for models.
    pub provider_call_id: String,
    pub step: i32,
    pub position: i32,
}

/// Stores copies of tool calls.
pub(crate) async fn create_tool_calls(tx: &mut Transaction, calls: &[SharedCall<'_>]) -> sqlx::Result<()> {
    tx.insert_rows(
        "INSERT INTO copied_tool_calls (message_id, original_id, tool_call_id, tool_name, input_text, \
         proposed_input_text, output, error, error_type, status, step, position, text_offset, started_at, \
         duration_ms, truncated, input_bytes, output_bytes) VALUES ",
        calls,
        |SharedCall { call, .. }| {
            let inputs = [Some(&call.input), call.proposed_input.as_ref()];
            let texts = [&call.output, &call.error];
            inputs.into_iter().flatten().map(|input| input.as_str().len()).sum::<usize>()
                + texts.into_iter().flatten().map(String::len).sum::<usize>()
        },
        |row, SharedCall { message, call, provider_call_id, step, position }| {
            // The ID of a copied call is negative.
            let original = Some(call.tool_call_id.0).filter(|id| *id > 0);
            row.push(*message).push(original).push(stored_id(provider_call_id));
            row.push(first_chars(&call.tool_name, MAX_TOOL_NAME_CHARS)).push(call.input.written().into_owned());
            row.push(call.proposed_input.as_ref().map(|input| input.written().into_owned()));
            row.push(&call.output).push(&call.error).push(&call.error_type).push(call.status.as_str());
            row.push(*step).push(*position).push(call.offset).push(call.started_at).push(call.duration_ms);
            row.push(call.truncated).push(call.input_bytes).push(call.output_bytes);
        },
    )
    .await
}

/// The place of a copied call in its answer, and its row ID.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct CallPlace {
    pub id: i64,
    pub message_id: MessageId,
    pub step: i32,
    pub position: i32,
}

/// Lists the places of the copied calls of a conversation.
pub(crate) async fn list_call_places(
    tx: &mut Transaction,
    conversation: ConversationId,
) -> sqlx::Result<Vec<CallPlace>> {
    let list = "SELECT t.id, t.message_id, t.step, t.position FROM messages m \
                JOIN copied_tool_calls t ON t.message_id = m.id WHERE m.conversation_id = ?";
    tx.query(list).bind(conversation).fetch_all().await
}

/// The model's part of a step of a copied answer.
#[derive(Clone, Debug)]
pub(crate) struct SharedStepRow<'a> {
    pub message_id: MessageId,
    pub message: &'a Message,
    pub step: i32,
    /// The model's output as JSON.
    pub blocks: String,
}

/// Stores the model's parts of steps of copied answers.
pub(crate) async fn create_steps(tx: &mut Transaction, steps: &[SharedStepRow<'_>]) -> sqlx::Result<()> {
    tx.insert_rows(
        "INSERT INTO copied_model_calls (message_id, step, provider, model, input_tokens, output_tokens, blocks) VALUES ",
        steps,
        |step| step.blocks.len(),
        |row, SharedStepRow { message_id, message, step, blocks }| {
            let provider = first_chars(message.provider.as_deref().unwrap_or_default(), MAX_WORD_CHARS);
            let model = first_chars(message.model.as_deref().unwrap_or_default(), MAX_MODEL_CHARS);
            row.push(*message_id).push(*step).push(provider).push(model).push(0).push(0).push(blocks);
        },
    )
    .await
}
