//! SQL of accounts, one module per table. The rules and transactions of each operation are in the modules of
//! `Accounts`.

pub(crate) mod attempts;
pub(crate) mod audit;
pub(crate) mod budgets;
pub(crate) mod erasure;
pub(crate) mod groups;
pub(crate) mod identities;
pub(crate) mod keys;
pub(crate) mod known_browsers;
pub(crate) mod links;
pub(crate) mod sessions;
pub(crate) mod users;

use tallybook_protocol::UserRole;

use super::{Caller, Credential, UserId};

/// The user of a session or an API key.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct CallerRow {
    /// Row ID of the session or the API key.
    pub(crate) id: i64,
    pub(crate) user_id: UserId,
    pub(crate) name: String,
    #[sqlx(try_from = "String")]
    pub(crate) role: UserRole,
    pub(crate) generation: i32,
    /// Time of the last use of the session or API key, exact to
    /// [`LAST_USED_RESOLUTION`](super::limits::LAST_USED_RESOLUTION).
    pub(crate) seen_at: Option<chrono::DateTime<chrono::Utc>>,
    /// Time when the session or API key was created.
    pub(crate) created_at: chrono::DateTime<chrono::Utc>,
}

impl CallerRow {
    pub(crate) fn into_caller(self, credential: Credential) -> Caller {
        let Self { user_id: user, name, role, generation, .. } = self;
        Caller { user, name: Some(name.into()), role, credential, generation }
    }
}
