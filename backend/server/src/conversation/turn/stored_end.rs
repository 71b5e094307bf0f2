//! How a turn that is over is told from its rows, without its journal.

use tallybook_protocol::{
    CallsBudget, ChatEvent, MAX_CALL_TEXT_BYTES, MessageEnd, MessageId, MessageStatus, ToolCall, TurnError, Usage,
};

use super::super::store::{
    model_calls,
    rows::{MessageRow, ModelCallRow, ToolCallRow},
    tool_calls,
};
use crate::{
    db::Database,
    journal::{EventId, LogEntry, stored},
};

/// The terminal event of a turn; `None` while it runs.
pub(super) async fn terminal_entry(db: &Database, message: &MessageRow) -> sqlx::Result<Option<LogEntry>> {
    let seq = stored::find_last_seq(db, message.id, message.epoch).await?.unwrap_or_default();
    let event = match message.status {
        MessageStatus::Streaming => return Ok(None),
        MessageStatus::Failed => failed_event(message),
        status => ChatEvent::MessageEnd(MessageEnd {
            assistant_message_id: message.id,
            error: message.error.clone(),
            error_code: message.error_code.clone(),
            stop_reason: message.stop_reason.clone(),
            content: message.content.clone(),
            tool_calls: list_truncated_calls(db, message.id).await?,
            status,
            usage: sum_usage(db, message.id).await?,
        }),
    };
    Ok(Some(LogEntry::new(Some(EventId { message_id: message.id, epoch: message.epoch, seq }), event)))
}

fn failed_event(message: &MessageRow) -> ChatEvent {
    ChatEvent::Error(TurnError {
        error: message.error.clone().unwrap_or_default(),
        code: message.error_code.clone().unwrap_or_default(),
        user_message_id: message.parent_id,
        assistant_message_id: Some(message.id),
    })
}

/// The calls of a turn, with as much of their texts as one event carries.
pub(super) async fn list_truncated_calls(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<ToolCall>> {
    let rows = tool_calls::list_tool_calls(db, &[message_id], MAX_CALL_TEXT_BYTES).await?;
    let mut calls: Vec<ToolCall> = rows.iter().map(ToolCallRow::to_tool_call).collect();
    let mut budget = CallsBudget::default();
    for call in &mut calls {
        budget.fit(call);
    }
    Ok(calls)
}

/// Tokens of a turn's steps.
pub(super) async fn sum_usage(db: &Database, message_id: MessageId) -> sqlx::Result<Usage> {
    Ok(model_calls::list_model_calls(db, &[message_id]).await?.iter().map(ModelCallRow::usage).sum())
}
