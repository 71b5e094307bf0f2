//! SQL for `conversations`.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Handle, Pattern, Query, Transaction, now, select};
use tallybook_protocol::{MessageId, MessageStatus, UpdateConversation};
use uuid::Uuid;

use crate::{
    limits::MAX_PINNED,
    store::{
        rows::{ConversationId, ConversationRow},
        turn_settings::disabled_tools_column,
    },
};

/// Columns of a [`ConversationRow`], of `conversations c`.
macro_rules! conversation_columns {
    () => {
        "c.id, c.uuid, c.title, c.head_message_id, c.active_message_id, EXISTS (SELECT 1 FROM messages w \
         WHERE w.id = c.active_message_id AND w.status = 'awaiting_approval') AS awaiting_approval, \
         c.pinned, c.archived, c.model, c.created_at, c.updated_at"
    };
}
pub(crate) use conversation_columns;

/// Title of a conversation that has neither a title from the user nor a message.
pub(crate) const UNTITLED: &str = "New conversation";

/// Filter of a conversation list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Only conversations whose title or text contains this; empty for all.
    pub search: String,
    /// `true` for pinned conversations only, `false` for all others only.
    pub pinned: Option<bool>,
    /// `true` for archived conversations only, `false` for all others only.
    pub archived: Option<bool>,
}

/// Position in the list, newest first. A page begins after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListCursor {
    pub updated_at: DateTime<Utc>,
    pub id: ConversationId,
}

impl ListCursor {
    /// Returns the position before the newest conversation, even if a replica's clock is ahead. It is not the end of
    /// time, since MariaDB accepts no time parameter after 2038.
    pub(crate) fn before_all() -> Self {
        Self { updated_at: now() + Duration::days(1), id: ConversationId(i64::MAX) }
    }
}

/// An empty conversation to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewConversationRow<'a> {
    pub user: UserId,
    pub uuid: Uuid,
    pub title: &'a str,
    /// Name of its model; `None` for the server's default model.
    pub model: Option<&'a str>,
    /// The tools that are turned off in it.
    pub disabled_tools: &'a BTreeSet<String>,
    pub origin: ConversationOrigin,
    /// The ID that the client chose for it.
    pub client_conversation_id: Option<&'a str>,
}

/// The kind of client that began a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConversationOrigin {
    /// The page, or a client of the REST API.
    Page,
    /// A client of `/v1`.
    Api,
}

impl NewConversationRow<'_> {
    fn bind<H: Handle>(self, create: Query<H>) -> Query<H> {
        let Self { user, uuid, title, model, disabled_tools, origin, client_conversation_id } = self;
        let origin = match origin {
            ConversationOrigin::Page => "page",
            ConversationOrigin::Api => "api",
        };
        let now = now();
        let create = create.bind(uuid.to_string()).bind(user).bind(title).bind(model);
        let create = create.bind(disabled_tools_column(disabled_tools)).bind(origin).bind(client_conversation_id);
        create.bind(now).bind(now)
    }
}

const CREATE: &str = "INSERT INTO conversations (uuid, user_id, title, model, disabled_tools, origin, \
     client_conversation_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Creates an empty conversation.
pub(crate) async fn create_conversation(db: &Database, new: NewConversationRow<'_>) -> sqlx::Result<()> {
    new.bind(db.writer().query(CREATE)).execute().await.map(|_| ())
}

/// Like [`create_conversation`], within a transaction. Returns the row ID.
pub(crate) async fn create_conversation_in(
    tx: &mut Transaction,
    new: NewConversationRow<'_>,
) -> sqlx::Result<ConversationId> {
    Ok(ConversationId(new.bind(tx.query(CREATE)).execute().await?.inserted_id))
}

/// Returns the UUID of a user's conversation for which the client chose this ID.
pub(crate) async fn find_by_client_id(
    tx: &mut Transaction,
    user: UserId,
    client_conversation_id: &str,
) -> sqlx::Result<Option<Uuid>> {
    let uuid: Option<String> = tx
        .query("SELECT uuid FROM conversations WHERE user_id = ? AND client_conversation_id = ? AND deleted_at IS NULL")
        .bind(user)
        .bind(client_conversation_id)
        .fetch_optional_value()
        .await?;
    uuid.map(|uuid| uuid.parse().map_err(|error: uuid::Error| sqlx::Error::Decode(error.into()))).transpose()
}

/// Returns a user's conversation. Returns `None` if it does not exist or belongs to another user.
pub(crate) async fn find_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
) -> sqlx::Result<Option<ConversationRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            conversation_columns!(),
            " FROM conversations c WHERE uuid = ? AND user_id = ? AND deleted_at IS NULL"
        )))
        .bind(uuid.to_string())
        .bind(user)
        .fetch_optional()
        .await
}

/// Returns `true` if a conversation's turn waits for approval.
pub(crate) async fn is_waiting(db: &Database, id: ConversationId) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!(
            "SELECT COUNT(*) FROM conversations c JOIN messages m ON m.id = c.active_message_id \
             WHERE c.id = ? AND m.status = 'awaiting_approval'"
        ))
        .bind(id)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

/// Lists at most `limit` conversations after `place` that match `filter`, newest first.
pub(crate) async fn list_conversations(
    db: &Database,
    user: UserId,
    filter: &ListFilter,
    place: ListCursor,
    limit: u32,
) -> sqlx::Result<Vec<ConversationRow>> {
    let pattern = Some(Pattern::new(&filter.search)).filter(|_| !filter.search.is_empty());
    let query = db
        .reader()
        .query(select!(concat!(
            "SELECT ",
            conversation_columns!(),
            " FROM conversations c WHERE deleted_at IS NULL AND user_id = ? AND (updated_at < ? OR \
             (updated_at = ? AND id < ?))"
        )))
        .bind(user)
        .bind(place.updated_at)
        .bind(place.updated_at);
    let mut query = query.bind(place.id);
    for (column, wanted) in [(" AND pinned = ", filter.pinned), (" AND archived = ", filter.archived)] {
        if let Some(wanted) = wanted {
            query.push(column).push_bind(wanted);
        }
    }
    if let Some(pattern) = &pattern {
        query.push(" AND (");
        pattern.push_matches(&mut query, "title");
        query.push(" OR EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND ");
        pattern.push_matches(&mut query, "m.content");
        query.push("))");
    }
    query.push(" ORDER BY updated_at DESC, id DESC LIMIT ").push_bind(limit);
    query.fetch_all().await
}

/// Lists at most `limit` of a user's conversations after the conversation `last`, ordered by ID: using a conversation
/// does not change this order.
pub(crate) async fn list_after(
    db: &Database,
    user: UserId,
    last: ConversationId,
    limit: u32,
) -> sqlx::Result<Vec<ConversationRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            conversation_columns!(),
            " FROM conversations c WHERE user_id = ? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?"
        )))
        .bind(user)
        .bind(last)
        .bind(limit)
        .fetch_all()
        .await
}

/// Changes the fields of a conversation that `update` sets. Returns `false` if the conversation does not exist, or if
/// it would exceed the maximum number of pinned ones.
pub(crate) async fn update_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
    update: &UpdateConversation,
) -> sqlx::Result<bool> {
    let UpdateConversation { title, pinned, archived, model } = update;
    let mut query = db
        .writer()
        .query(
            "UPDATE conversations \
             SET title = COALESCE(?, title), pinned = COALESCE(?, pinned), archived = COALESCE(?, archived), \
             model = CASE WHEN ? THEN ? ELSE model END WHERE uuid = ? AND user_id = ? AND deleted_at IS NULL",
        )
        .bind(title)
        .bind(pinned)
        .bind(archived)
        .bind(model.is_some())
        .bind(model.as_ref().and_then(Option::as_ref))
        .bind(uuid.to_string())
        .bind(user);
    if *pinned == Some(true) {
        // The inner limit also keeps MySQL from merging the inner query into the statement. MySQL refuses to read the
        // table that it changes.
        query.push(
            " AND (pinned = ? OR ? > (SELECT COUNT(*) FROM \
             (SELECT id FROM conversations WHERE user_id = ? AND pinned = ? AND deleted_at IS NULL LIMIT ?) p))",
        );
        query = query.bind(true).bind(MAX_PINNED).bind(user).bind(true).bind(MAX_PINNED);
    }
    Ok(query.execute().await?.rows == 1)
}

/// Returns the title of a conversation.
pub(crate) async fn find_title(db: &Database, id: ConversationId) -> sqlx::Result<Option<String>> {
    db.reader().query(select!("SELECT title FROM conversations WHERE id = ?")).bind(id).fetch_optional_value().await
}

/// Replaces the title `old` of a conversation with `new`. Returns `false` if its title is no longer `old`.
pub(crate) async fn replace_title(db: &Database, id: ConversationId, old: &str, new: &str) -> sqlx::Result<bool> {
    let done = db
        .writer()
        .query("UPDATE conversations SET title = ? WHERE id = ? AND title = ?")
        .bind(new)
        .bind(id)
        .bind(old)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Selects the branch that ends in `head`. Returns `false` while a turn runs or waits.
pub(crate) async fn select_head(db: &Database, id: ConversationId, head: MessageId) -> sqlx::Result<bool> {
    Ok(db.writer().query(SELECT_HEAD).bind(head).bind(id).execute().await?.rows == 1)
}

/// Like [`select_head`], within a transaction.
pub(crate) async fn select_head_in(tx: &mut Transaction, id: ConversationId, head: MessageId) -> sqlx::Result<bool> {
    Ok(tx.query(SELECT_HEAD).bind(head).bind(id).execute().await?.rows == 1)
}

const SELECT_HEAD: &str = "UPDATE conversations SET head_message_id = ? \
     WHERE id = ? AND active_message_id IS NULL AND deleted_at IS NULL";

/// Soft-deletes a conversation: only the tool history still shows it, until it is purged. The client can use its own ID
/// of the conversation again. Returns `false` if the user has no such conversation.
pub(crate) async fn soft_delete_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
    at: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = db
        .writer()
        .query(
            "UPDATE conversations SET deleted_at = ?, client_conversation_id = NULL \
             WHERE uuid = ? AND user_id = ? AND deleted_at IS NULL",
        )
        .bind(at)
        .bind(uuid.to_string())
        .bind(user)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Soft-deletes those of `ids` that are a user's conversations, like [`soft_delete_conversation`]. Returns their
/// number.
pub(crate) async fn soft_delete_conversations(
    db: &Database,
    user: UserId,
    ids: &[ConversationId],
    at: DateTime<Utc>,
) -> sqlx::Result<u64> {
    let mut query = db
        .writer()
        .query(
            "UPDATE conversations SET deleted_at = ?, client_conversation_id = NULL \
             WHERE user_id = ? AND deleted_at IS NULL AND id IN (",
        )
        .bind(at)
        .bind(user);
    query.push_list(ids.iter().copied()).push(")");
    Ok(query.execute().await?.rows)
}

/// Returns the number of a user's conversations, including archived ones.
pub(crate) async fn count_conversations(db: &Database, user: UserId) -> sqlx::Result<i64> {
    db.reader()
        .query(select!("SELECT COUNT(*) FROM conversations WHERE user_id = ? AND deleted_at IS NULL"))
        .bind(user)
        .fetch_value()
        .await
}

/// Returns those of `ids` that a turn has claimed, deleted or not.
pub(crate) async fn list_claimed(db: &Database, ids: &[ConversationId]) -> sqlx::Result<Vec<ConversationId>> {
    let select = select!("SELECT id FROM conversations WHERE active_message_id IS NOT NULL AND id IN (");
    let rows: Vec<(ConversationId,)> = db.reader().list_by_ids(select, ids, ")").await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Returns `true` if a conversation is deleted, or already purged.
pub(crate) async fn is_deleted(db: &Database, id: ConversationId) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM conversations WHERE id = ? AND deleted_at IS NULL"))
        .bind(id)
        .fetch_value()
        .await?;
    Ok(count == 0)
}

/// Returns the turn that has claimed a conversation, deleted or not, and whether the turn waits for approval.
pub(crate) async fn find_claim(db: &Database, id: ConversationId) -> sqlx::Result<Option<(MessageId, bool)>> {
    // The conversation may be deleted by now.
    let row: Option<(MessageId, String)> = db
        .reader()
        .query(select!(
            "SELECT c.active_message_id, m.status FROM conversations c \
             JOIN messages m ON m.id = c.active_message_id WHERE c.id = ?"
        ))
        .bind(id)
        .fetch_optional()
        .await?;
    Ok(row.map(|(id, status)| (id, MessageStatus::from(status) == MessageStatus::AwaitingApproval)))
}
