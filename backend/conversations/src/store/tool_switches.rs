//! SQL for the tools that are turned off in a conversation (`conversations.disabled_tools`).

use std::collections::BTreeSet;

use tallybook_database::{Database, Transaction, select};

use crate::store::rows::ConversationId;

const FIND: &str = "SELECT disabled_tools FROM conversations WHERE id = ?";

const SET: &str = "UPDATE conversations SET disabled_tools = ? WHERE id = ?";

/// Returns the names of the tools that are turned off in a conversation; none if it has just been deleted.
pub(crate) async fn find_disabled_tools(db: &Database, id: ConversationId) -> sqlx::Result<BTreeSet<String>> {
    let column: Option<Option<String>> = db.reader().query(select!(FIND)).bind(id).fetch_optional_value().await?;
    Ok(names(column.flatten()))
}

/// Returns these names, and locks them against changes until the transaction ends.
pub(crate) async fn lock_disabled_tools(tx: &mut Transaction, id: ConversationId) -> sqlx::Result<BTreeSet<String>> {
    tx.query("UPDATE conversations SET disabled_tools = disabled_tools WHERE id = ?").bind(id).execute().await?;
    let column: Option<Option<String>> = tx.query(FIND).bind(id).fetch_optional_value().await?;
    Ok(names(column.flatten()))
}

/// Turns off exactly these tools.
pub(crate) async fn set_disabled_tools(
    tx: &mut Transaction,
    id: ConversationId,
    names: &BTreeSet<String>,
) -> sqlx::Result<()> {
    let column = disabled_tools_column(names);
    tx.query(SET).bind(column).bind(id).execute().await.map(|_| ())
}

/// Returns the value of the column.
pub(crate) fn disabled_tools_column(names: &BTreeSet<String>) -> Option<String> {
    // A list of strings always serializes.
    (!names.is_empty()).then(|| serde_json::to_string(names).unwrap_or_default())
}

/// Parses the value of the column.
pub(crate) fn names(column: Option<String>) -> BTreeSet<String> {
    column.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default()
}
