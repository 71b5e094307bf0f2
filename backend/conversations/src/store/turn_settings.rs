//! SQL for the settings of a user and a conversation that apply to a turn, and for the tools that are turned off in a
//! conversation (`conversations.disabled_tools`).

use std::collections::BTreeSet;

use tallybook_database::{Database, Transaction, select};

use crate::store::rows::ConversationId;

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
        Self { instructions, disabled_tools: parse_disabled_tools(disabled_tools), has_documents }
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

const FIND: &str = "SELECT disabled_tools FROM conversations WHERE id = ?";

/// Returns the names of the tools that are turned off in a conversation; none if it has just been deleted.
pub(crate) async fn find_disabled_tools(db: &Database, id: ConversationId) -> sqlx::Result<BTreeSet<String>> {
    let column: Option<Option<String>> = db.reader().query(select!(FIND)).bind(id).fetch_optional_value().await?;
    Ok(parse_disabled_tools(column.flatten()))
}

/// Returns these names, and locks them against changes until the transaction ends.
pub(crate) async fn lock_disabled_tools(tx: &mut Transaction, id: ConversationId) -> sqlx::Result<BTreeSet<String>> {
    tx.query("UPDATE conversations SET disabled_tools = disabled_tools WHERE id = ?").bind(id).execute().await?;
    let column: Option<Option<String>> = tx.query(FIND).bind(id).fetch_optional_value().await?;
    Ok(parse_disabled_tools(column.flatten()))
}

/// Turns off exactly these tools.
pub(crate) async fn set_disabled_tools(
    tx: &mut Transaction,
    id: ConversationId,
    names: &BTreeSet<String>,
) -> sqlx::Result<()> {
    let column = disabled_tools_column(names);
    tx.query("UPDATE conversations SET disabled_tools = ? WHERE id = ?")
        .bind(column)
        .bind(id)
        .execute()
        .await
        .map(|_| ())
}

/// Returns the value of the column.
pub(crate) fn disabled_tools_column(names: &BTreeSet<String>) -> Option<String> {
    // A list of strings always serializes.
    (!names.is_empty()).then(|| serde_json::to_string(names).unwrap_or_default())
}

/// Parses the value of the column.
fn parse_disabled_tools(column: Option<String>) -> BTreeSet<String> {
    column.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default()
}
