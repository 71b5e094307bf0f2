//! Starting the run of a turn whose first transaction is about to be committed: what beginning one and going on with one
//! have in common.

use std::sync::Arc;

use tallybook_protocol::ChatEvent;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{
    super::{
        ServiceError,
        context::Context,
        store::{ConversationId, turns::TurnRows},
    },
    run::Turn,
    subscribe::EventsAnswer,
};
use crate::{
    accounts::UserId,
    db::Transaction,
    journal::{
        EventId,
        stored::{self, EncodedEvent},
    },
};

/// The right to start a turn. While it is held, shutting down waits, so that no turn begins on a closed database.
pub(super) struct StartPermit(#[expect(dead_code, reason = "held for its Drop")] TaskTrackerToken);

impl StartPermit {
    /// Refused once the server drains.
    pub(super) fn take(context: &Context) -> Result<Self, ServiceError> {
        // Taken before looking: whoever drains after the look finds it.
        let token = context.tasks.token();
        if context.draining.is_cancelled() { Err(ServiceError::ShuttingDown) } else { Ok(Self(token)) }
    }
}

/// A turn whose rows are written and not yet committed.
pub(super) struct NewRun {
    pub(super) user: UserId,
    pub(super) conversation_id: ConversationId,
    pub(super) rows: TurnRows,
    /// The first event of its record.
    pub(super) first_event: ChatEvent,
}

/// Commits the turn's first transaction, runs it and subscribes to it.
pub(super) async fn start(
    context: &Arc<Context>,
    _permit: StartPermit,
    mut tx: Transaction,
    run: NewRun,
) -> Result<EventsAnswer, ServiceError> {
    let NewRun { user, conversation_id, rows, first_event } = run;
    let TurnRows { assistant_message_id: message_id, epoch, .. } = rows;
    let encoded = EncodedEvent::of(&first_event)?;
    stored::create_event(&mut tx, EventId { message_id, epoch, seq: 0 }, &encoded).await?;
    // From the commit on the turn can be stopped, so it must be known here before that.
    let cancel = context.running.add(rows, &context.shut_down);
    if let Err(error) = tx.commit().await {
        context.running.remove(rows);
        return Err(error.into());
    }
    context.turn_counts.count_start();
    let log = context.journal.open(message_id, epoch);
    log.append(first_event);
    let subscription = log.subscribe();
    let turn = Turn { context: Arc::clone(context), user, conversation_id, rows, log, cancel };
    context.spawn(turn.run());
    context.changes.announce(user);
    Ok(EventsAnswer::Turn(subscription))
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, OnceLock},
        time::Duration,
    };

    use tallybook_protocol::{ChatEvent, MessageStatus, Snapshot};

    use super::{
        super::{super::ServiceError, testing::Scene},
        NewRun, StartPermit, start,
    };
    use crate::{accounts::UserId, db::Transaction};

    #[tokio::test]
    async fn shutting_down_waits_for_a_turn_that_is_about_to_begin() {
        let service = Scene::set().await.service;
        let permit = StartPermit::take(&service.context).unwrap();
        let shutting_down = tokio::spawn({
            let service = service.clone();
            async move { service.shut_down(Duration::from_mins(1)).await }
        });
        service.context.draining.cancelled().await;
        assert!(matches!(StartPermit::take(&service.context), Err(ServiceError::ShuttingDown)));
        assert!(service.context.db.begin().await.is_ok(), "the database is open for the turn that begins");
        drop(permit);
        shutting_down.await.unwrap();
        assert!(service.context.db.begin().await.is_err());
    }

    /// From the commit on others see the turn and may stop it.
    #[tokio::test]
    async fn a_turn_can_be_stopped_when_it_is_committed() {
        let scene = Scene::set().await;
        let context = &scene.service.context;
        let permit = StartPermit::take(context).unwrap();
        let (mut tx, rows) = scene.begin_turn().await;
        let message_id = rows.assistant_message_id;
        let was_known = Arc::new(OnceLock::new());
        let Transaction::Sqlite(transaction) = &mut tx else { panic!("the database is embedded") };
        transaction.lock_handle().await.unwrap().set_commit_hook({
            let (context, was_known) = (Arc::clone(context), Arc::clone(&was_known));
            move || {
                // Later commits on this connection do not count.
                was_known.get_or_init(|| context.running.contains(message_id));
                true
            }
        });
        let first_event = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: message_id,
            epoch: rows.epoch,
            content: String::new(),
            tool_calls: Vec::new(),
            status: MessageStatus::Streaming,
        });
        let run = NewRun { user: UserId::LOCAL, conversation_id: scene.conversation_id, rows, first_event };
        start(context, permit, tx, run).await.unwrap();
        assert_eq!(was_known.get(), Some(&true), "nobody could have stopped it as it was committed");
    }
}
