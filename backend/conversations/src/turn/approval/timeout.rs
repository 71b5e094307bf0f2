//! Maintenance task for turns that wait for approval. It refuses calls that waited too long, ends waiting turns in
//! deleted conversations, and resumes turns whose calls are all decided. So a turn also resumes if the process that
//! handled its last decision died.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tallybook_database::{FailureKind, classify, with_retries};
use tallybook_protocol::{MessageId, ToolCallId};

use crate::{
    ServiceError,
    context::Context,
    store::{
        approvals::{self, DecidedTurn, NewApproval, NewVerdict},
        decisions::Decider,
        retention::{self, OrphanedTurn},
    },
    turn::{approval::resume_decided, start::StartPermit, stop::stop_waiting},
};

/// Maximum number of calls or turns that one query reads.
const BATCH_SIZE: u32 = 100;

/// Reason of a denial after the timeout, which is part of the API.
// prose-ok: a published value
const REASON: &str = "nobody decided";

/// Error of a call that was denied after the timeout. Migrations find such calls by it.
// prose-ok: a stored value
const TOO_LATE: &str = "Nobody decided on this call in time, so it did not run.";

/// Checks the waiting turns of all processes at regular intervals, until the server drains.
pub(crate) async fn watch_waiting_turns(context: Arc<Context>) {
    let every = context.settings.lease / 2;
    loop {
        // A check always runs to its end, so that nothing that it began is left incomplete.
        if let Err(error) = check_waiting_turns(&context).await {
            tracing::warn!(%error, "turns that wait for approval could not be checked");
        }
        if context.draining.run_until_cancelled(tokio::time::sleep(every)).await.is_none() {
            return;
        }
    }
}

async fn check_waiting_turns(context: &Arc<Context>) -> Result<(), ServiceError> {
    let now = context.db.reader().now().await?;
    if let Some(wait) = context.changeable().approval_timeout {
        refuse_expired(context, now - wait).await?;
    }
    end_orphaned_turns(context).await?;
    // A request with a decision resumes the turn itself, because it returns the turn's events. So recent decisions are
    // left to their requests. No request does this for calls that were refused after the timeout.
    let time = now - context.settings.lease / 2;
    let mut last = MessageId::default();
    loop {
        let turns = approvals::list_decided_turns(&context.db, time, last, BATCH_SIZE).await?;
        let Some(end) = turns.last() else { return Ok(()) };
        last = end.message_id;
        for turn in turns {
            if context.draining.is_cancelled() {
                return Ok(());
            }
            Box::pin(resume_decided_turn(context, turn)).await?;
        }
    }
}

/// Resumes a turn. Fails only if the database is unavailable or the server drains; a turn that cannot be resumed does
/// not block the others.
async fn resume_decided_turn(context: &Arc<Context>, turn: DecidedTurn) -> Result<(), ServiceError> {
    let DecidedTurn { message_id, uuid, user_id } = turn;
    let Ok(uuid) = uuid.parse() else {
        tracing::error!(%message_id, uuid, "a turn cannot be resumed after its approval: the UUID of its conversation is broken");
        return Ok(());
    };
    let permit = StartPermit::take(context)?;
    match resume_decided(context, &permit, user_id, uuid, message_id).await {
        // The turn resumes once the limits of its user permit it, and a model is available to the user.
        Ok(None) | Err(ServiceError::LimitReached(_) | ServiceError::NoModel) => Ok(()),
        Ok(Some(_)) => {
            tracing::info!(%message_id, "resumed a turn after its decisions");
            Ok(())
        }
        Err(ServiceError::Storage(error)) if classify(&error) != FailureKind::Permanent => Err(error.into()),
        Err(error) => {
            tracing::error!(%error, %message_id, "a turn cannot be resumed after its decisions");
            Ok(())
        }
    }
}

/// Ends turns that wait in deleted conversations. They began to wait at the moment of the deletion, or the process that
/// deleted the conversation died before it ended the turn. Fails only if the database is unavailable; a turn that
/// cannot be ended does not block the others.
async fn end_orphaned_turns(context: &Arc<Context>) -> Result<(), ServiceError> {
    let mut last = MessageId::default();
    loop {
        let turns = retention::list_orphaned_turns(&context.db, last, BATCH_SIZE).await?;
        let Some(end) = turns.last() else { return Ok(()) };
        last = end.message;
        for OrphanedTurn { message, conversation, owner } in turns {
            match stop_waiting(context, owner, conversation, message).await {
                Err(ServiceError::Storage(error)) if classify(&error) != FailureKind::Permanent => {
                    return Err(error.into());
                }
                Err(error) => {
                    tracing::error!(%error, message_id = %message, "a waiting turn in a deleted conversation cannot be ended");
                }
                Ok(_) => {}
            }
        }
    }
}

/// Refuses the calls that have waited since before `time`. Fails only if the database is unavailable; a call that
/// cannot be refused does not block the others.
async fn refuse_expired(context: &Context, time: DateTime<Utc>) -> sqlx::Result<()> {
    let mut last = ToolCallId::default();
    loop {
        let calls = approvals::list_expired(&context.db, time, last, BATCH_SIZE).await?;
        let Some(&end) = calls.last() else { return Ok(()) };
        last = end;
        for id in calls {
            match with_retries(|| refuse(context, id)).await {
                Err(error) if classify(&error) == FailureKind::Permanent => {
                    tracing::error!(%error, tool_call_id = %id, "an expired approval request cannot be denied");
                }
                refused => refused?,
            }
        }
    }
}

async fn refuse(context: &Context, tool_call_id: ToolCallId) -> sqlx::Result<()> {
    let verdict = NewVerdict::Deny { error: TOO_LATE };
    let mut tx = context.db.begin().await?;
    let decided_at = tx.now().await?;
    let new = NewApproval { tool_call_id, decider: Decider::Timeout, decided_at, reason: Some(REASON), verdict };
    // The user may have decided in the meantime.
    if approvals::create_approval(&mut tx, new).await? {
        tx.commit().await?;
        tracing::info!(%tool_call_id, "denied a tool call whose approval request timed out");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use tallybook_database::{now, select};
    use tallybook_protocol::MessageId;

    use crate::turn::{
        approval::timeout::{approvals, refuse_expired},
        testing::Fixture,
    };

    /// Creates calls with these provider IDs in a turn that has waited for years. Returns the fixture and the ID of the
    /// answer.
    async fn calls_that_wait(ids: &[&str]) -> (Fixture, MessageId) {
        let fixture = Fixture::set_up().await;
        let writer = fixture.service.context.db.writer();
        let (tx, rows) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        let answer = rows.assistant_message_id;
        let wait = "UPDATE messages SET status = 'awaiting_approval' WHERE id = ?";
        writer.query(wait).bind(answer).execute().await.unwrap();
        let call = "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, status, step, position, \
             text_offset, started_at) VALUES (?, ?, 'pay', '{}', '{}', 'awaiting_approval', 0, ?, 0, '2020-01-01T00:00:00+00:00')";
        for (position, id) in (0..).zip(ids) {
            writer.query(call).bind(answer).bind(id).bind(position).execute().await.unwrap();
        }
        (fixture, answer)
    }

    #[tokio::test]
    async fn a_call_that_cannot_be_denied_does_not_block_others() {
        let (fixture, _) = calls_that_wait(&["a", "b"]).await;
        let context = &fixture.service.context;
        let trigger = "CREATE TRIGGER refuse BEFORE UPDATE ON tool_calls WHEN NEW.tool_call_id = 'a' \
             BEGIN SELECT RAISE(ABORT, 'refused'); END";
        fixture.execute(trigger).await;
        refuse_expired(context, now()).await.unwrap();
        let found: Vec<(String, String)> = context
            .db
            .reader()
            .query(select!("SELECT tool_call_id, status FROM tool_calls ORDER BY id"))
            .fetch_all()
            .await
            .unwrap();
        let waiting = ("a".to_owned(), "awaiting_approval".to_owned());
        assert_eq!(found, [waiting, ("b".to_owned(), "denied".to_owned())]);
    }

    #[tokio::test]
    async fn the_maintenance_task_resumes_a_turn_after_a_timeout_but_not_after_a_recent_decision() {
        let (fixture, id) = calls_that_wait(&["a"]).await;
        let context = &fixture.service.context;
        let before = now() - TimeDelta::hours(1);
        let decided_long_ago = async || {
            let turns = approvals::list_decided_turns(&context.db, before, MessageId::default(), 9).await.unwrap();
            turns.into_iter().map(|turn| turn.message_id).collect::<Vec<_>>()
        };
        assert_eq!(decided_long_ago().await, [], "it waits");
        refuse_expired(context, now()).await.unwrap();
        assert_eq!(decided_long_ago().await, [id]);
        // Only the kind of the decider counts. A server of the previous version stores only a name, and no kind.
        for kind in [Some("user"), Some("review"), None] {
            let decide = context.db.writer().query("UPDATE approvals SET decided_by_kind = ?, decided_by = 'another'");
            decide.bind(kind).execute().await.unwrap();
            assert_eq!(decided_long_ago().await, [], "{kind:?}: the decider resumes it");
        }
    }
}
