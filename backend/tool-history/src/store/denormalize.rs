//! SQL that denormalizes each call's user, conversation, and model onto `tool_calls`, for the indexes.

use std::collections::BTreeMap;

use tallybook_database::{Database, select};

/// Number of calls in a batch.
pub(crate) const CALLS_AT_ONCE: usize = 500;

/// Fills in the columns of a batch of calls. Returns the number of calls.
pub(crate) async fn complete(db: &Database) -> sqlx::Result<usize> {
    let limit = i64::try_from(CALLS_AT_ONCE).unwrap_or(i64::MAX);
    // A plain SELECT takes no locks, unlike an UPDATE with the same query inside.
    let rows: Vec<(i64, i64, i64, String)> = db
        .reader()
        .query(select!(
            "SELECT t.id, c.user_id, c.id AS conversation_id, COALESCE(m.model, k.model, '') AS model \
             FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             JOIN conversations c ON c.id = m.conversation_id LEFT \
             JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step \
             AND k.purpose = 'answer' WHERE t.user_id IS NULL ORDER BY t.started_at, t.id LIMIT ?"
        ))
        .bind(limit)
        .fetch_all()
        .await?;
    let mut calls_of: BTreeMap<(i64, i64, &str), Vec<i64>> = BTreeMap::new();
    for (id, user, conversation, model) in &rows {
        calls_of.entry((*user, *conversation, model)).or_default().push(*id);
    }
    for ((user, conversation, model), ids) in calls_of {
        let mut query =
            db.writer().query("UPDATE tool_calls SET user_id = ?, conversation_id = ?, model = ? WHERE id IN (");
        query = query.bind(user).bind(conversation).bind(model);
        query.push_list(ids).push(")");
        query.execute().await?;
    }
    Ok(rows.len())
}
