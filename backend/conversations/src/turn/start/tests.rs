//! Tests of the start of a turn: shutdown, and the commit.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};
use tallybook_accounts::{UserId, UserPermissions};
use tallybook_database::Database;
use tallybook_protocol::{AnswerMode, ChatEvent, MessageStatus, Snapshot};

use crate::{
    ServiceError,
    admission::RequestLimits,
    store::turn_settings::find_turn_settings,
    turn::{
        run::RunParams,
        start::{StartPermit, commit_and_run},
        testing::Fixture,
    },
};

#[tokio::test]
async fn shutdown_waits_for_a_turn_that_is_about_to_start() {
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
    let (mut tx, rows) = fixture.begin_turn().await;
    let settings = find_turn_settings(&mut tx, fixture.conversation_id).await.unwrap();
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
    let model = context.models.default_model();
    let first_events = vec![first_event];
    let (user, conversation_id) = (UserId::LOCAL, fixture.conversation_id);
    let params = RunParams {
        user,
        permissions: UserPermissions::default(),
        limits: RequestLimits { settings: context.changeable(), groups: Vec::new() },
        conversation_id,
        rows,
        model,
        settings,
        client_input: None,
        mode: AnswerMode::React,
        question: None,
    };
    let started = commit_and_run(context, &permit, tx, params, first_events).await;
    assert_eq!(
        was_known.get(),
        Some(&(true, Some(1))),
        "the turn could not be stopped or followed when it was committed"
    );
    assert_eq!(started.is_ok(), is_committed);
    if !is_committed {
        assert!(context.journal.find(message_id).is_none() && !context.running.contains(message_id));
    }
}
