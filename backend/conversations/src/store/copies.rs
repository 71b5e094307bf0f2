//! SQL that copies messages to a new conversation: a branch of a conversation of the same user, or the messages of a
//! share link. The calls of copied answers are in `copied_tool_calls` and `copied_model_calls`. The tool history,
//! statistics, budgets and usage read only `tool_calls` and `model_calls`, so they count each call once.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, LONG_STATEMENT_TIMEOUT, Transaction, now, select};
use tallybook_files::FileRow;
use tallybook_protocol::{Message, MessageId, Plan, PlanStepStatus, Reasoning, Role, ToolCall};
use uuid::Uuid;

use crate::store::{
    by_ids::by_ids,
    columns::{MAX_MODEL_CHARS, MAX_TOOL_NAME_CHARS, MAX_WORD_CHARS, stored_id, truncated},
    rows::{ConversationId, PLAN_MODE},
};

/// Copies the calls of `$table` to the copies of their messages. `$original` is the ID of the call that ran.
macro_rules! copy_tool_calls {
    ($table:literal, $original:literal) => {
        concat!(
            "INSERT INTO copied_tool_calls (message_id, original_id, tool_call_id, tool_name, input_text, \
             proposed_input_text, output, error, error_type, status, step, position, text_offset, started_at, \
             duration_ms) SELECT m.id, ",
            $original,
            ", t.tool_call_id, t.tool_name, t.input_text, t.proposed_input_text, t.output, t.error, t.error_type, \
             t.status, t.step, t.position, t.text_offset, t.started_at, t.duration_ms FROM messages m JOIN ",
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
    copy_tool_calls!("tool_calls", "t.id"),
    copy_tool_calls!("copied_tool_calls", "t.original_id"),
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

/// Returns the size of messages with their calls, in bytes.
pub(crate) async fn sum_bytes(db: &Database, ids: &[MessageId]) -> sqlx::Result<i64> {
    // MySQL returns sums of integers as decimals.
    let sizes: Vec<(i64,)> = by_ids(
        db,
        select!(
            "SELECT CAST(OCTET_LENGTH(m.content) \
             + COALESCE((SELECT SUM(OCTET_LENGTH(t.input_text) + COALESCE(OCTET_LENGTH(t.output), 0)) \
             FROM tool_calls t WHERE t.message_id = m.id), 0) \
             + COALESCE((SELECT SUM(OCTET_LENGTH(t.input_text) + COALESCE(OCTET_LENGTH(t.output), 0)) \
             FROM copied_tool_calls t WHERE t.message_id = m.id), 0) \
             + COALESCE((SELECT SUM(OCTET_LENGTH(k.blocks)) FROM model_calls k WHERE k.message_id = m.id), 0) \
             + COALESCE((SELECT SUM(OCTET_LENGTH(k.blocks)) FROM copied_model_calls k WHERE k.message_id = m.id), 0) \
             AS SIGNED) FROM messages m WHERE m.id IN ("
        ),
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
    original: ConversationId,
) -> sqlx::Result<Option<ConversationId>> {
    let now = now();
    let create = tx
        .query(
            "INSERT INTO conversations (uuid, user_id, title, model, disabled_tools, created_at, updated_at) \
             SELECT ?, user_id, title, model, disabled_tools, ?, ? FROM conversations \
             WHERE id = ? AND user_id = ? AND deleted_at IS NULL",
        )
        .bind(uuid.to_string())
        .bind(now)
        .bind(now);
    let done = create.bind(original).bind(user).execute().await?;
    Ok((done.rows == 1).then_some(ConversationId(done.inserted_id)))
}

/// Creates an empty conversation with the server's default model.
pub(crate) async fn create_conversation(
    tx: &mut Transaction,
    user: UserId,
    uuid: Uuid,
    title: &str,
) -> sqlx::Result<ConversationId> {
    let now = now();
    let create = tx
        .query("INSERT INTO conversations (uuid, user_id, title, created_at, updated_at) VALUES (?, ?, ?, ?, ?)")
        .bind(uuid.to_string())
        .bind(user)
        .bind(title);
    Ok(ConversationId(create.bind(now).bind(now).execute().await?.inserted_id))
}

/// Makes a message the last one of the branch that a new conversation shows.
pub(crate) async fn set_head(tx: &mut Transaction, id: ConversationId, head: MessageId) -> sqlx::Result<()> {
    let set = tx.query("UPDATE conversations SET head_message_id = ? WHERE id = ?").bind(head).bind(id);
    set.execute().await.map(|_| ())
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
        for files in files.chunk_by(|one, next| one.0 == next.0) {
            add_call_files(tx, files).await?;
        }
    }
    copy_truncations(tx, conversation, &copies).await?;
    Ok(parent)
}

/// Stores the files of the copied calls of one message. Each row has the message, the copied call and the file.
async fn add_call_files(tx: &mut Transaction, files: &[(MessageId, i64, i64)]) -> sqlx::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut insert = tx.query("INSERT INTO message_files (message_id, position, file_id, copied_call_id) VALUES ");
    insert.push_rows((0_i32..).zip(files), |row, (position, (message, call, file))| {
        row.push(*message).push(position).push(*file).push(*call);
    });
    insert.execute().await.map(|_| ())
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCall<'a> {
    pub call: &'a ToolCall,
    /// ID of the call for models.
    pub provider_call_id: &'a str,
    pub step: i32,
    pub position: i32,
}

/// Stores a copy of a tool call, and returns its row ID.
pub(crate) async fn create_tool_call(
    tx: &mut Transaction,
    message: MessageId,
    shared: SharedCall<'_>,
) -> sqlx::Result<i64> {
    let SharedCall { call, provider_call_id, step, position } = shared;
    let input = call.input.as_str();
    let bytes = [&call.output, &call.error].into_iter().flatten().map(String::len).sum::<usize>();
    tx.check_statement_size(input.len() + bytes).await?;
    // The ID of a copied call is negative.
    let original = Some(call.tool_call_id.0).filter(|id| *id > 0);
    let insert = tx
        .query(
            "INSERT INTO copied_tool_calls (message_id, original_id, tool_call_id, tool_name, input_text, \
             proposed_input_text, output, error, error_type, status, step, position, text_offset, started_at, \
             duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(message)
        .bind(original)
        .bind(stored_id(provider_call_id))
        .bind(truncated(&call.tool_name, MAX_TOOL_NAME_CHARS))
        .bind(input)
        .bind(call.proposed_input.as_ref().map(|input| input.as_str().to_owned()))
        .bind(&call.output)
        .bind(&call.error);
    let insert = insert
        .bind(&call.error_type)
        .bind(call.status.as_str())
        .bind(step)
        .bind(position)
        .bind(call.offset)
        .bind(call.started_at)
        .bind(call.duration_ms);
    Ok(insert.execute().await?.inserted_id)
}

/// Stores the files of copied calls of one message: each with the row ID of its call.
pub(crate) async fn create_call_files(
    tx: &mut Transaction,
    message: MessageId,
    files: &[(i64, FileRow)],
) -> sqlx::Result<()> {
    let rows: Vec<(MessageId, i64, i64)> = files.iter().map(|(call, file)| (message, *call, file.id.0)).collect();
    add_call_files(tx, &rows).await
}

/// Stores the model's part of a step of a copied answer. `blocks` are the model's output as JSON.
pub(crate) async fn create_step(
    tx: &mut Transaction,
    message_id: MessageId,
    message: &Message,
    step: i32,
    blocks: &str,
) -> sqlx::Result<()> {
    tx.check_statement_size(blocks.len()).await?;
    tx.query(
        "INSERT INTO copied_model_calls (message_id, step, provider, model, input_tokens, output_tokens, blocks) \
         VALUES (?, ?, ?, ?, 0, 0, ?)",
    )
    .bind(message_id)
    .bind(step)
    .bind(truncated(message.provider.as_deref().unwrap_or_default(), MAX_WORD_CHARS))
    .bind(truncated(message.model.as_deref().unwrap_or_default(), MAX_MODEL_CHARS))
    .bind(blocks)
    .execute()
    .await
    .map(|_| ())
}

/// Stores a copy of reasoning.
pub(crate) async fn create_reasoning(
    tx: &mut Transaction,
    message: MessageId,
    reasoning: &Reasoning,
) -> sqlx::Result<()> {
    tx.check_statement_size(reasoning.text.len()).await?;
    tx.query(
        "INSERT INTO reasonings (message_id, step, text_offset, calls_before, words, truncated, duration_ms) \
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(message)
    .bind(reasoning.reasoning_id)
    .bind(reasoning.offset)
    .bind(reasoning.calls_before)
    .bind(&reasoning.text)
    .bind(reasoning.truncated)
    .bind(reasoning.duration_ms)
    .execute()
    .await
    .map(|_| ())
}

/// Stores a copy of a plan. A step that was running in an answer that ended early becomes pending.
pub(crate) async fn create_plan(
    tx: &mut Transaction,
    message: MessageId,
    plan: &Plan,
    at: DateTime<Utc>,
) -> sqlx::Result<()> {
    let create = tx
        .query(
            "INSERT INTO plans (message_id, revision, reason, success_criteria, text_offset, created_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(message)
        .bind(plan.revision)
        .bind(&plan.reason)
        .bind(&plan.success_criteria);
    let plan_id = create.bind(plan.offset).bind(at).execute().await?.inserted_id;
    for (position, step) in (0_i32..).zip(&plan.steps) {
        let status = match step.status {
            PlanStepStatus::Executing | PlanStepStatus::Unknown => PlanStepStatus::Pending,
            ended => ended,
        };
        let create = tx
            .query(
                "INSERT INTO plan_steps (plan_id, revision, position, instruction, expected, status, attempt, reason, \
                 text_offset, calls_before, end_offset) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(plan_id)
            .bind(step.revision)
            .bind(position)
            .bind(&step.instruction)
            .bind(&step.expected)
            .bind(status.as_str());
        let create = create.bind(step.attempt).bind(&step.reason).bind(step.offset).bind(step.calls_before);
        create.bind(step.end_offset).execute().await?;
    }
    Ok(())
}
