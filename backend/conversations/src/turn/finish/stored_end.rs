//! Builds the end of a finished turn from its rows, without its journal.

use std::sync::Arc;

use tallybook_database::Database;
use tallybook_protocol::{ChatEvent, MessageEnd, MessageId, MessageStatus, ToolCall, TurnError, Usage};

use crate::journal::{EventId, TurnLog, Words, stored};
use crate::store::{ConversationId, messages, model_calls, plans, reasonings, rows::MessageRow, tool_calls};

/// Returns the log of a finished turn, with its end. If the turn was resumed in the meantime, the log has no events and
/// its streams end, so that the subscribers reconnect.
pub(crate) async fn read_end(
    db: &Database,
    conversation_id: ConversationId,
    message_id: MessageId,
    epoch: i32,
) -> sqlx::Result<Arc<TurnLog>> {
    let found = messages::find_message(db, conversation_id, message_id).await?;
    let Some(mut message) = found.filter(|m| m.epoch == epoch && m.status != MessageStatus::Streaming) else {
        let log = TurnLog::copy(message_id, epoch);
        log.end();
        return Ok(Arc::new(log));
    };
    let seq = stored::find_last_seq(db, message_id, epoch).await?.unwrap_or_default();
    let id = EventId { message_id, epoch, seq };
    let tool_calls = tool_calls::list_truncated_tool_calls_of(db, message_id).await?;
    let reasoning = reasonings::list_of_turn(db, message_id).await?;
    let plan = plans::find_of_turn(db, message_id).await?;
    let log = if message.status == MessageStatus::Failed {
        TurnLog::of_end(id, failed_event(&message), Words { content: message.content, reasoning, plan }, tool_calls)
    } else {
        let usage = model_calls::find_usage(db, message_id).await?;
        let words = Words { content: std::mem::take(&mut message.content), reasoning, plan };
        TurnLog::of_end(id, ended_event(message, tool_calls, words, usage), Words::default(), Vec::new())
    };
    Ok(Arc::new(log))
}

fn ended_event(message: MessageRow, tool_calls: Vec<ToolCall>, words: Words, usage: Usage) -> ChatEvent {
    let Words { content, reasoning, plan } = words;
    ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: message.id,
        mode: message.answer_mode(),
        error: message.error,
        error_code: message.error_code,
        stop_reason: message.stop_reason,
        content,
        tool_calls,
        reasoning,
        plan,
        status: message.status,
        usage,
        provider: message.provider,
        model: message.model,
        told: message.told.told(),
    })
}

fn failed_event(message: &MessageRow) -> ChatEvent {
    ChatEvent::Error(TurnError {
        error: message.error.clone().unwrap_or_default(),
        code: message.error_code.clone().unwrap_or_default(),
        user_message_id: message.parent_id,
        assistant_message_id: Some(message.id),
    })
}
