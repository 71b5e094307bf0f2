//! Closes turns whose process has died: keeps their stored text and tool calls, and marks them as interrupted. Also
//! purges old journals, client-supplied inputs and stored responses after the retention period that the operator set.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use tallybook_database::{FailureKind, classify, is_rolled_back};
use tallybook_protocol::{ChatEvent, MessageEnd, MessageId, MessageStatus};

use crate::{
    context::Context,
    journal::{
        EventId, PartialAnswer,
        stored::{self, EncodedEvent},
    },
    limits::MAX_FALLBACK_END_BYTES,
    store::{
        api_clients, messages, reasonings, responses,
        rows::ToolCallRow,
        tool_calls,
        turns::{self, AbandonedTurn, TurnEnd},
    },
    turn::finish::{REJECTED, REJECTED_CODE, error_event, message_end, terminal_event},
};

/// Upper bound for the number of events that a turn has sent but not stored.
const MAX_UNSTORED_EVENTS: i64 = 1 << 32;

/// Maximum number of abandoned turns that one query reads.
const MAX_TURNS_PER_READ: u32 = 100;

/// Error of tool calls that were running.
const CALL_INTERRUPTED: &str = "The server restarted during this call. It may have run.";

/// Error of the turn.
const TURN_INTERRUPTED: &str = "The server was restarted while it answered.";

/// The task that closes turns whose process has died.
pub(crate) struct Recovery {
    context: Arc<Context>,
    /// Turns that could not be closed and whose failure is logged already.
    reported: HashSet<MessageId>,
    /// The turn with which the last check ran out of time. The next check starts after it.
    after: MessageId,
}

impl Recovery {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, reported: HashSet::new(), after: MessageId::default() }
    }

    /// Closes the turns that earlier processes left running in an embedded database, when this process starts. Such a
    /// database has only one owner, this process, so none of these turns can be running. Does nothing with a shared
    /// database. There the owners may be alive: the outage that delayed this start may also have kept them from
    /// renewing their leases. The first regular check follows soon enough.
    pub(crate) async fn close_at_start(&mut self) -> sqlx::Result<()> {
        if !self.context.db.is_embedded() {
            return Ok(());
        }
        let now = self.context.db.reader().now().await?;
        self.close_turns_expired_before(now + chrono::Duration::days(36_500), None).await
    }

    /// Closes turns that other processes abandoned, until this process drains. If the database is unreachable or slow
    /// during a check, that check and the next one close nothing. The owners may not have been able to renew their
    /// leases either, and have until then to do so.
    pub(crate) async fn watch(mut self) {
        let context = Arc::clone(&self.context);
        let every = context.settings.lease / 2;
        let mut was_prompt = true;
        while context.draining.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
            let check = async {
                let asked = Instant::now();
                let now = context.db.reader().now().await?;
                let is_prompt = asked.elapsed() < every / 2;
                if was_prompt && is_prompt {
                    self.close_turns_expired_before(now, Some(asked + every)).await?;
                }
                Ok::<_, sqlx::Error>(is_prompt)
            };
            let Some(outcome) = context.draining.run_until_cancelled(check).await else { return };
            was_prompt = outcome.unwrap_or_else(|error| {
                tracing::warn!(%error, "the check for abandoned turns failed");
                false
            });
        }
    }

    /// Closes turns whose leases expired before `time`, page by page. A turn that cannot be closed does not block the
    /// others. Neither does a locked turn, although detecting the lock takes some seconds. Turns that are left at
    /// `until` come first in the next check. Fails if the database is unavailable.
    async fn close_turns_expired_before(&mut self, time: DateTime<Utc>, until: Option<Instant>) -> sqlx::Result<()> {
        loop {
            let page = turns::list_abandoned_turns(&self.context.db, time, self.after, MAX_TURNS_PER_READ).await?;
            if page.is_empty() {
                self.after = MessageId::default();
                return Ok(());
            }
            for turn in page {
                self.after = turn.message_id;
                // Skips turns that still run in this process: their end may be known here, but not stored yet.
                if !self.context.running.contains(turn.message_id) {
                    Box::pin(self.close(turn)).await?;
                }
                if until.is_some_and(|until| Instant::now() >= until) {
                    return Ok(());
                }
            }
        }
    }

    async fn close(&mut self, turn: AbandonedTurn) -> sqlx::Result<()> {
        let (context, message_id) = (&self.context, turn.message_id);
        // Not retried at once: the next check comes soon, and each retry may wait for a lock.
        let closed = match try_close(context, turn, false).await {
            Err(error) if classify(&error) == FailureKind::Permanent => {
                if !self.reported.contains(&message_id) {
                    tracing::error!(%error, %message_id, "the full end of an abandoned turn cannot be stored; trying a shorter one");
                }
                try_close(context, turn, true).await
            }
            closed => closed,
        };
        match closed {
            Ok(is_closed) => {
                self.reported.remove(&message_id);
                if is_closed {
                    context.feeds.announce(turn.user_id);
                    tracing::warn!(%message_id, "an abandoned turn was closed as interrupted");
                }
            }
            // Each check tries again; the failure is logged once.
            Err(error) if classify(&error) == FailureKind::Permanent => {
                if self.reported.insert(message_id) {
                    tracing::error!(%error, %message_id, "an abandoned turn could not be closed");
                }
            }
            // If a host dies within a transaction, its locks stay until the database detects that the connection is
            // dead.
            Err(error) if is_rolled_back(&error) => {
                tracing::warn!(%error, %message_id, "an abandoned turn is locked; it is closed later");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Closes a turn. Returns `false` if its owner is still alive. With `is_fallback`, stores an end that every database
/// accepts.
async fn try_close(context: &Context, turn: AbandonedTurn, is_fallback: bool) -> sqlx::Result<bool> {
    let AbandonedTurn { message_id, user_message_id, epoch, .. } = turn;
    // Everything is read before the transaction begins, so that it needs no second connection.
    let last_seq = stored::find_last_seq(&context.db, message_id, epoch).await?;
    let mut partial = match stored::load_partial(&context.db, message_id).await {
        Err(error) if is_fallback && classify(&error) == FailureKind::Permanent => PartialAnswer::default(),
        partial => partial?,
    };
    let (status, error, code) = if is_fallback {
        partial.content.truncate(partial.content.floor_char_boundary(MAX_FALLBACK_END_BYTES));
        partial.reasoning.clear();
        (MessageStatus::Failed, REJECTED, REJECTED_CODE)
    } else {
        (MessageStatus::Interrupted, TURN_INTERRUPTED, "interrupted")
    };
    let event = if is_fallback {
        error_event(message_id, user_message_id, error, code)
    } else {
        let Some(event) = interrupted_event(context, turn, &partial).await? else { return Ok(true) };
        event
    };
    let event = EncodedEvent::of(&event)?;
    let end = TurnEnd {
        content: &partial.content,
        status,
        error: Some(error),
        error_code: Some(code),
        stop_reason: None,
        active: Duration::ZERO,
    };
    let mut tx = context.db.begin().await?;
    // From here on, an owner that was only slow writes nothing more. If it wrote after the reads above, the next check
    // closes the turn.
    let is_locked = turns::lock_turns(&mut tx, &[(message_id, epoch)]).await?;
    if !is_locked || stored::find_last_seq_in(&mut tx, message_id, epoch).await? != last_seq {
        return Ok(false);
    }
    // Subscribers may have received more events than were stored. The end needs a number that is new to all of them.
    let seq = last_seq.unwrap_or_default() + MAX_UNSTORED_EVENTS;
    turns::end_turn(&mut tx, message_id, epoch, end).await?;
    reasonings::create_missing(&mut tx, message_id, &partial.reasoning).await?;
    tool_calls::end_open_tool_calls(&mut tx, message_id, CALL_INTERRUPTED).await?;
    // For subscribers that follow the turn in its stored journal.
    stored::create_event(&mut tx, EventId { message_id, epoch, seq }, &event).await?;
    tx.commit().await?;
    context.turn_counts.count_end(status);
    Ok(true)
}

/// Returns the terminal event of an interrupted turn. Returns `None` if its conversation was deleted in the meantime.
async fn interrupted_event(
    context: &Context,
    turn: AbandonedTurn,
    partial: &PartialAnswer,
) -> sqlx::Result<Option<ChatEvent>> {
    let AbandonedTurn { conversation_id, message_id, user_message_id, .. } = turn;
    let Some(message) = messages::find_message(&context.db, conversation_id, message_id).await? else {
        return Ok(None);
    };
    let end_if_open = |call: &mut ToolCallRow| call.end_if_open(CALL_INTERRUPTED);
    let tool_calls = tool_calls::list_changed_tool_calls_of(&context.db, message_id, end_if_open).await?;
    let end = MessageEnd {
        status: MessageStatus::Interrupted,
        error: Some(TURN_INTERRUPTED.to_owned()),
        error_code: Some("interrupted".to_owned()),
        ..message_end(&context.db, message, partial.clone(), tool_calls).await?
    };
    Ok(Some(terminal_event(end, user_message_id)))
}

/// Interval between checks for old records.
const PURGE_INTERVAL: Duration = Duration::from_hours(1);

/// Pause before the next batch, so that the requests of users come in between.
const PURGE_PAUSE: Duration = Duration::from_millis(500);

/// Maximum number of turns whose records of one kind are purged at a time.
const MAX_PURGED_AT_ONCE: u32 = 50;

/// Purges records that are older than the retention period, until the server drains. Returns at once if they are kept
/// forever.
pub(crate) async fn purge_journals(context: Arc<Context>) {
    let Some(retention) = context.settings.journal_retention else { return };
    loop {
        let pause = if purge(&context, retention).await { PURGE_PAUSE } else { PURGE_INTERVAL };
        if context.draining.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// Purges one batch of each kind. A kind that fails does not block the others. Returns `true` if there may be more.
async fn purge(context: &Context, retention: Duration) -> bool {
    let db = &context.db;
    let time = match db.reader().now().await {
        Ok(now) => now - retention,
        Err(error) => {
            tracing::warn!(%error, "old journals could not be purged");
            return false;
        }
    };
    let mut has_more = false;
    for (kind, purged) in [
        ("turn_inputs", api_clients::delete_turn_inputs_before(db, time, MAX_PURGED_AT_ONCE).await),
        ("responses", responses::delete_before(db, time, MAX_PURGED_AT_ONCE).await),
        ("journal_events", stored::delete_events_before(db, time, MAX_PURGED_AT_ONCE).await),
    ] {
        match purged {
            Ok(count) => has_more |= count >= MAX_PURGED_AT_ONCE as usize,
            Err(error) => tracing::warn!(%error, kind, "old records of turns could not be purged"),
        }
    }
    has_more
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::{Duration, Instant},
    };

    use tallybook_accounts::UserId;
    use tallybook_database::select;
    use tallybook_protocol::NewConversation;
    use tracing::{Level, Subscriber, subscriber};
    use tracing_subscriber::{
        Layer,
        layer::{Context, SubscriberExt as _},
    };

    use crate::turn::{
        recovery::{MAX_PURGED_AT_ONCE, MessageId, Recovery, purge, turns},
        testing::Fixture,
    };

    /// Counts errors.
    struct Errors(Arc<AtomicUsize>);

    impl<S: Subscriber> Layer<S> for Errors {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            if *event.metadata().level() == Level::ERROR {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    #[tokio::test]
    async fn a_turn_that_cannot_be_closed_is_logged_once() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let (tx, rows) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON messages WHEN NEW.status <> 'streaming' \
                      BEGIN SELECT RAISE(ABORT, 'refused'); END";
        fixture.execute(refuse).await;
        let errors = Arc::new(AtomicUsize::new(0));
        let _logging = subscriber::set_default(tracing_subscriber::registry().with(Errors(Arc::clone(&errors))));
        let mut recovery = Recovery::new(Arc::clone(context));
        for _ in 0..3 {
            recovery.close_at_start().await.unwrap();
            assert_eq!(errors.load(Ordering::SeqCst), 2, "that the whole end is refused, and the fallback, too");
        }
        fixture.execute("DROP TRIGGER refuse").await;
        recovery.close_at_start().await.unwrap();
        assert!(recovery.reported.is_empty() && !context.running.contains(rows.assistant_message_id));
    }
    #[tokio::test]
    async fn a_check_that_runs_out_of_time_continues_in_the_next_one() {
        let mut fixture = Fixture::set_up().await;
        let context = Arc::clone(&fixture.service.context);
        for _ in 0..2 {
            let (tx, _) = fixture.begin_turn().await;
            tx.commit().await.unwrap();
            let other = fixture.service.create_conversation(UserId::LOCAL, NewConversation::default()).await.unwrap();
            fixture.conversation_id = context.find_conversation(UserId::LOCAL, other.uuid).await.unwrap().id;
        }
        let ever = context.db.reader().now().await.unwrap() + chrono::Duration::days(1);
        let mut recovery = Recovery::new(Arc::clone(&context));
        for left in [1, 0, 0] {
            recovery.close_turns_expired_before(ever, Some(Instant::now())).await.unwrap();
            let abandoned = turns::list_abandoned_turns(&context.db, ever, MessageId::default(), 9).await.unwrap();
            assert_eq!(abandoned.len(), left);
        }
    }

    #[tokio::test]
    async fn a_kind_that_fails_does_not_block_the_others_and_each_is_purged_in_batches() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let (tx, _) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        for sql in [
            "UPDATE messages SET status = 'complete', completed_at = '2020-01-01T00:00:00+00:00' WHERE role = 'assistant'",
            "INSERT INTO turn_inputs (message_id, input) SELECT id, '{}' FROM messages WHERE role = 'assistant'",
            "CREATE TRIGGER refuse BEFORE DELETE ON turn_inputs BEGIN SELECT RAISE(ABORT, 'refused'); END",
            "INSERT INTO journal_events (message_id, epoch, seq, event, data, created_at) \
             SELECT id, 1, 0, 'x', '{}', '2020-01-01T00:00:00+00:00' FROM messages WHERE role = 'assistant'",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) \
             INSERT INTO messages (conversation_id, role, content, status, created_at) \
             SELECT c.id, 'assistant', 'old', 'complete', '2020-01-01T00:00:00+00:00' FROM n, conversations c",
            "INSERT INTO responses (message_id, key_id, input, created_at) \
             SELECT id, 0, '[]', '2020-01-01T00:00:00+00:00' FROM messages WHERE content = 'old'",
        ] {
            fixture.execute(sql).await;
        }
        let count = async |sql| context.db.reader().query(sql).fetch_value::<i64>().await.unwrap();
        assert!(purge(context, Duration::ZERO).await, "there are more responses");
        assert_eq!(count(select!("SELECT COUNT(*) FROM journal_events")).await, 0);
        assert_eq!(count(select!("SELECT COUNT(*) FROM responses")).await, 60 - i64::from(MAX_PURGED_AT_ONCE));
        assert!(!purge(context, Duration::ZERO).await);
        assert_eq!(count(select!("SELECT COUNT(*) FROM responses")).await, 0);
        assert_eq!(count(select!("SELECT COUNT(*) FROM turn_inputs")).await, 1);
    }
}
