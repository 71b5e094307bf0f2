//! What a process does beside its requests: it closes turns that other processes left behind, stops its own turns when
//! another process was asked to, and purges old journals.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use tallybook_protocol::{ChatEvent, MessageEnd, MessageStatus};

use super::{
    model::interrupt_open,
    repository::{
        calls,
        turns::{self, TurnEnd},
    },
    service::Inner,
};
use crate::{
    accounts::UserId,
    journal::{EventId, lock, stored},
};

/// How often the owner of turns looks whether another process was asked to stop one.
const STOP_REQUESTS_EVERY: Duration = Duration::from_millis(400);

/// How often old journals are looked for.
const PURGE_EVERY: Duration = Duration::from_hours(1);

/// The pause before more of them, so that what people wait for comes between.
const PURGE_PAUSE: Duration = Duration::from_millis(500);

/// No turn sends so many events that are not yet stored.
const MOST_UNSTORED: i64 = 1 << 32;

/// How many turns' journals are purged at a time.
const PURGED_AT_ONCE: u32 = 50;

impl Inner {
    /// Closes, at the start of this process, what earlier ones left running.
    pub(super) async fn close_turns_left_running(&self) -> sqlx::Result<()> {
        let now = turns::database_now(&self.db).await?;
        // An embedded database has one owner, this process: what it finds running at its start cannot be running.
        let expired_before = if self.db.is_embedded() { now + chrono::Duration::days(36_500) } else { now };
        self.close_turns_expired_before(expired_before).await
    }

    /// Closes turns that other processes abandoned, until this one drains.
    pub(super) async fn look_for_abandoned_turns(self: Arc<Self>) {
        while self.draining.run_until_cancelled(tokio::time::sleep(self.lifetimes.lease / 2)).await.is_some() {
            let closed = async {
                let now = turns::database_now(&self.db).await?;
                self.close_turns_expired_before(now).await
            };
            if let Err(error) = closed.await {
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

    /// Purges the journals of turns that have been over for so long, until this process drains.
    pub(super) async fn purge_journal(self: Arc<Self>) {
        let Some(kept_for) = self.lifetimes.journal else { return };
        loop {
            let purged = async {
                let time = turns::database_now(&self.db).await? - kept_for;
                stored::delete_events_before(&self.db, time, PURGED_AT_ONCE).await
            };
            let pause = match purged.await {
                Ok(PURGED_AT_ONCE) => PURGE_PAUSE,
                Ok(_) => PURGE_EVERY,
                Err(error) => {
                    tracing::warn!(%error, "old journals could not be purged");
                    PURGE_EVERY
                }
            };
            if self.draining.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// Ends every turn whose owner is gone: what was stored of it stays, and it is marked as interrupted.
    async fn close_turns_expired_before(&self, time: DateTime<Utc>) -> sqlx::Result<()> {
        for turn in turns::list_abandoned_turns(&self.db, time).await? {
            // One of our own, which waits for the database to take its end, knows more than is stored.
            let is_own = lock(&self.running).contains_key(&turn.message_id);
            if !is_own && let Err(error) = self.close_abandoned_turn(turn).await {
                // The others must not wait for it.
                tracing::error!(%error, turn.message_id, "an abandoned turn could not be closed");
            }
        }
        Ok(())
    }

    async fn close_abandoned_turn(&self, turn: turns::AbandonedTurn) -> sqlx::Result<()> {
        let turns::AbandonedTurn { message_id, user_id, epoch } = turn;
        let mut tx = self.db.begin().await?;
        // From here on an owner that was only silent writes nothing more.
        if !turns::lock_turn(&mut tx, message_id, epoch).await? {
            return Ok(());
        }
        let content = stored::find_text(&self.db, message_id).await?;
        let end = TurnEnd {
            content: &content,
            status: "interrupted",
            error: Some("The server was restarted while it answered."),
            error_code: Some("interrupted"),
            stop_reason: None,
        };
        let call_error = "The server restarted during this call. It may have run.";
        let mut tool_calls = self.tool_calls_of(message_id).await?;
        interrupt_open(&mut tool_calls, call_error);
        let event = ChatEvent::MessageEnd(MessageEnd {
            assistant_message_id: message_id,
            content: content.clone(),
            tool_calls,
            status: MessageStatus::Interrupted,
            error: end.error.map(str::to_owned),
            error_code: end.error_code.map(str::to_owned),
            stop_reason: None,
            usage: self.usage_of(message_id).await?,
        });
        // Readers may have heard of more than was stored; the end must have a number that is new to all of them.
        let seq = stored::find_last_seq(&self.db, message_id, epoch).await?.unwrap_or_default() + MOST_UNSTORED;
        turns::end_turn(&mut tx, message_id, epoch, end).await?;
        calls::end_open_tool_calls(&mut tx, message_id, "interrupted", call_error).await?;
        // For whoever follows the turn in its stored journal.
        stored::create_event(&mut tx, EventId { message_id, epoch, seq }, &event).await?;
        tx.commit().await?;
        self.changes.announce(UserId(user_id));
        tracing::warn!(message_id, "an abandoned turn was closed as interrupted");
        Ok(())
    }
}
