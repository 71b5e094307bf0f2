//! Starts the run of a turn: commits its first transaction, registers the turn, and spawns its task. New and resumed
//! turns share this code.

pub(crate) mod api;
pub(crate) mod message;

use std::sync::Arc;

use tallybook_accounts::UserId;
use tallybook_database::{Transaction, now};
use tallybook_protocol::{AnswerMode, ChatEvent};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument as _;

use crate::{
    ServiceError,
    context::Context,
    store::{ConversationId, people, turns::TurnRows},
    turn::{api::client_history::GivenInput, context::builder::NewQuestion, run::Turn, subscribe::EventsAnswer},
};
use crate::{
    journal::{
        EventId,
        stored::{self, EncodedEvent},
    },
    models::Model,
};

/// Permit to start a turn. While it is held, shutdown waits, so that no turn starts on a closed database.
pub(crate) struct StartPermit(#[expect(dead_code, reason = "held for its Drop")] TaskTrackerToken);

impl StartPermit {
    /// Takes a permit. Fails with [`ServiceError::ShuttingDown`] once the server drains.
    pub(crate) fn take(context: &Context) -> Result<Self, ServiceError> {
        // The token is taken before the check: if the server starts to drain after the check, it waits for the token.
        let token = context.tasks.token();
        if context.draining.is_cancelled() { Err(ServiceError::ShuttingDown) } else { Ok(Self(token)) }
    }
}

/// A turn whose rows are written but not yet committed.
pub(crate) struct NewRun {
    pub(crate) user: UserId,
    pub(crate) conversation_id: ConversationId,
    pub(crate) rows: TurnRows,
    /// Model that answers.
    pub(crate) model: Arc<Model>,
    /// Client-supplied input that replaces the stored history in the prompt. `None` if the stored history is used.
    pub(crate) given: Option<Arc<GivenInput>>,
    pub(crate) mode: AnswerMode,
    /// The question, if it is in memory already. `None` for a resumed turn.
    pub(crate) question: Option<NewQuestion>,
    /// First events of the turn's log.
    pub(crate) first_events: Vec<ChatEvent>,
}

/// Commits the turn's first transaction, spawns its task and subscribes to it. If the commit fails, this process keeps
/// nothing of the turn, so the caller may retry from the beginning.
pub(crate) async fn start(
    context: &Arc<Context>,
    _permit: &StartPermit,
    mut tx: Transaction,
    run: NewRun,
) -> Result<EventsAnswer, ServiceError> {
    let NewRun { user, conversation_id, rows, model, given, mode, question, first_events } = run;
    let TurnRows { assistant_message_id: message_id, epoch, .. } = rows;
    let encoded = first_events.iter().map(EncodedEvent::of).collect::<sqlx::Result<Vec<_>>>()?;
    let numbered: Vec<_> = (0..).map(|seq| EventId { message_id, epoch, seq }).zip(&encoded).collect();
    stored::create_events(&mut tx, &numbered).await?;
    let settings = people::find_turn_settings(&mut tx, user, conversation_id).await?;
    // After the commit, clients can stop and follow the turn, so it must be registered here before the commit.
    let cancel = context.running.add(rows, &context.shut_down);
    let log = context.journal.open(message_id, epoch);
    for (event, encoded) in first_events.into_iter().zip(encoded) {
        log.append_encoded(event, encoded, now());
    }
    if let Err(error) = tx.commit().await {
        context.journal.close(&log);
        context.running.remove(rows);
        return Err(error.into());
    }
    context.turn_counts.count_start();
    let subscription = log.subscribe_from_start();
    let context_of_turn = Arc::clone(context);
    let turn = Turn {
        context: context_of_turn,
        user,
        conversation_id,
        rows,
        model,
        settings,
        given,
        mode,
        question,
        log,
        cancel,
    };
    let span = tracing::info_span!("turn", message_id = message_id.0, user = user.0);
    context.spawn(turn.run().instrument(span));
    context.feeds.announce(user);
    Ok(EventsAnswer::Turn(subscription))
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, OnceLock},
        time::Duration,
    };

    use sqlx::{
        SqlitePool,
        sqlite::{SqliteConnectOptions, SqlitePoolOptions},
    };
    use tallybook_accounts::UserId;
    use tallybook_database::Database;
    use tallybook_protocol::{AnswerMode, ChatEvent, MessageStatus, Snapshot};

    use crate::{
        ServiceError,
        turn::{
            start::{NewRun, StartPermit, start},
            testing::Fixture,
        },
    };

    #[tokio::test]
    async fn shutting_down_waits_for_a_turn_that_is_about_to_begin() {
        // Keeps the whole fixture: dropping it would delete its folder, which later connections need.
        let fixture = Fixture::set_up().await;
        let service = fixture.service.clone();
        let permit = StartPermit::take(&service.context).unwrap();
        let shutting_down = tokio::spawn({
            let service = service.clone();
            async move {
                service.finish_turns(Duration::from_mins(1)).await;
                service.close().await;
            }
        });
        service.context.draining.cancelled().await;
        assert!(matches!(StartPermit::take(&service.context), Err(ServiceError::ShuttingDown)));
        let begun = service.context.db.begin().await;
        assert!(begun.is_ok(), "the database is open for the turn that begins: {:?}", begun.err());
        drop(permit);
        shutting_down.await.unwrap();
        assert!(service.context.db.begin().await.is_err());
    }

    /// After the commit, other requests see the turn, and may stop or follow it. A turn whose commit fails is not
    /// registered.
    #[tokio::test]
    async fn a_turn_can_be_stopped_and_followed_when_it_is_committed() {
        for is_committed in [true, false] {
            check_commit(is_committed).await;
        }
    }

    async fn check_commit(is_committed: bool) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tallybook.db");
        Database::connect(&format!("sqlite://{}", file.display()).parse().unwrap()).await.unwrap().close().await;
        let options = SqliteConnectOptions::new().filename(file);
        let readers = SqlitePool::connect_with(options.clone()).await.unwrap();
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
        let fixture = Fixture::on(Database::of_sqlite(readers, writer.clone()), folder).await;
        let context = &fixture.service.context;
        let permit = StartPermit::take(context).unwrap();
        let (begun, was_known) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
        writer.acquire().await.unwrap().lock_handle().await.unwrap().set_commit_hook({
            let (context, begun, was_known) = (Arc::clone(context), Arc::clone(&begun), Arc::clone(&was_known));
            move || {
                let Some(message_id) = begun.get().copied() else { return true };
                // Later commits on this connection do not count.
                let is_first = was_known.get().is_none();
                was_known.get_or_init(|| {
                    let log = context.journal.find(message_id);
                    (context.running.contains(message_id), log.map(|log| log.next_seq()))
                });
                is_committed || !is_first
            }
        });
        let (tx, rows) = fixture.begin_turn().await;
        let message_id = rows.assistant_message_id;
        begun.set(message_id).unwrap();
        let first_event = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: message_id,
            epoch: rows.epoch,
            content: String::new(),
            tool_calls: Vec::new(),
            reasoning: Vec::new(),
            plan: None,
            status: MessageStatus::Streaming,
            provider: None,
            model: None,
        });
        let model = Arc::clone(context.models.default_model());
        let first_events = vec![first_event];
        let (user, conversation_id) = (UserId::LOCAL, fixture.conversation_id);
        let run = NewRun {
            user,
            conversation_id,
            rows,
            model,
            given: None,
            mode: AnswerMode::React,
            question: None,
            first_events,
        };
        let started = start(context, &permit, tx, run).await;
        assert_eq!(
            was_known.get(),
            Some(&(true, Some(1))),
            "nobody could have stopped or followed it as it was committed"
        );
        assert_eq!(started.is_ok(), is_committed);
        if !is_committed {
            assert!(context.journal.find(message_id).is_none() && !context.running.contains(message_id));
        }
    }
}
