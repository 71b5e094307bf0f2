//! Who is asking. As yet there is one local user and no sign-in; sessions and roles will live here.

/// Row id of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct UserId(pub i64);

impl UserId {
    /// Whoever uses a server without sign-in; the first migration makes the row.
    pub const LOCAL: Self = Self(1);
}
