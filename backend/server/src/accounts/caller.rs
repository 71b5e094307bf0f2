//! Who asks.

use std::sync::Arc;

use tallybook_protocol::UserRole;

/// Row id of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, sqlx::Type)]
#[serde(transparent)]
#[sqlx(transparent)]
pub struct UserId(pub i64);

impl UserId {
    /// Whoever uses a server without sign-in; the first migration makes the row, and the first admin takes it over.
    pub const LOCAL: Self = Self(1);
}

/// By what somebody is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    /// By nothing: the server has no accounts.
    Local,
    /// By the session of a browser, with this row id.
    Session(i64),
    /// By the key of a program, with this row id.
    Key(i64),
}

/// Who asks, as of the beginning of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whose conversations these are.
    pub user: UserId,
    /// What the person signs in with; `None` where the server has no accounts.
    pub name: Option<Arc<str>>,
    /// What the person may do.
    pub role: UserRole,
    /// By what the person is known.
    pub credential: Credential,
    /// The generation of the person's rights.
    pub(super) generation: i32,
}

impl Caller {
    /// The one owner of a server without accounts, who may do everything.
    pub fn local() -> Self {
        let (user, role) = (UserId::LOCAL, UserRole::Admin);
        Self { user, name: None, role, credential: Credential::Local, generation: 0 }
    }
}
