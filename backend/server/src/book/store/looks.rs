//! SQL on the rows of `audit_log` that users see: what admins looked at and why, and what they changed of accounts.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, now, select};

use crate::accounts::UserId;

/// Of whom a look is that is at everybody's: nobody has this key.
pub(in crate::book) const EVERYBODY: UserId = UserId(0);

/// Characters of `audit_log.subject`.
const MAX_SUBJECT_CHARS: usize = 200;

const CREATE: &str =
    "INSERT INTO audit_log (actor_id, user_id, action, subject, reason, created_at) VALUES (?, ?, ?, ?, ?, ?)";

const FIND_REASON: &str = "SELECT reason, created_at FROM audit_log WHERE user_id = ? AND created_at > ? \
     AND actor_id = ? AND action = 'reason_given' ORDER BY created_at DESC, id DESC LIMIT 1";

const LIST_WITH_REASON: &str = "SELECT DISTINCT user_id FROM audit_log WHERE action = 'reason_given' AND actor_id = ? \
     AND created_at > ? AND user_id IN (";

const COUNT: &str = "SELECT COUNT(*) FROM audit_log WHERE user_id = ? AND created_at >= ? AND actor_id = ? \
     AND action = ? AND subject = ?";

const LIST: &str = "SELECT a.id, u.name, a.action, a.subject, a.reason, a.created_at \
     FROM audit_log a LEFT JOIN users u ON u.id = a.actor_id JOIN users o ON o.id = ? \
     WHERE a.user_id IN (?, 0) AND a.created_at >= o.created_at \
     AND ((a.actor_id <> ? AND a.action IN ('call_opened', 'conversation_opened', 'calls_searched', 'calls_exported')) \
     OR ((a.actor_id IS NULL OR a.actor_id <> ?) AND a.user_id = o.id AND a.action IN \
     ('password_changed', 'identity_linked', 'identity_unlinked', 'key_revoked', 'keys_revoked') \
     AND (a.actor_id IS NOT NULL OR a.action <> 'identity_linked'))) \
     AND (a.created_at < ? OR (a.created_at = ? AND a.id < ?)) ORDER BY a.created_at DESC, a.id DESC LIMIT ?";

const LIST_UNSEEN_CHANGES: &str = "SELECT a.id, u.name, a.action, a.subject, a.reason, a.created_at \
     FROM users o JOIN audit_log a ON a.user_id = o.id LEFT JOIN users u ON u.id = a.actor_id \
     WHERE o.id = ? AND a.id > o.seen_look_id AND (a.actor_id IS NULL OR a.actor_id <> o.id) AND a.action IN \
     ('password_changed', 'identity_linked', 'identity_unlinked', 'key_revoked', 'keys_revoked') \
     AND (a.actor_id IS NOT NULL OR a.action <> 'identity_linked') ORDER BY a.id DESC LIMIT ?";

const FIND_LAST_UNTIL: &str = "SELECT COALESCE(MAX(id), 0) FROM audit_log WHERE user_id = ? AND id <= ?";

const SET_SEEN: &str = "UPDATE users SET seen_look_id = ? WHERE id = ? AND seen_look_id < ?";

/// What was done. The words are read by people and programs, so they stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::book) enum Action {
    /// Said why, before looking.
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

/// Why somebody looks, and since when that is known.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::book) struct ReasonRow {
    pub(in crate::book) reason: String,
    created_at: DateTime<Utc>,
}

/// A look at what is somebody's.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::book) struct LookRow {
    pub(in crate::book) id: i64,
    pub(in crate::book) name: Option<String>,
    pub(in crate::book) action: String,
    pub(in crate::book) subject: String,
    pub(in crate::book) reason: Option<String>,
    pub(in crate::book) created_at: DateTime<Utc>,
}

/// Takes down what somebody did with what is `owner`'s.
pub(in crate::book) async fn create(
    db: &Database,
    actor: UserId,
    owner: UserId,
    action: Action,
    subject: &str,
    reason: &str,
) -> sqlx::Result<()> {
    let query = db.writer().query(CREATE).bind(actor).bind(owner).bind(action.as_str()).bind(stored(subject));
    query.bind(reason).bind(now()).execute().await.map(|_| ())
}

/// The reason that somebody gave for looking at what is `owner`'s, if that was after `since`.
pub(in crate::book) async fn find_reason(
    db: &Database,
    actor: UserId,
    owner: UserId,
    since: DateTime<Utc>,
) -> sqlx::Result<Option<ReasonRow>> {
    db.reader().query(select!(FIND_REASON)).bind(owner).bind(since).bind(actor).fetch_optional().await
}

/// Those of `owners` for whom `actor` gave a reason after `since`.
pub(in crate::book) async fn list_with_reason(
    db: &Database,
    actor: UserId,
    owners: &[UserId],
    since: DateTime<Utc>,
) -> sqlx::Result<Vec<UserId>> {
    let mut query = db.reader().query(select!(LIST_WITH_REASON)).bind(actor).bind(since);
    query.push_list(owners.iter().copied()).push(")");
    query.fetch_values().await
}

/// Takes down a look, once for each reason.
pub(in crate::book) async fn create_once(
    db: &Database,
    actor: UserId,
    owner: UserId,
    action: Action,
    subject: &str,
    reason: &ReasonRow,
) -> sqlx::Result<()> {
    let count: i64 = {
        let query = db.reader().query(select!(COUNT)).bind(owner).bind(reason.created_at).bind(actor);
        query.bind(action.as_str()).bind(stored(subject)).fetch_value().await
    }?;
    if count > 0 {
        return Ok(());
    }
    create(db, actor, owner, action, subject, &reason.reason).await
}

/// Lists other users' access to a user's data, including access to all users' data since the user exists, and other users'
/// changes of the account: newest first, after a place.
pub(in crate::book) async fn list(
    db: &Database,
    user: UserId,
    before: (DateTime<Utc>, i64),
    limit: u32,
) -> sqlx::Result<Vec<LookRow>> {
    let query = db.reader().query(select!(LIST)).bind(user).bind(user).bind(user).bind(user);
    query.bind(before.0).bind(before.0).bind(before.1).bind(limit).fetch_all().await
}

/// Lists other users' changes of a user's account that the user has not acknowledged, newest first.
pub(in crate::book) async fn list_unseen_changes(
    db: &Database,
    user: UserId,
    limit: u32,
) -> sqlx::Result<Vec<LookRow>> {
    db.reader().query(select!(LIST_UNSEEN_CHANGES)).bind(user).bind(limit).fetch_all().await
}

/// Marks a user's entries up to `id` as acknowledged. Later ids of the user's entries stay unacknowledged, however large `id` is.
pub(in crate::book) async fn set_seen(db: &Database, user: UserId, id: i64) -> sqlx::Result<()> {
    let last: i64 = db.reader().query(select!(FIND_LAST_UNTIL)).bind(user).bind(id).fetch_value().await?;
    db.writer().query(SET_SEEN).bind(last).bind(user).bind(last).execute().await.map(|_| ())
}

/// As much of a subject as its column takes.
fn stored(subject: &str) -> &str {
    subject.char_indices().nth(MAX_SUBJECT_CHARS).map_or(subject, |(end, _)| &subject[..end])
}
