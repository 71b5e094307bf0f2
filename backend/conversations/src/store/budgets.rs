//! SQL that counts the usage of a budget. It reads rows that exist anyway.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, select};

/// Tokens and money that models used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Used {
    pub tokens: i64,
    pub cost_nanos: i64,
}

// An explanation of an answer does not change `updated_at` of its conversation.
const OF_USER: &str = "SELECT CAST(COALESCE(SUM(tokens), 0) AS SIGNED) AS tokens, \
     CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost_nanos FROM \
     (SELECT k.input_tokens + k.output_tokens AS tokens, k.cost_nanos AS cost \
     FROM conversations c JOIN messages m ON m.conversation_id = c.id JOIN model_calls k ON k.message_id = m.id \
     WHERE c.user_id = ? AND c.updated_at >= ? AND k.created_at >= ? \
     UNION ALL SELECT k.input_tokens + k.output_tokens, k.cost_nanos FROM model_calls k \
     JOIN messages m ON m.id = k.message_id JOIN conversations c ON c.id = m.conversation_id \
     WHERE k.created_at >= ? AND k.purpose = 'reasoning_summary' AND c.user_id = ? AND c.updated_at < ? \
     UNION ALL SELECT input_tokens + output_tokens, cost_nanos FROM plain_calls \
     WHERE user_id = ? AND created_at >= ?) AS calls";

const OF_ALL: &str = "SELECT CAST(COALESCE(SUM(tokens), 0) AS SIGNED) AS tokens, \
     CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost_nanos FROM \
     (SELECT input_tokens + output_tokens AS tokens, cost_nanos AS cost FROM model_calls WHERE created_at >= ? \
     UNION ALL SELECT input_tokens + output_tokens, cost_nanos FROM plain_calls WHERE created_at >= ?) AS calls";

/// Serializes transactions that check a budget of all users. In a database cluster, one of two that did so at the same
/// time fails and is retried.
pub(crate) async fn lock(tx: &mut Transaction) -> sqlx::Result<()> {
    tx.query("UPDATE budgets SET checks = checks + 1 WHERE principal = 'all'").execute().await.map(|_| ())
}

/// Returns what models have used since `since` for a user, or for all users, within a transaction. Calls of a turn that
/// began up to `longest_turn` before `since` count if they were made after it.
pub(crate) async fn sum_used(
    tx: &mut Transaction,
    user: Option<UserId>,
    since: DateTime<Utc>,
    longest_turn: Duration,
) -> sqlx::Result<Used> {
    let Some(user) = user else { return tx.query(OF_ALL).bind(since).bind(since).fetch_one().await };
    let touched = since - longest_turn;
    let query = tx.query(OF_USER).bind(user).bind(touched).bind(since).bind(since).bind(user).bind(touched);
    query.bind(user).bind(since).fetch_one().await
}

/// Like [`sum_used`], without a transaction.
pub(crate) async fn read_used(
    db: &Database,
    user: Option<UserId>,
    since: DateTime<Utc>,
    longest_turn: Duration,
) -> sqlx::Result<Used> {
    let Some(user) = user else {
        return db.reader().query(select!(OF_ALL)).bind(since).bind(since).fetch_one().await;
    };
    let touched = since - longest_turn;
    let query = db.reader().query(select!(OF_USER)).bind(user).bind(touched).bind(since).bind(since);
    query.bind(user).bind(touched).bind(user).bind(since).fetch_one().await
}
