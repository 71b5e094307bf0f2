//! SQL on `conversations`.

use chrono::{DateTime, Duration, Utc};
use tallybook_protocol::MessageId;
use uuid::Uuid;

use super::rows::{ConversationId, ConversationRow};
use crate::{
    accounts::UserId,
    db::{Database, now, on_db},
};

const CREATE: &str = "INSERT INTO conversations (uuid, user_id, title, created_at, updated_at) VALUES (?, ?, ?, ?, ?)";

const FIND: &str = "SELECT id, uuid, title, head_message_id, active_message_id, created_at, updated_at \
     FROM conversations WHERE uuid = ? AND user_id = ?";

const LIST: &str = "SELECT id, uuid, title, head_message_id, active_message_id, created_at, updated_at \
     FROM conversations c \
     WHERE user_id = ? AND (updated_at < ? OR (updated_at = ? AND id < ?)) \
     AND (LOWER(title) LIKE ? ESCAPE '!' OR title LIKE ? ESCAPE '!' OR EXISTS (\
         SELECT 1 FROM messages m WHERE m.conversation_id = c.id \
         AND (LOWER(m.content) LIKE ? ESCAPE '!' OR m.content LIKE ? ESCAPE '!'))) \
     ORDER BY updated_at DESC, id DESC LIMIT ?";

const RENAME: &str = "UPDATE conversations SET title = ? WHERE uuid = ? AND user_id = ?";

const FIND_TITLE: &str = "SELECT title FROM conversations WHERE id = ?";

const REPLACE_TITLE: &str = "UPDATE conversations SET title = ? WHERE id = ? AND title = ?";

const SELECT_HEAD: &str = "UPDATE conversations SET head_message_id = ? WHERE id = ? AND active_message_id IS NULL";

const DELETE: &str = "DELETE FROM conversations WHERE uuid = ? AND user_id = ?";

/// The title of a conversation that nobody named and nobody wrote in.
pub(crate) const UNTITLED: &str = "New conversation";

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

/// Makes an empty conversation.
pub(crate) async fn create_conversation(db: &Database, user: UserId, uuid: Uuid, title: &str) -> sqlx::Result<()> {
    let now = now();
    on_db!(db, |pool| {
        sqlx::query(CREATE)
            .bind(uuid.to_string())
            .bind(user)
            .bind(title)
            .bind(now)
            .bind(now)
            .execute(pool)
            .await
            .map(|_| ())
    })
}

/// A user's conversation. Somebody else's is as absent as one that never was.
pub(crate) async fn find_conversation(
    db: &Database,
    user: UserId,
    uuid: Uuid,
) -> sqlx::Result<Option<ConversationRow>> {
    on_db!(db, |pool| sqlx::query_as(FIND).bind(uuid.to_string()).bind(user).fetch_optional(pool).await)
}

/// At most `limit` conversations after `place` whose title or text contains `search`, newest first.
pub(crate) async fn list_conversations(
    db: &Database,
    user: UserId,
    search: &str,
    place: ListPlace,
    limit: u32,
) -> sqlx::Result<Vec<ConversationRow>> {
    // SQLite's LOWER knows ASCII only, so what it leaves alone is looked for as it was typed.
    let (lower, typed) = (containing(&search.to_lowercase()), containing(search));
    on_db!(db, |pool| {
        sqlx::query_as(LIST)
            .bind(user)
            .bind(place.updated_at)
            .bind(place.updated_at)
            .bind(place.id)
            .bind(&lower)
            .bind(&typed)
            .bind(&lower)
            .bind(&typed)
            .bind(limit)
            .fetch_all(pool)
            .await
    })
}

/// A LIKE pattern for what contains `text`, its wildcards taken literally.
fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    if !text.is_empty() {
        pattern.push('%');
    }
    pattern
}

/// Gives a conversation another title. False when there is none.
pub(crate) async fn rename_conversation(db: &Database, user: UserId, uuid: Uuid, title: &str) -> sqlx::Result<bool> {
    on_db!(db, |pool| {
        let done = sqlx::query(RENAME).bind(title).bind(uuid.to_string()).bind(user).execute(pool).await?;
        Ok(done.rows_affected() == 1)
    })
}

/// The title of a conversation.
pub(crate) async fn find_title(db: &Database, id: ConversationId) -> sqlx::Result<Option<String>> {
    on_db!(db, |pool| sqlx::query_scalar(FIND_TITLE).bind(id).fetch_optional(pool).await)
}

/// Gives a conversation the title `new` if it still has the title `old`. False when it has not.
pub(crate) async fn replace_title(db: &Database, id: ConversationId, old: &str, new: &str) -> sqlx::Result<bool> {
    on_db!(db, |pool| {
        let done = sqlx::query(REPLACE_TITLE).bind(new).bind(id).bind(old).execute(pool).await?;
        Ok(done.rows_affected() == 1)
    })
}

/// Has the branch shown that ends in `head`. False while a turn runs.
pub(crate) async fn select_head(db: &Database, id: ConversationId, head: MessageId) -> sqlx::Result<bool> {
    on_db!(db, |pool| {
        let done = sqlx::query(SELECT_HEAD).bind(head).bind(id).execute(pool).await?;
        Ok(done.rows_affected() == 1)
    })
}

/// Deletes a conversation with everything in it. False when there is none.
pub(crate) async fn delete_conversation(db: &Database, user: UserId, uuid: Uuid) -> sqlx::Result<bool> {
    on_db!(db, |pool| {
        let done = sqlx::query(DELETE).bind(uuid.to_string()).bind(user).execute(pool).await?;
        Ok(done.rows_affected() == 1)
    })
}
