//! Shared state of the use cases of conversations: database, agent, models, settings, limits, and running tasks.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tallybook_accounts::UserId;
use tallybook_agent::AgentService;
use tallybook_database::Database;
use tallybook_files::Files;
use tallybook_mcp::ToolServers;
use tallybook_protocol::MessageId;
use tallybook_tools::FairSemaphore;
use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::{
    ChangeableSettings, ConversationSettings, ServiceError,
    feeds::Feeds,
    limits::{MAX_DIRECT_CALLS, MAX_EXPORTS, MAX_SEARCHES, MAX_STANDALONE_CALLS},
    store::{ConversationId, conversations, rows::ConversationRow, turns::TurnRows},
    time_zones::TimeZones,
    turn::recorder::text_flusher::TextFlusher,
    work_counts::TurnCounts,
};
use crate::{
    call_images::CallImages,
    journal::Journal,
    models::{Catalog, PermittedModels},
    work_counts::WorkCounts,
};

/// Shared state of the use cases.
pub(crate) struct Context {
    pub(crate) db: Database,
    pub(crate) agent: AgentService,
    /// The files of users.
    pub(crate) files: Files,
    /// The available tools, and the tool servers that some of them come from.
    pub(crate) tool_servers: ToolServers,
    /// The available models.
    pub(crate) models: Catalog,
    pub(crate) journal: Journal,
    /// The open feeds, one for each user.
    pub(crate) feeds: Feeds,
    /// The last known time zone of each user.
    pub(crate) time_zones: TimeZones,
    /// Permits for searches.
    pub(crate) searches: FairSemaphore<UserId>,
    /// Permits for exports.
    pub(crate) exports: FairSemaphore<UserId>,
    /// Permits for direct model calls.
    pub(crate) direct_calls: FairSemaphore<UserId>,
    /// Permits for standalone tool calls, outside turns.
    pub(crate) standalone_calls: FairSemaphore<UserId>,
    /// Identifies this process in the leases of its turns.
    pub(crate) owner: String,
    pub(crate) running: RunningTurns,
    pub(crate) text_flusher: Arc<TextFlusher>,
    pub(crate) turn_counts: TurnCounts,
    pub(crate) work_counts: Arc<WorkCounts>,
    pub(crate) settings: ConversationSettings,
    /// Tasks that must end before the database is closed.
    pub(crate) tasks: TaskTracker,
    /// Notified when a conversation was deleted.
    pub(crate) deleted: Notify,
    /// Cancelled when the server stops accepting new turns.
    pub(crate) draining: CancellationToken,
    /// Cancelled when running turns must end.
    pub(crate) shut_down: CancellationToken,
}

impl Context {
    pub(crate) fn new(
        db: Database,
        agent: AgentService,
        tool_servers: ToolServers,
        models: Catalog,
        files: Files,
        settings: ConversationSettings,
    ) -> Self {
        let tasks = TaskTracker::new();
        Self {
            text_flusher: TextFlusher::new(db.clone(), tasks.clone()),
            db,
            agent: agent.with_images(Arc::new(CallImages(files.clone()))),
            files,
            tool_servers,
            models,
            journal: Journal::default(),
            feeds: Feeds::default(),
            time_zones: TimeZones::default(),
            searches: FairSemaphore::new(MAX_SEARCHES),
            exports: FairSemaphore::new(MAX_EXPORTS),
            direct_calls: FairSemaphore::new(MAX_DIRECT_CALLS),
            standalone_calls: FairSemaphore::new(MAX_STANDALONE_CALLS),
            owner: Uuid::new_v4().to_string(),
            running: RunningTurns::default(),
            turn_counts: TurnCounts::default(),
            work_counts: Arc::default(),
            settings,
            tasks,
            deleted: Notify::new(),
            draining: CancellationToken::new(),
            shut_down: CancellationToken::new(),
        }
    }

    /// Returns the current values of the settings that can change while the server runs.
    pub(crate) fn changeable(&self) -> Arc<ChangeableSettings> {
        self.settings.changeable.get()
    }

    /// Returns the models that a user may use.
    pub(crate) async fn models_of(&self, user: UserId) -> Result<PermittedModels, ServiceError> {
        Ok(self.models.permitted(&self.settings.permissions.of(user).await?))
    }

    /// Spawns a task that shutdown waits for. The task runs on the calling thread. So a turn runs on the thread that
    /// serves its request and usually its first subscriber, and its text does not cross threads. The task's log lines
    /// carry the span of the request.
    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(task.in_current_span())
    }

    /// Spawns a task as [`Self::spawn`] does, but ends it when the server drains.
    pub(crate) fn spawn_until_draining(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn(self.draining.clone().run_until_cancelled_owned(task));
    }

    /// Returns the error for an action that a conversation refuses while a turn has claimed it: `AwaitingApproval` or
    /// `TurnRunning`.
    pub(crate) async fn busy(&self, id: ConversationId) -> Result<ServiceError, ServiceError> {
        let is_waiting = conversations::is_waiting(&self.db, id).await?;
        Ok(if is_waiting { ServiceError::AwaitingApproval } else { ServiceError::TurnRunning })
    }

    /// Returns a user's conversation, or `NotFound` if the user has no such conversation.
    pub(crate) async fn find_conversation(&self, user: UserId, uuid: Uuid) -> Result<ConversationRow, ServiceError> {
        conversations::find_conversation(&self.db, user, uuid).await?.ok_or(ServiceError::NotFound)
    }
}

/// The turns that run in this process, each with its epoch and its cancellation token.
#[derive(Debug, Default)]
pub(crate) struct RunningTurns(Mutex<HashMap<MessageId, (i32, CancellationToken)>>);

impl RunningTurns {
    /// Adds a turn and returns its cancellation token, which `shut_down` cancels too.
    pub(crate) fn add(&self, turn: TurnRows, shut_down: &CancellationToken) -> CancellationToken {
        let cancel = shut_down.child_token();
        self.0.lock().insert(turn.assistant_message_id, (turn.epoch, cancel.clone()));
        cancel
    }

    /// Removes a turn that has ended. If the turn was resumed meanwhile, its entry has a later epoch and stays.
    pub(crate) fn remove(&self, turn: TurnRows) {
        let mut running = self.0.lock();
        if running.get(&turn.assistant_message_id).is_some_and(|(epoch, _)| *epoch == turn.epoch) {
            running.remove(&turn.assistant_message_id);
        }
    }

    /// Cancels a turn. Returns `false` if the turn does not run in this process.
    pub(crate) fn cancel(&self, message_id: MessageId) -> bool {
        self.0.lock().get(&message_id).inspect(|(_, token)| token.cancel()).is_some()
    }

    pub(crate) fn contains(&self, message_id: MessageId) -> bool {
        self.0.lock().contains_key(&message_id)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
