//! SQL on `conversations`.

use std::collections::BTreeSet;
use tallybook_database::{Database, Pattern, now, select};

use chrono::{DateTime, Duration, Utc};
use tallybook_protocol::{MessageId, MessageStatus, UpdateConversation};
use uuid::Uuid;

use super::{
    super::limits::MAX_PINNED,
    rows::{ConversationId, ConversationRow},
    tool_switches::disabled_tools_column,
};
use crate::accounts::UserId;

const CREATE: &str = "INSERT INTO conversations (uuid, user_id, title, model, disabled_tools, created_at, updated_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?)";

const FIND: &str = "SELECT id, uuid, title, head_message_id, active_message_id, EXISTS (SELECT 1 FROM messages w \
         WHERE w.id = c.active_message_id AND w.status = 'awaiting_approval') AS awaiting_approval, \
     pinned, archived, model, created_at, updated_at FROM conversations c \
     WHERE uuid = ? AND user_id = ? AND deleted_at IS NULL";

const LIST: &str = "SELECT id, uuid, title, head_message_id, active_message_id, EXISTS (SELECT 1 FROM messages w \
         WHERE w.id = c.active_message_id AND w.status = 'awaiting_approval') AS awaiting_approval, \
     pinned, archived, model, created_at, updated_at FROM conversations c \
     WHERE deleted_at IS NULL AND user_id = ? AND (updated_at < ? OR (updated_at = ? AND id < ?))";

const LIST_AFTER: &str = "SELECT id, uuid, title, head_message_id, active_message_id, EXISTS (SELECT 1 FROM messages w \
         WHERE w.id = c.active_message_id AND w.status = 'awaiting_approval') AS awaiting_approval, \
     pinned, archived, model, created_at, updated_at FROM conversations c \
     WHERE user_id = ? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?";

const IS_WAITING: &str = "SELECT COUNT(*) FROM conversations c JOIN messages m ON m.id = c.active_message_id \
     WHERE c.id = ? AND m.status = 'awaiting_approval'";

const UPDATE: &str = "UPDATE conversations \
     SET title = COALESCE(?, title), pinned = COALESCE(?, pinned), archived = COALESCE(?, archived), \
     model = CASE WHEN ? THEN ? ELSE model END WHERE uuid = ? AND user_id = ? AND deleted_at IS NULL";

// The limit also keeps MySQL from reading the table that is changed through the inner query, which it refuses.
const UPDATE_PINNING: &str = "UPDATE conversations \
     SET title = COALESCE(?, title), pinned = COALESCE(?, pinned), archived = COALESCE(?, archived), \
     model = CASE WHEN ? THEN ? ELSE model END WHERE uuid = ? AND user_id = ? AND deleted_at IS NULL \
     AND (pinned = ? OR ? > (SELECT COUNT(*) FROM \
         (SELECT id FROM conversations WHERE user_id = ? AND pinned = ? AND deleted_at IS NULL LIMIT ?) p))";

const FIND_TITLE: &str = "SELECT title FROM conversations WHERE id = ?";

const REPLACE_TITLE: &str = "UPDATE conversations SET title = ? WHERE id = ? AND title = ?";

const SELECT_HEAD: &str = "UPDATE conversations SET head_message_id = ? \
     WHERE id = ? AND active_message_id IS NULL AND deleted_at IS NULL";

const HIDE: &str = "UPDATE conversations SET deleted_at = ? WHERE uuid = ? AND user_id = ? AND deleted_at IS NULL";

// Of one that may be hidden by now.
const FIND_CLAIM: &str = "SELECT c.active_message_id, m.status FROM conversations c \
     JOIN messages m ON m.id = c.active_message_id WHERE c.id = ?";

/// The title of a conversation that nobody named and nobody wrote in.
pub(crate) const UNTITLED: &str = "New conversation";

/// Which conversations a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Those whose title or text contains this.
    pub search: String,
    /// Those that are pinned, or those that are not.
    pub pinned: Option<bool>,
    /// Those in the archive, or those that are not.
    pub archived: Option<bool>,
}

/// Where a page of the list begins: after this place, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListPlace {
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) id: ConversationId,
}

impl ListPlace {
    /// Before the newest conversation, also of a replica whose clock is ahead. MariaDB takes no parameter after 2038 for
    /// a time, so this is not simply the end of time.
    pub(crate) fn before_all() -> Self {
        Self { updated_at: now() + Duration::days(1), id: ConversationId(i64::MAX) }
    }
}

/// Makes an empty conversation, in which some tools are turned off.
pub(crate) async fn create_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
    title: &str,
    model: Option<&str>,
    disabled_tools: &BTreeSet<String>,
) -> sqlx::Result<()> {
    let now = now();
    let disabled_tools = disabled_tools_column(disabled_tools);
    db.writer()
        .query(CREATE)
        .bind(uuid.to_string())
        .bind(user)
        .bind(title)
        .bind(model)
        .bind(disabled_tools.as_deref())
        .bind(now)
        .bind(now)
        .execute()
        .await
        .map(|_| ())
}

/// A user's conversation. Somebody else's is as absent as one that never was.
pub(crate) async fn find_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
) -> sqlx::Result<Option<ConversationRow>> {
    db.reader().query(select!(FIND)).bind(uuid.to_string()).bind(user).fetch_optional().await
}

/// Whether a conversation's turn waits for consent.
pub(crate) async fn is_waiting(db: &Database, id: ConversationId) -> sqlx::Result<bool> {
    let count: i64 = db.reader().query(select!(IS_WAITING)).bind(id).fetch_value().await?;
    Ok(count > 0)
}

/// At most `limit` conversations after `place` that `filter` takes, newest first.
pub(crate) async fn list_conversations(
    db: &Database,
    user: UserId,
    filter: &ListFilter,
    place: ListPlace,
    limit: u32,
) -> sqlx::Result<Vec<ConversationRow>> {
    let pattern = Some(Pattern::new(&filter.search)).filter(|_| !filter.search.is_empty());
    let query = db.reader().query(select!(LIST)).bind(user).bind(place.updated_at).bind(place.updated_at);
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

/// At most `limit` of a user's conversations after the one `last`, in an order that no use of them changes.
pub(crate) async fn list_after(
    db: &Database,
    user: UserId,
    last: ConversationId,
    limit: u32,
) -> sqlx::Result<Vec<ConversationRow>> {
    db.reader().query(select!(LIST_AFTER)).bind(user).bind(last).bind(limit).fetch_all().await
}

/// Changes what `update` names of a conversation. False when there is none, or when it would be one pinned too many.
pub(crate) async fn update_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
    update: &UpdateConversation,
) -> sqlx::Result<bool> {
    let UpdateConversation { title, pinned, archived, model } = update;
    let is_pinning = *pinned == Some(true);
    let mut query = db.writer().query(if is_pinning { UPDATE_PINNING } else { UPDATE });
    query = query
        .bind(title)
        .bind(pinned)
        .bind(archived)
        .bind(model.is_some())
        .bind(model.as_ref().and_then(Option::as_ref));
    query = query.bind(uuid.to_string()).bind(user);
    if is_pinning {
        query = query.bind(true).bind(MAX_PINNED).bind(user).bind(true).bind(MAX_PINNED);
    }
    Ok(query.execute().await?.rows == 1)
}

/// The title of a conversation.
pub(crate) async fn find_title(db: &Database, id: ConversationId) -> sqlx::Result<Option<String>> {
    db.reader().query(select!(FIND_TITLE)).bind(id).fetch_optional_value().await
}

/// Gives a conversation the title `new` if it still has the title `old`. False when it has not.
pub(crate) async fn replace_title(db: &Database, id: ConversationId, old: &str, new: &str) -> sqlx::Result<bool> {
    let done = db.writer().query(REPLACE_TITLE).bind(new).bind(id).bind(old).execute().await?;
    Ok(done.rows == 1)
}

/// Has the branch shown that ends in `head`. False while a turn runs or waits.
pub(crate) async fn select_head(db: &Database, id: ConversationId, head: MessageId) -> sqlx::Result<bool> {
    let done = db.writer().query(SELECT_HEAD).bind(head).bind(id).execute().await?;
    Ok(done.rows == 1)
}

/// Hides a conversation from everybody but the book, for good. False when there is none.
pub(crate) async fn hide_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
    at: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = db.writer().query(HIDE).bind(at).bind(uuid.to_string()).bind(user).execute().await?;
    Ok(done.rows == 1)
}

/// The turn that has claimed a conversation, hidden or not, and whether it waits for consent.
pub(crate) async fn find_claim(db: &Database, id: ConversationId) -> sqlx::Result<Option<(MessageId, bool)>> {
    let row: Option<(MessageId, String)> = db.reader().query(select!(FIND_CLAIM)).bind(id).fetch_optional().await?;
    Ok(row.map(|(id, status)| (id, MessageStatus::from(status) == MessageStatus::AwaitingApproval)))
}
