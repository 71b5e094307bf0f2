//! SQL on `audit_log`. Rows are added and never changed.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};

use super::super::UserId;

const CREATE: &str = "INSERT INTO audit_log (actor_id, user_id, action, subject, created_at) VALUES (?, ?, ?, ?, ?)";

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
    /// A tool's current definition was accepted.
    ToolAccepted,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::UserCreated => "user_created",
            Self::RoleChanged => "role_changed",
            Self::UserDeactivated => "user_deactivated",
            Self::UserReactivated => "user_reactivated",
            Self::AccountDeleted => "account_deleted",
            Self::PasswordChanged => "password_changed",
            Self::SignedIn => "signed_in",
            Self::SignInFailed => "sign_in_failed",
            Self::RequestRefused => "request_refused",
            Self::SignedOutEverywhere => "signed_out_everywhere",
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::KeysRevoked => "keys_revoked",
            Self::InvitationCreated => "invitation_created",
            Self::InvitationRevoked => "invitation_revoked",
            Self::IdentityLinked => "identity_linked",
            Self::IdentityUnlinked => "identity_unlinked",
            Self::ConversationShared => "conversation_shared",
            Self::ToolAccepted => "tool_accepted",
        }
    }
}

/// Adds a row: `actor` performed `action` on the account of `user`. `actor` is `None` if the action was not performed
/// by an account. `subject` is a detail of the action, such as a key's prefix, a role or an IP address.
pub async fn note(
    tx: &mut Transaction,
    actor: Option<UserId>,
    user: UserId,
    action: Action,
    subject: &str,
) -> sqlx::Result<()> {
    let query = tx.query(CREATE).bind(actor).bind(user).bind(action.as_str()).bind(subject);
    query.bind(now()).execute().await.map(|_| ())
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
