//! The list of a user's conversations: create, list, update and delete. `feed` reports changes.

mod feed;

use std::time::Duration;

use chrono::DateTime;
use tallybook_accounts::UserId;
use tallybook_database::with_retries;
use tallybook_protocol::{ConversationSummary, NewConversation, Page, UpdateConversation};
use uuid::Uuid;

use crate::{
    ServiceError,
    feeds::FeedReader,
    input::{check_search, check_title},
    limits::{MAX_LIST_PAGE, MAX_PINNED},
    service::ConversationService,
    store::{
        ConversationId,
        conversations::{self, ConversationOrigin, ListCursor, ListFilter, NewConversationRow, UNTITLED},
        rows::ConversationRow,
    },
    tool_switches::check_disabled_tools,
    turn::stop::stop_deleted,
};

/// Time that deleting conversations waits for their turns to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of conversations that one statement deletes.
const DELETED_AT_ONCE: u32 = 200;

impl ConversationService {
    /// Creates an empty conversation.
    pub async fn create_conversation(
        &self,
        user: UserId,
        new: NewConversation,
    ) -> Result<ConversationSummary, ServiceError> {
        let title = new.title.as_deref().map_or(Ok(UNTITLED), check_title)?;
        let model = match new.model.as_deref() {
            Some(name) => Some(self.context.models_of(user).await?.named(name)?),
            None => None,
        };
        let disabled_tools = check_disabled_tools(new.disabled_tools)?;
        let uuid = Uuid::now_v7();
        let model = model.as_ref().map(|model| model.name());
        let new = NewConversationRow {
            user,
            uuid,
            title,
            model,
            disabled_tools: &disabled_tools,
            origin: ConversationOrigin::Page,
            client_conversation_id: None,
        };
        conversations::create_conversation(&self.context.db, new).await?;
        self.context.feeds.announce(user);
        Ok(self.context.find_conversation(user, uuid).await?.summary())
    }

    /// Returns a page of a user's conversations, newest first. Unless `filter` says otherwise, archived conversations
    /// are included only in searches.
    pub async fn list_conversations(
        &self,
        user: UserId,
        filter: ListFilter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Page<ConversationSummary>, ServiceError> {
        let place = match cursor {
            Some(cursor) => read_cursor(cursor)
                .ok_or_else(|| ServiceError::Invalid("The cursor is not one that this list gave.".to_owned()))?,
            None => ListCursor::before_all(),
        };
        check_search(&filter.search)?;
        let archived = filter.archived.or(filter.search.is_empty().then_some(false));
        let filter = ListFilter { archived, ..filter };
        let limit = limit.clamp(1, MAX_LIST_PAGE);
        let mut rows = conversations::list_conversations(&self.context.db, user, &filter, place, limit + 1).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = rows.last().filter(|_| more).map(write_cursor);
        Ok(Page { items: rows.iter().map(ConversationRow::summary).collect(), next_cursor })
    }

    /// Changes a conversation's title, model, pin, or archive state.
    pub async fn update_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        update: UpdateConversation,
    ) -> Result<ConversationSummary, ServiceError> {
        if update == UpdateConversation::default() {
            let advice = "There is nothing to change. Send a title, pinned, archived or model.";
            return Err(ServiceError::Invalid(advice.to_owned()));
        }
        if let Some(Some(name)) = &update.model {
            self.context.models_of(user).await?.named(name)?;
        }
        let title = update.title.as_deref().map(check_title).transpose()?.map(str::to_owned);
        let update = UpdateConversation { title, ..update };
        let db = &self.context.db;
        // Concurrent updates that pin conversations read each other's rows. The engine may abort one of them with a
        // deadlock or lock timeout.
        let is_done = with_retries(|| conversations::update_conversation(db, user, uuid, &update)).await?;
        let row = self.context.find_conversation(user, uuid).await?;
        if !is_done {
            return Err(ServiceError::Invalid(format!(
                "{MAX_PINNED} conversations are pinned, which is the maximum. Unpin one of them first."
            )));
        }
        self.context.feeds.announce(user);
        Ok(row.summary())
    }

    /// Deletes a conversation: from now on only the tool history shows it, until it is purged. Stops its turn if one
    /// runs or waits.
    pub async fn delete_conversation(&self, user: UserId, uuid: Uuid) -> Result<(), ServiceError> {
        let context = &self.context;
        let id = context.find_conversation(user, uuid).await?.id;
        let at = context.db.reader().now().await?;
        if !with_retries(|| conversations::soft_delete_conversation(&context.db, user, uuid, at)).await? {
            return Err(ServiceError::NotFound);
        }
        context.feeds.announce(user);
        self.end_deleted(user, &[id]).await;
        Ok(())
    }

    /// Deletes all of a user's conversations like [`Self::delete_conversation`], including pinned and archived ones.
    /// Returns their number.
    pub async fn delete_all_conversations(&self, user: UserId) -> Result<u64, ServiceError> {
        let context = &self.context;
        let (mut deleted, mut claimed) = (0, Vec::new());
        let done = self.soft_delete_all(user, &mut deleted, &mut claimed).await;
        // After a failure, some of them are deleted.
        context.feeds.announce(user);
        self.end_deleted(user, &claimed).await;
        done.map(|()| deleted)
    }

    /// Soft-deletes all of a user's conversations. Counts them in `deleted`, and adds those with a turn to `claimed`.
    async fn soft_delete_all(
        &self,
        user: UserId,
        deleted: &mut u64,
        claimed: &mut Vec<ConversationId>,
    ) -> Result<(), ServiceError> {
        let db = &self.context.db;
        let at = db.reader().now().await?;
        let mut last = ConversationId(0);
        loop {
            let rows = conversations::list_after(db, user, last, DELETED_AT_ONCE).await?;
            let Some(newest) = rows.last() else { return Ok(()) };
            last = newest.id;
            let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
            *deleted += with_retries(|| conversations::soft_delete_conversations(db, user, &ids, at)).await?;
            claimed.append(&mut conversations::list_claimed(db, &ids).await?);
        }
    }

    /// Stops the turns of conversations that were just deleted, and waits until they have ended. Since the
    /// conversations are deleted first, no new turn begins. A failure is harmless: a running turn comes to its end, and
    /// `turn::approval::timeout` ends a turn that waits.
    async fn end_deleted(&self, user: UserId, ids: &[ConversationId]) {
        let context = &self.context;
        let mut logs = Vec::new();
        for id in ids {
            match stop_deleted(context, user, *id).await {
                Ok(message_id) => logs.extend(message_id.and_then(|message_id| context.journal.find(message_id))),
                Err(error) => tracing::warn!(%error, "the turn of a deleted conversation could not be stopped"),
            }
        }
        let ended = async {
            for log in &logs {
                log.ended().await;
            }
        };
        let _ = tokio::time::timeout(END_TIMEOUT, ended).await;
        context.deleted.notify_one();
    }

    /// Returns the number of a user's conversations, including archived ones.
    pub async fn count_conversations(&self, user: UserId) -> Result<u64, ServiceError> {
        let count = conversations::count_conversations(&self.context.db, user).await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Subscribes to changes of a user's conversations.
    pub async fn feed(&self, user: UserId) -> Result<FeedReader, ServiceError> {
        feed::watch(&self.context, user).await
    }
}

fn write_cursor(row: &ConversationRow) -> String {
    format!("{}-{}", row.updated_at.timestamp_micros(), row.id.0)
}

fn read_cursor(cursor: &str) -> Option<ListCursor> {
    let (micros, id) = cursor.split_once('-')?;
    let updated_at = DateTime::from_timestamp_micros(micros.parse().ok()?)
        .filter(|time| *time <= ListCursor::before_all().updated_at)?;
    Some(ListCursor { updated_at, id: ConversationId(id.parse().ok()?) })
}
