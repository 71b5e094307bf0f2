//! SQL on what conversations need to know of their owners.

use std::collections::BTreeSet;

use super::{rows::ConversationId, tool_switches};
use crate::{
    accounts::UserId,
    db::{Database, on_db},
};

const FIND_NAME: &str = "SELECT name FROM users WHERE id = ?";

const FIND_TURN_SETTINGS: &str = "SELECT COALESCE(u.instructions, ''), c.disabled_tools \
     FROM users u LEFT JOIN conversations c ON c.id = ? WHERE u.id = ?";

/// What a person is called.
pub(crate) async fn find_name(db: &Database, user: UserId) -> sqlx::Result<String> {
    on_db!(db, |pool| sqlx::query_scalar(FIND_NAME).bind(user).fetch_one(pool).await)
}

/// What a person tells every model, which is empty where that is nothing, and the tools that are turned off in a conversation.
pub(crate) async fn find_turn_settings(
    db: &Database,
    user: UserId,
    conversation_id: ConversationId,
) -> sqlx::Result<(String, BTreeSet<String>)> {
    let (instructions, disabled_tools): (String, Option<String>) = on_db!(db, |pool| {
        sqlx::query_as(FIND_TURN_SETTINGS).bind(conversation_id).bind(user).fetch_one(pool).await
    })?;
    Ok((instructions, tool_switches::names(disabled_tools)))
}
