//! SQL on `audit_log`. Rows are added and never changed.

use super::super::UserId;
use crate::db::{Transaction, now, on_tx};

const CREATE: &str = "INSERT INTO audit_log (actor_id, user_id, action, subject, created_at) VALUES (?, ?, ?, ?, ?)";

/// What was done to a person. The words are read by admins and by programs, so they stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::accounts) enum Action {
    UserCreated,
    RoleChanged,
    UserDeactivated,
    UserReactivated,
    AccountDeleted,
    PasswordChanged,
    SignedIn,
    SignedOutEverywhere,
    KeyCreated,
    KeyRevoked,
    InvitationCreated,
    IdentityLinked,
    IdentityUnlinked,
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
            Self::SignedOutEverywhere => "signed_out_everywhere",
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::InvitationCreated => "invitation_created",
            Self::IdentityLinked => "identity_linked",
            Self::IdentityUnlinked => "identity_unlinked",
        }
    }
}

/// Notes what `actor`, or nobody who has an account, did to a person, together with what it was done with.
pub(in crate::accounts) async fn note(
    tx: &mut Transaction,
    actor: Option<UserId>,
    user: UserId,
    action: Action,
    subject: &str,
) -> sqlx::Result<()> {
    on_tx!(tx, |connection| {
        let query = sqlx::query(CREATE).bind(actor).bind(user).bind(action.as_str()).bind(subject);
        query.bind(now()).execute(connection).await.map(|_| ())
    })
}
