//! A service for the tests of turns, on a database of its own.

use std::{sync::Arc, time::Duration};

use tallybook_agent::{AgentService, Limits, SystemPrompt};
use tallybook_demo_model::DemoModel;
use tallybook_protocol::NewConversation;
use tallybook_tools::ToolRegistry;
use tempfile::TempDir;
use tokio::runtime::Handle;
use uuid::Uuid;

use super::super::{
    ConversationService, Lifetimes,
    store::{
        ConversationId,
        turns::{self, Below, Claim, NewTurn, Question, TurnRows},
    },
};
use crate::{
    accounts::UserId,
    db::{Database, Transaction},
};

/// A service with one conversation.
pub(super) struct Scene {
    pub(super) service: ConversationService,
    pub(super) uuid: Uuid,
    pub(super) conversation_id: ConversationId,
    _folder: TempDir,
}

impl Scene {
    pub(super) async fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/tallybook.db", folder.path().display()).parse().unwrap();
        let db = Database::connect(&url).await.unwrap();
        let model = Arc::new(DemoModel::new(Duration::ZERO));
        let tools = Arc::new(ToolRegistry::default());
        let agent = AgentService::new(model, tools, SystemPrompt::BuiltIn, Limits::default());
        let lifetimes = Lifetimes { lease: Duration::from_secs(20), journal: None };
        let service = ConversationService::start(db, agent, None, lifetimes, Handle::current()).await.unwrap();
        let uuid = service.create_conversation(UserId::LOCAL, NewConversation::default()).await.unwrap().uuid;
        let conversation_id = service.context.find_conversation(UserId::LOCAL, uuid).await.unwrap().id;
        Self { service, uuid, conversation_id, _folder: folder }
    }

    /// The rows of a turn, in a transaction that is still open.
    pub(super) async fn begin_turn(&self) -> (Transaction, TurnRows) {
        let context = &self.service.context;
        let mut tx = context.db.begin().await.unwrap();
        let lease_until = turns::database_now(&context.db).await.unwrap() + context.lifetimes.lease;
        let question = Question::New { content: "1 + 2?", client_message_id: None, below: Below::Head };
        let new = NewTurn { question, first_title: None, owner: &context.owner, lease_until };
        let claim = turns::begin_turn(&mut tx, self.conversation_id, new).await.unwrap();
        let Claim::Begun(rows) = claim else { panic!("{claim:?}") };
        (tx, rows)
    }
}
