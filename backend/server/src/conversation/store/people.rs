//! SQL on what conversations need to know of their owners.

use crate::{
    accounts::UserId,
    db::{Database, on_db},
};

const FIND_NAME: &str = "SELECT name FROM users WHERE id = ?";

const FIND_INSTRUCTIONS: &str = "SELECT COALESCE(instructions, '') FROM users WHERE id = ?";

/// What a person is called.
pub(crate) async fn find_name(db: &Database, user: UserId) -> sqlx::Result<String> {
    on_db!(db, |pool| sqlx::query_scalar(FIND_NAME).bind(user).fetch_one(pool).await)
}

/// What a person tells every model; empty where that is nothing.
pub(crate) async fn find_instructions(db: &Database, user: UserId) -> sqlx::Result<String> {
    on_db!(db, |pool| sqlx::query_scalar(FIND_INSTRUCTIONS).bind(user).fetch_one(pool).await)
}
