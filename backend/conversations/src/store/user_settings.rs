//! SQL that reads the user settings that conversations need.

use std::collections::BTreeSet;

use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, select};

use crate::store::{rows::ConversationId, tool_switches};

/// Returns a user's name.
pub(crate) async fn find_name(db: &Database, user: UserId) -> sqlx::Result<String> {
    db.reader().query(select!("SELECT name FROM users WHERE id = ?")).bind(user).fetch_value().await
}

/// Settings of the user and the conversation that apply to a turn, and whether the conversation has documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnSettings {
    /// The user's instructions for all models; may be empty.
    pub instructions: String,
    /// Tools that are turned off in the conversation.
    pub disabled_tools: BTreeSet<String>,
    /// `true` if the conversation has files with text, which the model can read.
    pub has_documents: bool,
}

/// The columns of [`TurnSettings`].
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct TurnSettingsRow {
    instructions: String,
    disabled_tools: Option<String>,
    has_documents: bool,
}

impl From<TurnSettingsRow> for TurnSettings {
    fn from(row: TurnSettingsRow) -> Self {
        let TurnSettingsRow { instructions, disabled_tools, has_documents } = row;
        Self { instructions, disabled_tools: tool_switches::names(disabled_tools), has_documents }
    }
}

/// Columns of [`TurnSettingsRow`], for the tables `conversations c` and `users u`.
macro_rules! turn_settings_columns {
    () => {
        "COALESCE(u.instructions, '') AS instructions, c.disabled_tools, EXISTS (SELECT 1 FROM messages m \
         JOIN message_files x ON x.message_id = m.id JOIN files f ON f.id = x.file_id \
         WHERE m.conversation_id = c.id AND f.pages > 0) AS has_documents"
    };
}
pub(crate) use turn_settings_columns;

/// Returns, within a transaction, the settings for a turn that resumes. A turn that begins reads them with its
/// conversation.
pub(crate) async fn find_turn_settings(
    tx: &mut Transaction,
    conversation_id: ConversationId,
) -> sqlx::Result<TurnSettings> {
    tx.query(concat!(
        "SELECT ",
        turn_settings_columns!(),
        " FROM conversations c JOIN users u ON u.id = c.user_id WHERE c.id = ?"
    ))
    .bind(conversation_id)
    .fetch_one()
    .await
    .map(TurnSettingsRow::into)
}
