//! What a process does beside its requests: it closes turns that other processes left behind, and stops its own turns
//! when another process was asked to.

use std::{sync::Arc, time::Duration};

use tallybook_protocol::{ChatEvent, MessageEnd, MessageStatus, ToolCall, ToolCallStatus};

use super::{
    repository::{
        calls,
        turns::{self, TurnEnd},
    },
    service::Inner,
};
use crate::journal::{EventId, lock, stored};

/// How often the owner of turns looks whether another process was asked to stop one.
const STOP_REQUESTS_EVERY: Duration = Duration::from_millis(400);

impl Inner {
    /// Closes turns that other processes abandoned, until this one drains.
    pub(super) async fn look_for_abandoned_turns(self: Arc<Self>) {
        while self.draining.run_until_cancelled(tokio::time::sleep(self.lease / 2)).await.is_some() {
            if let Err(error) = self.close_abandoned_turns(true).await {
                tracing::warn!(%error, "abandoned turns could not be looked for");
            }
        }
    }

    /// Stops turns of this process that other processes were asked to stop. An embedded database has no others.
    pub(super) async fn look_for_stop_requests(self: Arc<Self>) {
        if self.db.is_embedded() {
            return;
        }
        while self.shut_down.run_until_cancelled(tokio::time::sleep(STOP_REQUESTS_EVERY)).await.is_some() {
            if lock(&self.running).is_empty() {
                if self.draining.is_cancelled() {
                    return;
                }
                continue;
            }
            match turns::list_stop_requests(&self.db, &self.owner).await {
                Ok(requested) => {
                    for message_id in requested {
                        self.cancel_turn(message_id);
                    }
                }
                Err(error) => tracing::warn!(%error, "requests to stop could not be looked for"),
            }
        }
    }

    /// Ends every turn whose owner is gone: what was stored of it stays, and it is marked as interrupted. Gives how many.
    pub(super) async fn close_abandoned_turns(&self, leases_count: bool) -> sqlx::Result<usize> {
        let now = turns::database_now(&self.db).await?;
        // An embedded database has one owner, this process: what it finds running at its start cannot be running.
        let expired_before = if leases_count { now } else { now + chrono::Duration::days(36_500) };
        let abandoned = turns::list_abandoned_turns(&self.db, expired_before).await?;
        let mut closed = 0;
        for turn in abandoned {
            if self.journal.find(turn.message_id).is_some() {
                continue;
            }
            match self.close_abandoned_turn(turn).await {
                Ok(ended) => closed += usize::from(ended),
                // The others must not wait for it.
                Err(error) => tracing::error!(%error, turn.message_id, "an abandoned turn could not be closed"),
            }
        }
        Ok(closed)
    }

    async fn close_abandoned_turn(&self, turn: turns::AbandonedTurn) -> sqlx::Result<bool> {
        let turns::AbandonedTurn { message_id, conversation_id, epoch } = turn;
        let content = stored::find_text(&self.db, message_id).await?;
        let end = TurnEnd {
            content: &content,
            status: "interrupted",
            error: Some("The server was restarted while it answered."),
            error_code: Some("interrupted"),
            stop_reason: None,
        };
        let call_error = "The server restarted during this call. It may have run.";
        let mut tool_calls = self.tool_calls_of(conversation_id, message_id).await?;
        let open = |call: &&mut ToolCall| call.output.is_none() && call.error.is_none();
        for call in tool_calls.iter_mut().filter(open) {
            call.status = ToolCallStatus::Interrupted;
            call.error = Some(call_error.to_owned());
        }
        let event = ChatEvent::MessageEnd(MessageEnd {
            assistant_message_id: message_id,
            content: content.clone(),
            tool_calls,
            status: MessageStatus::Interrupted,
            stop_reason: None,
            usage: self.usage_of(conversation_id, message_id).await?,
        });
        let seq = stored::find_last_seq(&self.db, message_id, epoch).await?.map_or(0, |seq| seq + 1);
        let mut tx = self.db.begin().await?;
        if !turns::end_turn(&mut tx, message_id, epoch, end).await? {
            return Ok(false);
        }
        calls::end_open_tool_calls(&mut tx, message_id, "interrupted", call_error).await?;
        // For whoever follows the turn in its stored journal.
        stored::create_event(&mut tx, EventId { message_id, epoch, seq }, &event).await?;
        tx.commit().await?;
        tracing::warn!(message_id, "an abandoned turn was closed as interrupted");
        Ok(true)
    }
}
