//! SQL that writes down with each call what it is found by: whose it is, and which model asked for it.

use std::collections::BTreeMap;

use sqlx::QueryBuilder;

use crate::db::{Database, on_db, write_db};

/// Calls of which that is written down at once.
pub(in crate::book) const CALLS_AT_ONCE: usize = 500;

// Reads without locks, unlike an UPDATE that looks the same up itself.
const LIST_UNKNOWN: &str = "SELECT t.id, c.user_id, c.id AS conversation_id, COALESCE(m.model, k.model, '') AS model \
     FROM tool_calls t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
     LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer' \
     WHERE t.user_id IS NULL ORDER BY t.started_at, t.id LIMIT ?";

/// Writes it down of some calls. Gives how many those were.
pub(in crate::book) async fn complete(db: &Database) -> sqlx::Result<usize> {
    let limit = i64::try_from(CALLS_AT_ONCE).unwrap_or(i64::MAX);
    let rows: Vec<(i64, i64, i64, String)> =
        on_db!(db, |pool| sqlx::query_as(LIST_UNKNOWN).bind(limit).fetch_all(pool).await)?;
    let mut calls_of: BTreeMap<(i64, i64, &str), Vec<i64>> = BTreeMap::new();
    for (id, user, conversation, model) in &rows {
        calls_of.entry((*user, *conversation, model)).or_default().push(*id);
    }
    for ((user, conversation, model), ids) in calls_of {
        write_db!(db, |pool| {
            let mut query = QueryBuilder::new("UPDATE tool_calls SET user_id = ");
            query.push_bind(user).push(", conversation_id = ").push_bind(conversation);
            query.push(", model = ").push_bind(model.to_owned()).push(" WHERE id IN (");
            let mut list = query.separated(", ");
            for id in &ids {
                list.push_bind(*id);
            }
            query.push(")");
            query.build().execute(pool).await.map(|_| ())
        })?;
    }
    Ok(rows.len())
}
