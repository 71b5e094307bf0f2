//! The service that http talks to. Its use cases stand with their subjects: `list`, `whole`, `rerun`, `export`,
//! `figures`, `looks`; what goes on beside them in `upkeep`.

use std::{sync::Arc, time::Duration};
use tallybook_database::{Database, now};

use tallybook_agent::AgentService;
use tallybook_mcp::ToolServers;
use tallybook_tools::Slots;
use tokio::sync::Semaphore;

use super::{
    BookError,
    filter::Filter,
    limits::{MAX_COMPLETED_FIRST, MAX_LISTS, MAX_RERUNS},
    store::{
        condition::{self, Condition},
        facts,
        looks::EVERYBODY,
    },
};
use crate::{accounts::UserId, tool_pins::ToolPins, work_counts::WorkCounts};

/// The use cases of the book. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub(crate) struct Book {
    pub(super) context: Arc<Context>,
}

/// What the use cases share.
pub(super) struct Context {
    pub(super) db: Database,
    /// How long what people delete is kept.
    pub(super) kept_for: Duration,
    /// How long is gone through the calls for one page.
    pub(super) page_time: Duration,
    /// What runs a call again.
    pub(super) agent: AgentService,
    pub(super) tool_servers: ToolServers,
    pub(super) tool_pins: ToolPins,
    /// Where calls that are run again are counted.
    pub(super) counts: Arc<WorkCounts>,
    /// The right to run a call again.
    pub(super) reruns: Arc<Semaphore>,
    /// The right to look for a page of the list.
    pub(super) lists: Slots<UserId>,
}

impl Book {
    /// The service over the calls in a database, in which what people delete is kept for so long, and which are gone through for
    /// so long for one page; calls are run again by this agent, with these tools, and counted.
    pub(crate) fn new(
        db: Database,
        kept_for: Duration,
        page_time: Duration,
        agent: AgentService,
        tool_servers: ToolServers,
        counts: Arc<WorkCounts>,
    ) -> Self {
        let (lists, reruns) = (Slots::new(MAX_LISTS), Arc::new(Semaphore::new(MAX_RERUNS)));
        let tool_pins = ToolPins::new(db.clone());
        Self {
            context: Arc::new(Context {
                db,
                kept_for,
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

    /// Writes down what the calls of this moment are found by, which somebody wants to see.
    async fn complete_new(&self) -> sqlx::Result<()> {
        for _ in 0..MAX_COMPLETED_FIRST {
            if facts::complete(&self.context.db).await? < facts::CALLS_AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// What a filter asks for, and whose that is: everybody's, unless it names a person or a conversation.
    pub(super) async fn resolve(&self, filter: &Filter) -> Result<(Condition, UserId), BookError> {
        let db = &self.context.db;
        self.complete_new().await?;
        let user = match &filter.user {
            Some(name) => {
                let found = condition::find_user(db, &name.to_lowercase()).await?;
                Some(found.ok_or_else(|| BookError::NoSuchUser(name.clone()))?)
            }
            None => None,
        };
        let conversation = match filter.conversation {
            Some(uuid) => {
                let found = condition::find_conversation(db, &uuid.to_string()).await?;
                Some(found.ok_or(BookError::NoSuchConversation)?)
            }
            None => None,
        };
        let owner = conversation.map(|(_, owner)| owner).or(user).unwrap_or(EVERYBODY);
        Ok((Condition::new(filter, user, conversation.map(|(id, _)| id), now()), owner))
    }
}
