//! The tool history service, which the HTTP handlers call. Its use cases are in the modules `list`, `details`, `rerun`,
//! `export`, `figures`, and `access_log`; its maintenance task is in `maintenance`.

use std::{sync::Arc, time::Duration};

use tallybook_accounts::UserId;
use tallybook_agent::AgentService;
use tallybook_conversations::{CurrentSettings, tool_pins::ToolPins, work_counts::WorkCounts};
use tallybook_database::{Database, now};
use tallybook_mcp::ToolServers;
use tallybook_tools::FairSemaphore;
use tokio::sync::Semaphore;

use super::{
    ToolHistoryError,
    filter::Filter,
    limits::{MAX_COMPLETED_FIRST, MAX_LISTS, MAX_RERUNS},
    store::{
        access_log::ALL_USERS,
        condition::{self, Condition},
        denormalize,
    },
};

/// The use cases of the tool history. Clones are cheap and share their state.
#[derive(Clone)]
pub struct ToolHistory {
    pub(crate) context: Arc<Context>,
}

/// State shared by the use cases.
pub(crate) struct Context {
    pub(crate) db: Database,
    /// The settings that can change, among them the retention time of deleted data.
    pub(crate) settings: CurrentSettings,
    /// Time limit of the scan for one page of the list.
    pub(crate) page_time: Duration,
    /// Runs the calls of re-runs.
    pub(crate) agent: AgentService,
    pub(crate) tool_servers: ToolServers,
    pub(crate) tool_pins: ToolPins,
    /// Metrics to which the calls of re-runs are added.
    pub(crate) counts: Arc<WorkCounts>,
    /// Limits concurrent re-runs.
    pub(crate) reruns: Arc<Semaphore>,
    /// Limits concurrent list pages, in total and per user.
    pub(crate) lists: FairSemaphore<UserId>,
}

impl ToolHistory {
    /// Creates the service for the calls in a database. `settings` has the retention time of deleted data, and
    /// `page_time` is the time limit of the scan for one page. Re-runs use `agent` and `tool_servers`, and are added to
    /// `counts`.
    pub fn new(
        db: Database,
        settings: CurrentSettings,
        page_time: Duration,
        agent: AgentService,
        tool_servers: ToolServers,
        counts: Arc<WorkCounts>,
    ) -> Self {
        let (lists, reruns) = (FairSemaphore::new(MAX_LISTS), Arc::new(Semaphore::new(MAX_RERUNS)));
        let tool_pins = ToolPins::new(db.clone());
        Self {
            context: Arc::new(Context {
                db,
                settings,
                page_time,
                agent,
                tool_servers,
                tool_pins,
                counts,
                reruns,
                lists,
            }),
        }
    }

    /// Fills in the index columns of new calls at once, because a user is about to read the list.
    async fn complete_new(&self) -> sqlx::Result<()> {
        for _ in 0..MAX_COMPLETED_FIRST {
            if denormalize::complete(&self.context.db).await? < denormalize::CALLS_AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// Returns the condition for a filter, and the owner of the matching data: [`ALL_USERS`] unless the filter names a
    /// user or a conversation.
    pub(crate) async fn resolve(&self, filter: &Filter) -> Result<(Condition, UserId), ToolHistoryError> {
        let db = &self.context.db;
        self.complete_new().await?;
        let user = match &filter.user {
            Some(name) => {
                let found = condition::find_user(db, &name.to_lowercase()).await?;
                Some(found.ok_or_else(|| ToolHistoryError::NoSuchUser(name.clone()))?)
            }
            None => None,
        };
        let conversation = match filter.conversation {
            Some(uuid) => {
                let found = condition::find_conversation(db, &uuid.to_string()).await?;
                Some(found.ok_or(ToolHistoryError::NoSuchConversation)?)
            }
            None => None,
        };
        let owner = conversation.map(|(_, owner)| owner).or(user).unwrap_or(ALL_USERS);
        Ok((Condition::new(filter, user, conversation.map(|(id, _)| id), now()), owner))
    }
}
