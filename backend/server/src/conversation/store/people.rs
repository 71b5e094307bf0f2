//! SQL on what conversations need to know of their owners.

use std::collections::BTreeSet;
use tallybook_database::{Database, Transaction, select};

use super::{rows::ConversationId, tool_switches};
use crate::accounts::UserId;

const FIND_NAME: &str = "SELECT name FROM users WHERE id = ?";

const FIND_TURN_SETTINGS: &str = "SELECT COALESCE(u.instructions, ''), c.disabled_tools \
     FROM users u LEFT JOIN conversations c ON c.id = ? WHERE u.id = ?";

/// What a person is called.
pub(crate) async fn find_name(db: &Database, user: UserId) -> sqlx::Result<String> {
    db.reader().query(select!(FIND_NAME)).bind(user).fetch_value().await
}

/// What people have set that counts for a turn.
#[derive(Clone, Debug)]
pub(crate) struct TurnSettings {
    /// What its person tells every model; empty where that is nothing.
    pub(crate) instructions: String,
    /// The tools that are turned off in its conversation.
    pub(crate) disabled_tools: BTreeSet<String>,
}

/// What counts for a turn that begins, or goes on, in a transaction.
pub(crate) async fn find_turn_settings(
    tx: &mut Transaction,
    user: UserId,
    conversation_id: ConversationId,
) -> sqlx::Result<TurnSettings> {
    let (instructions, disabled_tools): (String, Option<String>) =
        { tx.query(FIND_TURN_SETTINGS).bind(conversation_id).bind(user).fetch_one().await }?;
    Ok(TurnSettings { instructions, disabled_tools: tool_switches::names(disabled_tools) })
}
