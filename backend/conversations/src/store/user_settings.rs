//! SQL that reads the user settings that conversations need.

use std::collections::BTreeSet;

use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, select};

use crate::store::{rows::ConversationId, tool_switches};

/// Returns a user's name.
pub(crate) async fn find_name(db: &Database, user: UserId) -> sqlx::Result<String> {
    db.reader().query(select!("SELECT name FROM users WHERE id = ?")).bind(user).fetch_value().await
}

/// Settings of the user and the conversation that apply to a turn.
#[derive(Clone, Debug)]
pub(crate) struct TurnSettings {
    /// The user's instructions for all models; may be empty.
    pub instructions: String,
    /// Tools that are turned off in the conversation.
    pub disabled_tools: BTreeSet<String>,
}

/// Returns, within a transaction, the settings for a turn that begins or resumes.
pub(crate) async fn find_turn_settings(
    tx: &mut Transaction,
    user: UserId,
    conversation_id: ConversationId,
) -> sqlx::Result<TurnSettings> {
    let (instructions, disabled_tools): (String, Option<String>) = tx
        .query(
            "SELECT COALESCE(u.instructions, ''), c.disabled_tools \
             FROM users u LEFT JOIN conversations c ON c.id = ? WHERE u.id = ?",
        )
        .bind(conversation_id)
        .bind(user)
        .fetch_one()
        .await?;
    Ok(TurnSettings { instructions, disabled_tools: tool_switches::names(disabled_tools) })
}
