//! The authenticated caller of a request: user, role and credential.

use std::sync::Arc;

use tallybook_protocol::UserRole;

/// Row ID of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, sqlx::Type)]
#[serde(transparent)]
#[sqlx(transparent)]
pub struct UserId(pub i64);

impl UserId {
    /// User of a server without accounts. The first migration creates the row; the first admin's account claims it.
    pub const LOCAL: Self = Self(1);
}

/// Credential with which a caller is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    /// No credential: the server has no accounts.
    Local,
    /// A browser session with this row ID.
    Session(i64),
    /// An API key with this row ID.
    Key(i64),
}

/// The caller of a request, as authenticated at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user on whose behalf the request is made.
    pub user: UserId,
    /// User name; `None` if the server has no accounts.
    pub name: Option<Arc<str>>,
    /// Role of the user, which determines the permissions.
    pub role: UserRole,
    /// Credential of the request.
    pub credential: Credential,
    /// Generation of the user's permissions. A change of role or activation, a password reset by an admin, and a
    /// deletion increase it. Open streams of older generations then end.
    pub(crate) generation: i32,
}

impl Caller {
    /// Returns the caller on a server without accounts: the local user, as an admin.
    pub fn local() -> Self {
        let (user, role) = (UserId::LOCAL, UserRole::Admin);
        Self { user, name: None, role, credential: Credential::Local, generation: 0 }
    }
}
