//! Test fixture: a conversation service with its own database.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tallybook_accounts::{Permissions, UserId};
use tallybook_agent::{AgentService, Limits, SystemPrompt};
use tallybook_database::{Database, Transaction};
use tallybook_files::{Files, FilesSettings};
use tallybook_mcp::{PinStore, ToolServers, ToolServersSettings};
use tallybook_protocol::{AnswerMode, MessagePart, NewConversation};
use tallybook_tools::{Secrets, ToolRegistry};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    ChangeableSettings, ConversationService, ConversationSettings, CurrentSettings, MemorySettings,
    store::{
        ConversationId,
        turns::{self, Claim, NewTurn, Parent, Question, TurnRows},
    },
};
use crate::{
    models::{Catalog, ModelChoice, ModelEntry},
    tool_pins::ToolPins,
};

/// A conversation service with one conversation.
pub(crate) struct Fixture {
    pub(crate) service: ConversationService,
    pub(crate) uuid: Uuid,
    pub(crate) conversation_id: ConversationId,
    folder: TempDir,
}

impl Fixture {
    pub(crate) async fn set_up() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/tallybook.db", folder.path().display()).parse().unwrap();
        Self::on(Database::connect(&url).await.unwrap(), folder).await
    }

    /// Creates the service on a database in `folder` that already has its tables.
    pub(crate) async fn on(db: Database, folder: TempDir) -> Self {
        let model = ModelEntry::from_environment(ModelChoice::Demo { pace: Duration::ZERO });
        let models = Catalog::connect(&[model]).unwrap();
        let pins: Arc<dyn PinStore> = Arc::new(ToolPins::new(db.clone()));
        let (tools, servers, secrets) = (ToolRegistry::default(), ToolServersSettings::default(), Secrets::default());
        let tools = ToolServers::start(tools, servers, &pins, &secrets, |_| None);
        let agent = AgentService::new(SystemPrompt::BuiltIn, Limits::default());
        let changeable = ChangeableSettings { memory: MemorySettings::OFF, ..ChangeableSettings::default() };
        let settings = ConversationSettings {
            lease: Duration::from_secs(20),
            journal_retention: None,
            changeable: CurrentSettings::new(changeable),
            permissions: Permissions::new(db.clone()),
        };
        let files = Files::new(db.clone(), FilesSettings::with_program(PathBuf::new())).unwrap();
        let service = ConversationService::start(db, agent, tools, models, files, settings).await.unwrap();
        let uuid = service.create_conversation(UserId::LOCAL, NewConversation::default()).await.unwrap().uuid;
        let conversation_id = service.context.find_conversation(UserId::LOCAL, uuid).await.unwrap().id;
        Self { service, uuid, conversation_id, folder }
    }

    /// Runs a statement on the database.
    pub(crate) async fn execute(&self, sql: &'static str) {
        self.service.context.db.writer().query(sql).execute().await.unwrap();
    }

    /// Returns the path of the database file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("tallybook.db")
    }

    /// Creates the rows of a turn. Returns them with the transaction, which is still open.
    pub(crate) async fn begin_turn(&self) -> (Transaction, TurnRows) {
        let context = &self.service.context;
        let mut tx = context.db.begin().await.unwrap();
        let parts = [MessagePart::Text { text: "1 + 2?".to_owned() }];
        let question = Question::New { parts: &parts, client_message_id: None, below: Parent::Head };
        let new = NewTurn {
            question,
            first_title: None,
            model: "demo",
            mode: AnswerMode::React,
            owner: &context.owner,
            lease: context.settings.lease,
        };
        let claim = turns::begin_turn(&mut tx, self.conversation_id, new).await.unwrap();
        let Claim::Started { rows, .. } = claim else { panic!("{claim:?}") };
        (tx, rows)
    }
}
