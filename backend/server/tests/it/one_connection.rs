//! A pool of one database connection: a task that holds a transaction waits for no second connection. With more
//! connections such a wait shows only when many resume, or are recovered, at the same moment.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, join_all};
use sqlx::mysql::MySqlPoolOptions;
use tallybook_accounts::{Permissions, UserId};
use tallybook_agent::{AgentService, Limits, SystemPrompt};
use tallybook_conversations::{
    ChangeableSettings, ConversationService, ConversationSettings, CurrentSettings, MemorySettings,
    journal::{LogEntry, TurnSubscription},
    models::{Catalog, ModelChoice, ModelEntry},
};
use tallybook_database::Database;
use tallybook_files::{Files, FilesSettings};
use tallybook_mcp::{DefinitionHash, PinError, PinStore, ToolServers, ToolServersSettings};
use tallybook_mock_llm::{MockLlm, cut, hang, text};
use tallybook_protocol::{ChatEvent, MessageEnd, MessageStatus, RetryOptions, Window};
use tallybook_tools::{Secrets, ToolRegistry};
use tokio::time::timeout;
use uuid::Uuid;

use crate::support::{Engine, Provider, TIMEOUT, TestApp, eventually};

/// Number of conversations whose turns resume at once.
const CONVERSATIONS: usize = 6;

/// A store without pins, because the test has no tool servers.
struct NoPins;

impl PinStore for NoPins {
    fn accepted(
        &self,
        _: Arc<str>,
        _: Vec<(String, DefinitionHash)>,
    ) -> BoxFuture<'_, Result<HashMap<String, DefinitionHash>, PinError>> {
        Box::pin(async { Ok(HashMap::new()) })
    }
}

/// Starts a service whose pool has one connection.
async fn service(engine: &Engine, model: &MockLlm, lease: Duration) -> ConversationService {
    let pool = MySqlPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(5));
    let pool = pool.connect(&engine.url).await.unwrap();
    let db = Database::of_mysql(pool, 1);
    let choice = ModelChoice::Provider(Provider::Anthropic.settings(model.url()));
    let models = Catalog::connect(&[ModelEntry::from_environment(choice)]).unwrap();
    let (registry, secrets) = (ToolRegistry::default(), Secrets::default());
    let pins: Arc<dyn PinStore> = Arc::new(NoPins);
    let tools = ToolServers::start(registry, ToolServersSettings::default(), &pins, &secrets, |_| None);
    let agent = AgentService::new(SystemPrompt::BuiltIn, Limits::default());
    let changeable = ChangeableSettings { memory: MemorySettings::OFF, ..ChangeableSettings::default() };
    let changeable = CurrentSettings::new(changeable);
    let permissions = Permissions::new(db.clone());
    let settings = ConversationSettings { lease, journal_retention: None, changeable, permissions };
    let files = Files::new(db.clone(), FilesSettings::with_program(env!("CARGO_BIN_EXE_tallybook").into())).unwrap();
    ConversationService::start(db, agent, tools, models, files, settings).await.unwrap()
}

/// Reads a turn to its end.
async fn end(mut turn: TurnSubscription) -> MessageEnd {
    let mut last = None;
    while let Some(entries) = timeout(TIMEOUT, turn.next()).await.expect("an event within 20 s") {
        last = entries.last().cloned().or(last);
    }
    match last.as_ref().map(LogEntry::event) {
        Some(ChatEvent::MessageEnd(end)) => end.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_turns_resume_at_once() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let mut conversations: Vec<Uuid> = Vec::new();
        for _ in 0..CONVERSATIONS {
            let conversation = app.create_conversation().await;
            model.reply([text("It is fo"), cut()]);
            app.send(&conversation, "2 + 2?").await.all().await;
            conversations.push(conversation.parse().unwrap());
        }
        app.shut_down().await;
        let service = service(&engine, &model, Duration::from_mins(1)).await;
        for _ in 0..CONVERSATIONS {
            model.reply([text("It is four.")]);
        }
        let resume = |uuid: Uuid| {
            let service = service.clone();
            async move {
                let turn = service.resume_turn(UserId::LOCAL, uuid, RetryOptions::default()).await;
                end(turn.unwrap_or_else(|error| panic!("{error:?}"))).await
            }
        };
        let resumed = conversations.into_iter().map(resume);
        for end in join_all(resumed).await {
            assert_eq!((end.status, end.content.as_str()), (MessageStatus::Complete, "It is four."));
        }
        service.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_turns_are_recovered() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        let mut conversations: Vec<Uuid> = Vec::new();
        let mut turns = Vec::new();
        for _ in 0..CONVERSATIONS {
            let conversation = app.create_conversation().await;
            model.reply([text("It is fo"), hang()]);
            let mut turn = app.send(&conversation, "2 + 2?").await;
            turn.until("content_delta").await;
            turns.push(turn);
            conversations.push(conversation.parse().unwrap());
        }
        app.kill();
        let service = service(&engine, &model, Duration::from_secs(1)).await;
        for uuid in conversations {
            let is_closed = async || {
                let found = service.find_conversation(UserId::LOCAL, uuid, Window::default()).await.unwrap().unwrap();
                found.messages.last().is_some_and(|last| last.status == MessageStatus::Interrupted)
            };
            eventually("the turn is interrupted", is_closed).await;
        }
        service.close().await;
    }
}
