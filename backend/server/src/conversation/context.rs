//! What the use cases of conversations share: where things are stored and sent, who answers, and which tasks run. It has no
//! use cases of its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tallybook_database::Database;

use tallybook_agent::AgentService;
use tallybook_mcp::ToolServers;
use tallybook_protocol::MessageId;
use tallybook_tools::Slots;
use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;
use uuid::Uuid;

use super::{
    MemorySettings, PlanSettings, ServiceError,
    feeds::Feeds,
    limits::{MAX_DIRECT_CALLS, MAX_EXPORTS, MAX_PLAIN_CALLS, MAX_SEARCHES},
    person_limits::PersonLimits,
    store::{ConversationId, conversations, rows::ConversationRow, turns::TurnRows},
    time_zones::TimeZones,
    turn::group_commit::GroupCommit,
    turn_counts::TurnCounts,
};
use crate::{
    accounts::UserId,
    journal::{Journal, lock},
    models::Catalog,
    tool_pins::ToolPins,
    work_counts::WorkCounts,
};

/// What the use cases share.
pub(super) struct Context {
    pub(super) db: Database,
    pub(super) agent: AgentService,
    /// The tools on offer, and the servers that some of them come from.
    pub(super) tool_servers: ToolServers,
    /// Which definitions of those servers' tools are accepted.
    pub(super) tool_pins: ToolPins,
    pub(super) models: Catalog,
    pub(super) journal: Journal,
    /// The open feeds, one for each user.
    pub(super) feeds: Feeds,
    /// The last known time zone of each user.
    pub(super) time_zones: TimeZones,
    /// The right to search.
    pub(super) searches: Slots<UserId>,
    /// The right to export a conversation.
    pub(super) exports: Slots<UserId>,
    /// The right to ask a model once.
    pub(super) plain_calls: Slots<UserId>,
    /// The right to call a tool without a turn.
    pub(super) direct_calls: Slots<UserId>,
    /// Names this process in the leases of its turns.
    pub(super) owner: String,
    pub(super) running: RunningTurns,
    pub(super) group_commit: Arc<GroupCommit>,
    pub(super) turn_counts: TurnCounts,
    pub(super) work_counts: Arc<WorkCounts>,
    pub(super) lifetimes: Lifetimes,
    /// What one person may use up.
    pub(super) person_limits: PersonLimits,
    /// When conversations are summed up.
    pub(super) memory: MemorySettings,
    /// How questions are answered by plans.
    pub(super) plan: PlanSettings,
    /// What must have ended before the database is closed.
    pub(super) tasks: TaskTracker,
    /// Says that a conversation was deleted.
    pub(super) deleted: Notify,
    /// From here on no new turns are taken.
    pub(super) draining: CancellationToken,
    /// From here on running turns are ended.
    pub(super) shut_down: CancellationToken,
}

/// What an operator decides on conversations.
#[derive(Clone, Debug)]
pub struct ConversationSettings {
    /// How long things last.
    pub lifetimes: Lifetimes,
    /// What one person may use up.
    pub person_limits: PersonLimits,
    /// When conversations are summed up.
    pub memory: MemorySettings,
    /// How questions are answered by plans.
    pub plan: PlanSettings,
}

/// How long things last.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// How long an owner may be silent before its turns count as abandoned.
    pub lease: Duration,
    /// How long the events of a finished turn are kept; for ever when `None`.
    pub journal: Option<Duration>,
    /// How long a call waits for consent before it is denied; for ever when `None`.
    pub consent_wait: Option<Duration>,
    /// How long what was deleted is kept.
    pub deleted: Duration,
}

impl Context {
    pub(super) fn new(
        db: Database,
        agent: AgentService,
        tool_servers: ToolServers,
        models: Catalog,
        settings: ConversationSettings,
    ) -> Self {
        let ConversationSettings { lifetimes, person_limits, memory, plan } = settings;
        let tasks = TaskTracker::new();
        Self {
            group_commit: GroupCommit::new(db.clone(), tasks.clone()),
            tool_pins: ToolPins::new(db.clone()),
            db,
            agent,
            tool_servers,
            models,
            journal: Journal::default(),
            feeds: Feeds::default(),
            time_zones: TimeZones::default(),
            searches: Slots::new(MAX_SEARCHES),
            exports: Slots::new(MAX_EXPORTS),
            plain_calls: Slots::new(MAX_PLAIN_CALLS),
            direct_calls: Slots::new(MAX_DIRECT_CALLS),
            owner: Uuid::new_v4().to_string(),
            running: RunningTurns::default(),
            turn_counts: TurnCounts::default(),
            work_counts: Arc::default(),
            lifetimes,
            person_limits,
            memory,
            plan,
            tasks,
            deleted: Notify::new(),
            draining: CancellationToken::new(),
            shut_down: CancellationToken::new(),
        }
    }

    /// Runs a task that shutting down waits for, on the thread that asks for it: a turn then runs where its question came in,
    /// and its first reader is mostly served there, too, so that no word of it changes threads. What it logs carries the
    /// request that it comes from.
    pub(super) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(task.in_current_span())
    }

    /// The same for a task that ends when the server drains.
    pub(super) fn spawn_until_draining(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn(self.draining.clone().run_until_cancelled_owned(task));
    }

    /// Why nothing else may happen in a conversation that a turn has claimed.
    pub(super) async fn busy(&self, id: ConversationId) -> Result<ServiceError, ServiceError> {
        let is_waiting = conversations::is_waiting(&self.db, id).await?;
        Ok(if is_waiting { ServiceError::AwaitingApproval } else { ServiceError::TurnRunning })
    }

    /// A user's conversation.
    pub(super) async fn find_conversation(&self, user: UserId, uuid: Uuid) -> Result<ConversationRow, ServiceError> {
        conversations::find_conversation(&self.db, user, uuid).await?.ok_or(ServiceError::NotFound)
    }
}

/// The turns of this process: under which epoch each runs, and what stops it.
#[derive(Debug, Default)]
pub(super) struct RunningTurns(Mutex<HashMap<MessageId, (i32, CancellationToken)>>);

impl RunningTurns {
    /// Adds a turn, which may be stopped from here on; it is stopped by `shut_down`, too.
    pub(super) fn add(&self, turn: TurnRows, shut_down: &CancellationToken) -> CancellationToken {
        let cancel = shut_down.child_token();
        lock(&self.0).insert(turn.assistant_message_id, (turn.epoch, cancel.clone()));
        cancel
    }

    /// Forgets a turn that is over. Its message may go on under a later epoch by now, which stays.
    pub(super) fn remove(&self, turn: TurnRows) {
        let mut running = lock(&self.0);
        if running.get(&turn.assistant_message_id).is_some_and(|(epoch, _)| *epoch == turn.epoch) {
            running.remove(&turn.assistant_message_id);
        }
    }

    /// Stops a turn. False when it is not one of this process.
    pub(super) fn cancel(&self, message_id: MessageId) -> bool {
        lock(&self.0).get(&message_id).inspect(|(_, token)| token.cancel()).is_some()
    }

    pub(super) fn contains(&self, message_id: MessageId) -> bool {
        lock(&self.0).contains_key(&message_id)
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}
