//! The SQL of accounts, by table. It knows no rule but those that a statement keeps: each use case and its transaction
//! stands with its subject.

pub(super) mod attempts;
pub(super) mod audit;
pub(super) mod identities;
pub(super) mod keys;
pub(super) mod known_browsers;
pub(super) mod links;
pub(super) mod sessions;
pub(super) mod users;

use sqlx::error::DatabaseError;
use tallybook_protocol::UserRole;

use super::{Caller, Credential, UserId};

/// Whether a row was refused because there is one of its kind.
pub(super) fn is_taken(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(DatabaseError::is_unique_violation)
}

/// Whoever a session or a key stands for.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct CallerRow {
    /// Of the session or the key.
    pub(super) id: i64,
    pub(super) user_id: UserId,
    pub(super) name: String,
    #[sqlx(try_from = "String")]
    pub(super) role: UserRole,
    pub(super) generation: i32,
    /// When the session or the key was last used, as far as is known.
    pub(super) seen_at: Option<chrono::DateTime<chrono::Utc>>,
    /// When the session or the key was made.
    pub(super) created_at: chrono::DateTime<chrono::Utc>,
}

impl CallerRow {
    pub(super) fn into_caller(self, credential: Credential) -> Caller {
        let Self { user_id: user, name, role, generation, .. } = self;
        Caller { user, name: Some(name.into()), role, credential, generation }
    }
}
