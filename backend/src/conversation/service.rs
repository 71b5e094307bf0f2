//! The use cases of conversations.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use chrono::DateTime;
use tallybook_protocol::{ConversationSummary, FeedEvent, ModelInfo, NewConversation, Page};
use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    ServiceError,
    feed::Changes,
    history::history,
    input::{UNTITLED, check_search, check_title},
    model::ConversationRow,
    repository::{
        calls,
        conversations::{self, ListPlace},
        messages,
        turns::{self, TurnRows},
    },
    tree::branch,
};
use crate::{
    accounts::UserId,
    agent::{AgentService, TitleWriter},
    db::{Database, retried},
    journal::{EventId, Journal, TurnLog, TurnSubscription, lock},
    llm::ModelMessage,
};

/// Most conversations on a page of the list.
const MAX_PAGE: u32 = 100;

/// How long what depends on a turn's end waits for it.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// The use cases of conversations. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub struct ConversationService {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) db: Database,
    pub(super) agent: AgentService,
    /// Who is asked for titles; nobody, when they are to stay as the questions gave them.
    pub(super) titles: Option<TitleWriter>,
    pub(super) journal: Journal,
    pub(super) changes: Changes,
    /// Names this process in the leases of its turns.
    pub(super) owner: String,
    /// Turns run on the program's own runtime: one spawned on an HTTP worker would die with that worker.
    pub(super) runtime: Handle,
    pub(super) tasks: TaskTracker,
    /// The turns of this process: under which epoch each runs, and what stops it.
    pub(super) running: Mutex<HashMap<i64, (i32, CancellationToken)>>,
    pub(super) draining: CancellationToken,
    pub(super) lifetimes: Lifetimes,
    pub(super) shut_down: CancellationToken,
}

/// How long things last.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// How long an owner may be silent before its turns count as abandoned.
    pub lease: Duration,
    /// How long the events of a finished turn are kept; for ever when `None`.
    pub journal: Option<Duration>,
}

/// What somebody who wants to follow a conversation gets.
#[derive(Debug)]
pub enum EventsAnswer {
    /// A turn that runs.
    Live(TurnSubscription),
    /// A turn that another process runs.
    Stored(mpsc::Receiver<Bytes>),
    /// One frame, and then the end: how a turn has ended.
    Once(Bytes),
    /// Nothing runs and nothing is owed.
    Nothing,
}

impl ConversationService {
    /// A service whose turns run on `runtime`. Closes what an earlier process left running, and goes on looking for
    /// abandoned turns until [`Self::shut_down`].
    pub async fn start(
        db: Database,
        agent: AgentService,
        titles: Option<TitleWriter>,
        lifetimes: Lifetimes,
        runtime: Handle,
    ) -> Result<Self, ServiceError> {
        let inner = Arc::new(Inner {
            db,
            agent,
            titles,
            journal: Journal::default(),
            changes: Changes::default(),
            owner: Uuid::new_v4().to_string(),
            runtime,
            tasks: TaskTracker::new(),
            running: Mutex::default(),
            draining: CancellationToken::new(),
            lifetimes,
            shut_down: CancellationToken::new(),
        });
        inner.close_turns_left_running().await?;
        inner.tasks.spawn_on(Arc::clone(&inner).look_for_abandoned_turns(), &inner.runtime);
        inner.tasks.spawn_on(Arc::clone(&inner).look_for_stop_requests(), &inner.runtime);
        inner.tasks.spawn_on(Arc::clone(&inner).purge_journal(), &inner.runtime);
        Ok(Self { inner })
    }

    /// Makes an empty conversation.
    pub async fn create_conversation(
        &self,
        user: UserId,
        new: NewConversation,
    ) -> Result<ConversationSummary, ServiceError> {
        let title = new.title.as_deref().map_or(Ok(UNTITLED), check_title)?;
        let uuid = Uuid::now_v7();
        conversations::create_conversation(&self.inner.db, user, uuid, title).await?;
        self.inner.changes.announce(user);
        Ok(self.inner.find(user, uuid).await?.summary())
    }

    /// A page of a user's conversations, newest first; with `search`, those whose title or text contains it.
    pub async fn list_conversations(
        &self,
        user: UserId,
        search: &str,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Page<ConversationSummary>, ServiceError> {
        let place = match cursor {
            Some(cursor) => read_cursor(cursor)
                .ok_or_else(|| ServiceError::Invalid("The cursor is not one that this list gave.".to_owned()))?,
            None => ListPlace::before_all(),
        };
        check_search(search)?;
        let limit = limit.clamp(1, MAX_PAGE);
        let mut rows = conversations::list_conversations(&self.inner.db, user, search, place, limit + 1).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = rows.last().filter(|_| more).map(write_cursor);
        Ok(Page { items: rows.iter().map(ConversationRow::summary).collect(), next_cursor })
    }

    /// Gives a conversation another title.
    pub async fn rename_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        title: &str,
    ) -> Result<ConversationSummary, ServiceError> {
        let title = check_title(title)?;
        if !conversations::rename_conversation(&self.inner.db, user, uuid, title).await? {
            return Err(ServiceError::NotFound);
        }
        self.inner.changes.announce(user);
        Ok(self.inner.find(user, uuid).await?.summary())
    }

    /// Deletes a conversation with everything in it, ending its turn if one runs.
    pub async fn delete_conversation(&self, user: UserId, uuid: Uuid) -> Result<(), ServiceError> {
        let row = self.inner.find(user, uuid).await?;
        if let Some(log) = row.active_message_id.and_then(|id| self.inner.journal.find(id)) {
            self.inner.cancel_turn(log.message_id());
            // A turn that writes its end and a deletion would wait for each other's locks.
            let _ = tokio::time::timeout(END_PATIENCE, log.ended()).await;
        }
        // A turn's end on another replica takes the same locks from the other side.
        if !retried(|| conversations::delete_conversation(&self.inner.db, user, uuid)).await? {
            return Err(ServiceError::NotFound);
        }
        self.inner.changes.announce(user);
        Ok(())
    }

    /// Follows the running turn after `last`, or tells how the turn that `last` belongs to ended.
    pub async fn events(&self, user: UserId, uuid: Uuid, last: Option<EventId>) -> Result<EventsAnswer, ServiceError> {
        let row = self.inner.find(user, uuid).await?;
        if let Some(message_id) = row.active_message_id {
            if let Some(log) = self.inner.journal.find(message_id) {
                return Ok(EventsAnswer::Live(log.subscribe_after(last)));
            }
            return self.inner.tell_as_stored(&row, message_id, last).await;
        }
        let Some(last) = last else { return Ok(EventsAnswer::Nothing) };
        if self.inner.owes_nothing_after(row.id, last).await? {
            return Ok(EventsAnswer::Nothing);
        }
        self.inner.tell_as_stored(&row, last.message_id, None).await
    }

    /// Stops the turn that runs, if one does. False when none runs.
    pub async fn stop(&self, user: UserId, uuid: Uuid) -> Result<bool, ServiceError> {
        let row = self.inner.find(user, uuid).await?;
        let Some(message_id) = row.active_message_id else { return Ok(false) };
        if self.inner.cancel_turn(message_id) {
            return Ok(true);
        }
        // Another process runs it, and looks for this; or this one is about to.
        let requested = turns::request_stop(&self.inner.db, message_id).await?;
        Ok(self.inner.cancel_turn(message_id) || requested)
    }

    /// What happens from now on to a user's conversations.
    pub async fn feed(&self, user: UserId) -> Result<mpsc::Receiver<FeedEvent>, ServiceError> {
        self.inner.watch(user).await
    }

    /// The agent that answers.
    pub fn agent(&self) -> &AgentService {
        &self.inner.agent
    }

    /// Which model answers.
    pub fn model_info(&self) -> &ModelInfo {
        self.inner.agent.model_info()
    }

    /// How many turns run in this process.
    pub fn running_turns(&self) -> usize {
        lock(&self.inner.running).len()
    }

    /// Whether the database answers and new turns are taken.
    pub async fn check_ready(&self) -> Result<(), ServiceError> {
        if self.inner.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        Ok(self.inner.db.ping().await?)
    }

    /// Takes no new turns, lets running ones finish within `grace`, marks the rest as interrupted, and closes the
    /// database.
    pub async fn shut_down(&self, grace: Duration) {
        self.inner.draining.cancel();
        self.inner.tasks.close();
        if tokio::time::timeout(grace, self.inner.tasks.wait()).await.is_err() {
            self.inner.shut_down.cancel();
            lock(&self.inner.running).values().for_each(|(_, token)| token.cancel());
            if tokio::time::timeout(END_PATIENCE, self.inner.tasks.wait()).await.is_err() {
                tracing::error!("some turns did not end; they are closed at the next start");
            }
        }
        if tokio::time::timeout(END_PATIENCE, self.inner.db.close()).await.is_err() {
            tracing::error!("the database's connections could not be closed in time");
        }
    }
}

impl Inner {
    pub(super) async fn find(&self, user: UserId, uuid: Uuid) -> Result<ConversationRow, ServiceError> {
        conversations::find_conversation(&self.db, user, uuid).await?.ok_or(ServiceError::NotFound)
    }

    /// What the model is told of the conversation up to the message `head`.
    pub(super) async fn history_of(&self, conversation_id: i64, head: i64) -> sqlx::Result<Vec<ModelMessage>> {
        let places = messages::list_places(&self.db, conversation_id).await?;
        let ids: Vec<i64> = branch(&places, Some(head)).iter().map(|place| place.id).collect();
        let messages = messages::list_messages(&self.db, &ids).await?;
        let model_calls = calls::list_model_calls(&self.db, &ids).await?;
        let tool_calls = calls::list_tool_calls(&self.db, &ids).await?;
        Ok(history(&messages, &model_calls, &tool_calls, self.agent.limits()))
    }

    /// Stops a turn of this process. False when it is not one.
    pub(super) fn cancel_turn(&self, message_id: i64) -> bool {
        lock(&self.running).get(&message_id).inspect(|(_, token)| token.cancel()).is_some()
    }

    /// Forgets a turn that is over. Its message may go on under a later epoch by now, which stays.
    pub(super) fn forget_turn(&self, turn: TurnRows, log: &Arc<TurnLog>) {
        self.journal.close(log);
        let mut running = lock(&self.running);
        if running.get(&turn.assistant_message_id).is_some_and(|(epoch, _)| *epoch == turn.epoch) {
            running.remove(&turn.assistant_message_id);
        }
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down.is_cancelled()
    }
}

fn write_cursor(row: &ConversationRow) -> String {
    format!("{}-{}", row.updated_at.timestamp_micros(), row.id)
}

fn read_cursor(cursor: &str) -> Option<ListPlace> {
    let (micros, id) = cursor.split_once('-')?;
    let updated_at = DateTime::from_timestamp_micros(micros.parse().ok()?)
        .filter(|time| *time <= ListPlace::before_all().updated_at)?;
    Some(ListPlace { updated_at, id: id.parse().ok()? })
}
