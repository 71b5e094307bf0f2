//! SQL for the rows of `audit_log` that users can see: access to their data, with the reason, and changes to their
//! account.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, now, select};
use tallybook_protocol::first_chars;

/// Owner in access records that concern all users. No user has this ID.
pub(crate) const ALL_USERS: UserId = UserId(0);

/// Length of `audit_log.subject`, in characters.
const MAX_SUBJECT_CHARS: usize = 200;

/// The columns of an [`AccessRow`], from `audit_log a` and the actor `u`.
macro_rules! access_columns {
    () => {
        "a.id, u.name, a.action, a.subject, a.reason, a.created_at"
    };
}

/// A recorded action. Its name is stored and shown to users and API clients, so it must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The actor gave a reason before an access.
    ReasonGiven,
    CallOpened,
    ConversationOpened,
    CallsSearched,
    CallsExported,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::ReasonGiven => "reason_given",
            Self::CallOpened => "call_opened",
            Self::ConversationOpened => "conversation_opened",
            Self::CallsSearched => "calls_searched",
            Self::CallsExported => "calls_exported",
        }
    }
}

/// The reason for an access, and the time it was given.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ReasonRow {
    pub(crate) reason: String,
    created_at: DateTime<Utc>,
}

/// A record of the access log.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct AccessRow {
    pub(crate) id: i64,
    pub(crate) name: Option<String>,
    pub(crate) action: String,
    pub(crate) subject: String,
    pub(crate) reason: Option<String>,
    pub(crate) created_at: DateTime<Utc>,
}

/// Records an action on the data of `owner`.
pub(crate) async fn create(
    db: &Database,
    actor: UserId,
    owner: UserId,
    action: Action,
    subject: &str,
    reason: &str,
) -> sqlx::Result<()> {
    let query = db
        .writer()
        .query(
            "INSERT INTO audit_log (actor_id, user_id, action, subject, reason, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(actor)
        .bind(owner)
        .bind(action.as_str())
        .bind(stored(subject));
    query.bind(reason).bind(now()).execute().await.map(|_| ())
}

/// Returns the newest reason that `actor` gave for the data of `owner` after `since`.
pub(crate) async fn find_reason(
    db: &Database,
    actor: UserId,
    owner: UserId,
    since: DateTime<Utc>,
) -> sqlx::Result<Option<ReasonRow>> {
    db.reader()
        .query(select!(
            "SELECT reason, created_at FROM audit_log WHERE user_id = ? AND created_at > ? \
             AND actor_id = ? AND action = 'reason_given' ORDER BY created_at DESC, id DESC LIMIT 1"
        ))
        .bind(owner)
        .bind(since)
        .bind(actor)
        .fetch_optional()
        .await
}

/// Returns the users among `owners` for whose data `actor` gave a reason after `since`.
pub(crate) async fn list_with_reason(
    db: &Database,
    actor: UserId,
    owners: &[UserId],
    since: DateTime<Utc>,
) -> sqlx::Result<Vec<UserId>> {
    let mut query = db
        .reader()
        .query(select!(
            "SELECT DISTINCT user_id FROM audit_log WHERE action = 'reason_given' AND actor_id = ? \
             AND created_at > ? AND user_id IN ("
        ))
        .bind(actor)
        .bind(since);
    query.push_list(owners.iter().copied()).push(")");
    query.fetch_values().await
}

/// Records an access, unless the same access was already recorded after the reason was given.
pub(crate) async fn create_once(
    db: &Database,
    actor: UserId,
    owner: UserId,
    action: Action,
    subject: &str,
    reason: &ReasonRow,
) -> sqlx::Result<()> {
    let count: i64 = db
        .reader()
        .query(select!(
            "SELECT COUNT(*) FROM audit_log WHERE user_id = ? AND created_at >= ? AND actor_id = ? \
             AND action = ? AND subject = ?"
        ))
        .bind(owner)
        .bind(reason.created_at)
        .bind(actor)
        .bind(action.as_str())
        .bind(stored(subject))
        .fetch_value()
        .await?;
    if count > 0 {
        return Ok(());
    }
    create(db, actor, owner, action, subject, &reason.reason).await
}

/// Lists other users' access to a user's data, and changes to the account that the user did not make. Access to all
/// users' data counts if it happened after the account was created. The order is newest first, starting after `before`.
pub(crate) async fn list(
    db: &Database,
    user: UserId,
    before: (DateTime<Utc>, i64),
    limit: u32,
) -> sqlx::Result<Vec<AccessRow>> {
    let query = db
        .reader()
        .query(select!(concat!(
            "SELECT ",
            access_columns!(),
            " FROM audit_log a LEFT JOIN users u ON u.id = a.actor_id JOIN users o ON o.id = ? \
             WHERE a.user_id IN (?, 0) AND a.created_at >= o.created_at AND ((a.actor_id <> ? \
             AND a.action IN ('call_opened', 'conversation_opened', 'calls_searched', 'calls_exported')) \
             OR ((a.actor_id IS NULL OR a.actor_id <> ?) AND a.user_id = o.id \
             AND a.action IN ('password_changed', 'identity_linked', 'identity_unlinked', 'key_revoked', \
             'keys_revoked') AND (a.actor_id IS NOT NULL OR a.action <> 'identity_linked'))) \
             AND (a.created_at < ? OR (a.created_at = ? AND a.id < ?)) \
             ORDER BY a.created_at DESC, a.id DESC LIMIT ?"
        )))
        .bind(user)
        .bind(user)
        .bind(user)
        .bind(user);
    query.bind(before.0).bind(before.0).bind(before.1).bind(limit).fetch_all().await
}

/// Lists the changes to a user's account that the user neither made nor acknowledged, newest first.
pub(crate) async fn list_unseen_changes(db: &Database, user: UserId, limit: u32) -> sqlx::Result<Vec<AccessRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            access_columns!(),
            " FROM users o JOIN audit_log a ON a.user_id = o.id LEFT JOIN users u ON u.id = a.actor_id \
             WHERE o.id = ? AND a.id > o.seen_look_id AND (a.actor_id IS NULL OR a.actor_id <> o.id) AND a.action IN \
             ('password_changed', 'identity_linked', 'identity_unlinked', 'key_revoked', 'keys_revoked') \
             AND (a.actor_id IS NOT NULL OR a.action <> 'identity_linked') ORDER BY a.id DESC LIMIT ?"
        )))
        .bind(user)
        .bind(limit)
        .fetch_all()
        .await
}

/// Marks a user's entries up to `id` as acknowledged. An `id` beyond the newest entry does not acknowledge future
/// entries.
pub(crate) async fn set_seen(db: &Database, user: UserId, id: i64) -> sqlx::Result<()> {
    let last: i64 = db
        .reader()
        .query(select!("SELECT COALESCE(MAX(id), 0) FROM audit_log WHERE user_id = ? AND id <= ?"))
        .bind(user)
        .bind(id)
        .fetch_value()
        .await?;
    db.writer()
        .query("UPDATE users SET seen_look_id = ? WHERE id = ? AND seen_look_id < ?")
        .bind(last)
        .bind(user)
        .bind(last)
        .execute()
        .await
        .map(|_| ())
}

/// Truncates a subject to the length of its column.
fn stored(subject: &str) -> &str {
    first_chars(subject, MAX_SUBJECT_CHARS)
}
