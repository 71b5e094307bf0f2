//! Closing turns whose process is gone: what was stored of one stays, and it is marked as interrupted.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tallybook_protocol::{ChatEvent, MessageEnd, MessageId, MessageStatus, ToolCallStatus, TurnError};

use super::{
    super::{
        context::Context,
        store::{
            rows::interrupt_open,
            tool_calls,
            turns::{self, AbandonedTurn, TurnEnd},
        },
    },
    end::{MAX_SMALL_END_BYTES, REJECTED, REJECTED_CODE, check_statement_size},
    stored_end::{list_truncated_calls, sum_usage},
};
use crate::{
    db::{Failure, classify, retried},
    journal::{
        EventId,
        stored::{self, EncodedEvent},
    },
};

/// No turn sends so many events that are not yet stored.
const MAX_UNSTORED_EVENTS: i64 = 1 << 32;

/// How many abandoned turns are read at a time.
const MAX_TURNS_PER_READ: u32 = 100;

/// Said of calls that were running.
const CALL_INTERRUPTED: &str = "The server restarted during this call. It may have run.";

/// Said of the turn.
const TURN_INTERRUPTED: &str = "The server was restarted while it answered.";

/// Closes, at the start of this process, what earlier ones left running.
pub(in crate::conversation) async fn recover_at_start(context: &Context) -> sqlx::Result<()> {
    let now = turns::database_now(&context.db).await?;
    // An embedded database has one owner, this process: what it finds running at its start cannot be running.
    let expired_before = if context.db.is_embedded() { now + chrono::Duration::days(36_500) } else { now };
    close_turns_expired_before(context, expired_before).await
}

/// Closes turns that other processes abandoned, until this one drains.
pub(in crate::conversation) async fn watch_for_abandoned_turns(context: Arc<Context>) {
    let every = context.lifetimes.lease / 2;
    while context.draining.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
        let closed = async {
            let now = turns::database_now(&context.db).await?;
            close_turns_expired_before(&context, now).await
        };
        if let Some(Err(error)) = context.draining.run_until_cancelled(closed).await {
            tracing::warn!(%error, "abandoned turns could not be looked for");
        }
    }
}

/// Ends every turn whose owner is gone, page by page; one that cannot be closed keeps none of the others from it. Fails when
/// the database takes nothing.
async fn close_turns_expired_before(context: &Context, time: DateTime<Utc>) -> sqlx::Result<()> {
    let mut last = MessageId::default();
    loop {
        let page = turns::list_abandoned_turns(&context.db, time, last, MAX_TURNS_PER_READ).await?;
        let Some(end) = page.last() else { return Ok(()) };
        last = end.message_id;
        for turn in page {
            // One of our own, which waits for the database to take its end, knows more than is stored.
            if !context.running.contains(turn.message_id) {
                Box::pin(close(context, turn)).await?;
            }
        }
    }
}

async fn close(context: &Context, turn: AbandonedTurn) -> sqlx::Result<()> {
    let message_id = turn.message_id;
    let closed = match retried(|| try_close(context, turn, false)).await {
        Err(error) if classify(&error) == Failure::Lasting => {
            tracing::error!(%error, %message_id, "the end of an abandoned turn cannot be stored whole");
            retried(|| try_close(context, turn, true)).await
        }
        closed => closed,
    };
    match closed {
        Ok(false) => {}
        Ok(true) => {
            context.changes.announce(turn.user_id);
            tracing::warn!(%message_id, "an abandoned turn was closed as interrupted");
        }
        Err(error) if classify(&error) == Failure::Lasting => {
            tracing::error!(%error, %message_id, "an abandoned turn could not be closed");
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// False when its owner lives after all. With `is_small` the end is one that every database takes.
async fn try_close(context: &Context, turn: AbandonedTurn, is_small: bool) -> sqlx::Result<bool> {
    let AbandonedTurn { message_id, user_message_id, epoch, .. } = turn;
    let mut tx = context.db.begin().await?;
    // From here on an owner that was only silent writes nothing more.
    if !turns::lock_turn(&mut tx, message_id, epoch).await? {
        return Ok(false);
    }
    let mut text = match stored::find_text(&context.db, message_id).await {
        Err(error) if is_small && classify(&error) == Failure::Lasting => String::new(),
        text => text?,
    };
    let (status, error, code) = if is_small {
        text.truncate(text.floor_char_boundary(MAX_SMALL_END_BYTES));
        (MessageStatus::Failed, REJECTED, REJECTED_CODE)
    } else {
        (MessageStatus::Interrupted, TURN_INTERRUPTED, "interrupted")
    };
    let event = if is_small {
        ChatEvent::Error(TurnError {
            error: error.to_owned(),
            code: code.to_owned(),
            user_message_id,
            assistant_message_id: Some(message_id),
        })
    } else {
        interrupted_event(context, message_id, &text).await?
    };
    let event = EncodedEvent::of(&event)?;
    check_statement_size(&context.db, &text, &event).await?;
    let end = TurnEnd { content: &text, status, error: Some(error), error_code: Some(code), stop_reason: None };
    // Readers may have heard of more than was stored; the end must have a number that is new to all of them.
    let seq = stored::find_last_seq(&context.db, message_id, epoch).await?.unwrap_or_default() + MAX_UNSTORED_EVENTS;
    turns::end_turn(&mut tx, message_id, epoch, end).await?;
    tool_calls::end_open_tool_calls(&mut tx, message_id, ToolCallStatus::Interrupted, CALL_INTERRUPTED).await?;
    // For whoever follows the turn in its stored journal.
    stored::create_event(&mut tx, EventId { message_id, epoch, seq }, &event).await?;
    tx.commit().await?;
    context.turn_counts.count_end(status);
    Ok(true)
}

async fn interrupted_event(context: &Context, message_id: MessageId, text: &str) -> sqlx::Result<ChatEvent> {
    let mut tool_calls = list_truncated_calls(&context.db, message_id).await?;
    interrupt_open(&mut tool_calls, CALL_INTERRUPTED);
    Ok(ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: message_id,
        content: text.to_owned(),
        tool_calls,
        status: MessageStatus::Interrupted,
        error: Some(TURN_INTERRUPTED.to_owned()),
        error_code: Some("interrupted".to_owned()),
        stop_reason: None,
        usage: sum_usage(&context.db, message_id).await?,
    }))
}
