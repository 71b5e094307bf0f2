//! SQL on `audit_log`. Rows are added and never changed, except that an erasure replaces the user's name.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tallybook_database::{COMMAND_TIMEOUT, Database, Transaction, now, select};
use tallybook_protocol::first_chars;

use super::super::UserId;

const CREATE: &str = "INSERT INTO audit_log (actor_id, user_id, action, subject, created_at) VALUES (?, ?, ?, ?, ?)";

/// Maximum length of a subject, in characters: the width of its column.
const MAX_SUBJECT_CHARS: usize = 200;

/// Maximum length of a value before or after a change, as JSON, in bytes. It has room for 1,000 budgets.
const MAX_VALUE_BYTES: usize = 256 * 1024;

/// Maximum number of rows that one statement reads or adds.
const ROWS_AT_ONCE: u32 = 500;

/// A row with texts that admins wrote: the reason for an access, and the filter of a search or an export.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct MentionRow {
    pub(crate) id: i64,
    pub(crate) subject: String,
    pub(crate) reason: String,
}

/// An action in the audit log. The stored names are stable, since admins and external tools query them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An account was created.
    UserCreated,
    /// The account's role was changed.
    RoleChanged,
    /// The account was deactivated.
    UserDeactivated,
    /// The account was reactivated.
    UserReactivated,
    /// The account was deleted.
    AccountDeleted,
    /// The account was erased by the operator, with all its data.
    AccountErased,
    /// The account's password was changed.
    PasswordChanged,
    /// The user signed in.
    SignedIn,
    /// A sign-in failed.
    SignInFailed,
    /// A request without permission was refused.
    RequestRefused,
    /// All of the account's sessions were ended.
    SignedOutEverywhere,
    /// One of the account's sessions was ended by its user.
    SessionEnded,
    /// An API key was created.
    KeyCreated,
    /// An API key was revoked.
    KeyRevoked,
    /// All of the account's API keys were revoked.
    KeysRevoked,
    /// An invitation was created.
    InvitationCreated,
    /// An invitation was revoked.
    InvitationRevoked,
    /// An identity of an identity provider was linked.
    IdentityLinked,
    /// A linked identity was removed.
    IdentityUnlinked,
    /// A conversation was shared by a link.
    ConversationShared,
    /// A link to a shared conversation was revoked.
    ShareRevoked,
    /// A tool's current definition was accepted.
    ToolAccepted,
    /// A group was created.
    GroupCreated,
    /// The name or the grants of a group were changed.
    GroupChanged,
    /// A group was deleted.
    GroupDeleted,
    /// An admin added the user to a group.
    GroupJoined,
    /// An admin removed the user from a group.
    GroupLeft,
    /// The identity provider set the user's groups.
    GroupsSynced,
    /// A model was added in the page.
    ModelAdded,
    /// The budgets were replaced.
    BudgetsChanged,
    /// Settings of the server were changed.
    SettingsChanged,
    /// The settings of an added model were changed.
    ModelChanged,
    /// An added model was removed.
    ModelRemoved,
    /// A tool server was added in the page.
    ToolServerAdded,
    /// The settings of an added tool server were changed.
    ToolServerChanged,
    /// An added tool server was removed.
    ToolServerRemoved,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::UserCreated => "user_created",
            Self::RoleChanged => "role_changed",
            Self::UserDeactivated => "user_deactivated",
            Self::UserReactivated => "user_reactivated",
            Self::AccountDeleted => "account_deleted",
            Self::AccountErased => "account_erased",
            Self::PasswordChanged => "password_changed",
            Self::SignedIn => "signed_in",
            Self::SignInFailed => "sign_in_failed",
            Self::RequestRefused => "request_refused",
            Self::SignedOutEverywhere => "signed_out_everywhere",
            Self::SessionEnded => "session_ended",
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::KeysRevoked => "keys_revoked",
            Self::InvitationCreated => "invitation_created",
            Self::InvitationRevoked => "invitation_revoked",
            Self::IdentityLinked => "identity_linked",
            Self::IdentityUnlinked => "identity_unlinked",
            Self::ConversationShared => "conversation_shared",
            Self::ShareRevoked => "share_revoked",
            Self::ToolAccepted => "tool_accepted",
            Self::GroupCreated => "group_created",
            Self::GroupChanged => "group_changed",
            Self::GroupDeleted => "group_deleted",
            Self::GroupJoined => "group_joined",
            Self::GroupLeft => "group_left",
            Self::GroupsSynced => "groups_synced",
            Self::ModelAdded => "model_added",
            Self::BudgetsChanged => "budgets_changed",
            Self::SettingsChanged => "settings_changed",
            Self::ModelChanged => "model_changed",
            Self::ModelRemoved => "model_removed",
            Self::ToolServerAdded => "tool_server_added",
            Self::ToolServerChanged => "tool_server_changed",
            Self::ToolServerRemoved => "tool_server_removed",
        }
    }
}

/// Adds a row: `actor` performed `action` on the account of `user`. `actor` is `None` if the action was not performed
/// by an account. `subject` is a detail of the action, such as a key's prefix, a role or an IP address; it is shortened
/// to the width of its column.
pub async fn note(
    tx: &mut Transaction,
    actor: Option<UserId>,
    user: UserId,
    action: Action,
    subject: &str,
) -> sqlx::Result<()> {
    let subject = first_chars(subject, MAX_SUBJECT_CHARS);
    let query = tx.query(CREATE).bind(actor).bind(user).bind(action.as_str()).bind(subject);
    query.bind(now()).execute().await.map(|_| ())
}

/// Adds a row about a change by `actor`, like [`note`], with the values before and after. `None` is the value before a
/// creation or after a deletion. The values must not contain secrets. In place of one that is too long, its length is
/// stored.
pub async fn note_change(
    tx: &mut Transaction,
    actor: UserId,
    action: Action,
    subject: &str,
    before: Option<&Value>,
    after: Option<&Value>,
) -> sqlx::Result<()> {
    let query = tx
        .query(
            "INSERT INTO audit_log (actor_id, user_id, action, subject, before_value, after_value, created_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(actor)
        .bind(actor)
        .bind(action.as_str())
        .bind(first_chars(subject, MAX_SUBJECT_CHARS))
        .bind(before.map(stored_value))
        .bind(after.map(stored_value));
    query.bind(now()).execute().await.map(|_| ())
}

fn stored_value(value: &Value) -> String {
    let text = value.to_string();
    if text.len() > MAX_VALUE_BYTES { json!({"omitted_bytes": text.len()}).to_string() } else { text }
}

/// Adds a row for each of `users`, like [`note`].
pub async fn note_of_users(
    tx: &mut Transaction,
    actor: UserId,
    users: &[UserId],
    action: Action,
    subject: &str,
) -> sqlx::Result<()> {
    let (subject, time) = (first_chars(subject, MAX_SUBJECT_CHARS), now());
    for users in users.chunks(ROWS_AT_ONCE as usize) {
        let mut insert = tx.query("INSERT INTO audit_log (actor_id, user_id, action, subject, created_at) VALUES ");
        insert.push_rows(users, |row, user| {
            row.push(actor).push(*user).push(action.as_str()).push(subject).push(time);
        });
        insert.execute().await?;
    }
    Ok(())
}

/// Adds a row about `user`, unless an equal row was added since `since`, or `most` rows of the action were. The limits
/// keep clients from filling the table.
pub(crate) async fn note_rarely(
    db: &Database,
    actor: Option<UserId>,
    user: UserId,
    action: Action,
    subject: &str,
    (since, most): (DateTime<Utc>, i64),
) -> sqlx::Result<()> {
    let action = action.as_str();
    let same: i64 = db
        .reader()
        .query(select!(
            "SELECT COUNT(*) FROM audit_log WHERE user_id = ? AND created_at >= ? AND action = ? AND subject = ?"
        ))
        .bind(user)
        .bind(since)
        .bind(action)
        .bind(subject)
        .fetch_value()
        .await?;
    if same > 0 {
        return Ok(());
    }
    let all: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM audit_log WHERE created_at >= ? AND action = ?"))
        .bind(since)
        .bind(action)
        .fetch_value()
        .await?;
    if all >= most {
        return Ok(());
    }
    let query = db.writer().query(CREATE).bind(actor).bind(user).bind(action).bind(subject);
    query.bind(now()).execute().await.map(|_| ())
}

/// Lists some rows with a reason, in the order of their IDs, after the row `last`.
pub(crate) async fn list_with_reason(db: &Database, last: i64) -> sqlx::Result<Vec<MentionRow>> {
    db.reader()
        .query(select!(
            "SELECT id, subject, reason FROM audit_log WHERE id > ? AND reason IS NOT NULL ORDER BY id LIMIT ?"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .bind(last)
        .bind(ROWS_AT_ONCE)
        .fetch_all()
        .await
}

/// Replaces the texts of a row in which the name of an erased user was replaced.
pub(crate) async fn replace_mentions(db: &Database, id: i64, subject: &str, reason: &str) -> sqlx::Result<()> {
    db.writer()
        .query("UPDATE audit_log SET subject = ?, reason = ? WHERE id = ?")
        .bind(first_chars(subject, MAX_SUBJECT_CHARS))
        .bind(reason)
        .bind(id)
        .execute()
        .await
        .map(|_| ())
}
