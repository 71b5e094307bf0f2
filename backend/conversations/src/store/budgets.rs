//! SQL that counts the usage of a budget. It reads rows that exist anyway.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tallybook_accounts::{GroupId, UserId};
use tallybook_database::{Database, Handle, Query, Transaction, select};

use crate::budget::BudgetOwner;

/// Tokens and money that models used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Used {
    pub tokens: i64,
    pub cost_nanos: i64,
}

/// The usage of the users that a condition on `user_id` selects.
macro_rules! of_users {
    ($users:literal) => {
        concat!(
            "SELECT CAST(COALESCE(SUM(tokens), 0) AS SIGNED) AS tokens, \
             CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost_nanos FROM \
             (SELECT k.input_tokens + k.output_tokens AS tokens, k.cost_nanos AS cost \
             FROM conversations c JOIN messages m ON m.conversation_id = c.id JOIN model_calls k ON k.message_id = m.id \
             WHERE c.user_id ",
            $users,
            " AND c.updated_at >= ? AND k.created_at >= ? \
             UNION ALL SELECT k.input_tokens + k.output_tokens, k.cost_nanos FROM model_calls k \
             JOIN messages m ON m.id = k.message_id JOIN conversations c ON c.id = m.conversation_id \
             WHERE k.created_at >= ? AND k.purpose = 'reasoning_summary' AND c.user_id ",
            $users,
            " AND c.updated_at < ? \
             UNION ALL SELECT input_tokens + output_tokens, cost_nanos FROM plain_calls \
             WHERE user_id ",
            $users,
            " AND created_at >= ?) AS calls"
        )
    };
}

// An explanation of an answer does not change `updated_at` of its conversation.
const OF_USER: &str = of_users!("= ?");

const OF_GROUP: &str = of_users!("IN (SELECT user_id FROM group_members WHERE group_id = ?)");

const OF_ALL: &str = "SELECT CAST(COALESCE(SUM(tokens), 0) AS SIGNED) AS tokens, \
     CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost_nanos FROM \
     (SELECT input_tokens + output_tokens AS tokens, cost_nanos AS cost FROM model_calls WHERE created_at >= ? \
     UNION ALL SELECT input_tokens + output_tokens, cost_nanos FROM plain_calls WHERE created_at >= ?) AS calls";

/// Serializes transactions that check the same budget of several users. In a database cluster, one of two that did so
/// at the same time fails and is retried.
pub(crate) async fn lock(tx: &mut Transaction, principals: &[String]) -> sqlx::Result<()> {
    let mut query = tx.query("UPDATE budgets SET checks = checks + 1 WHERE principal IN (");
    query.push_list(principals).push(")");
    query.execute().await.map(|_| ())
}

/// Returns what models have used since `since` for the owner of a budget, within a transaction. Calls of a turn that
/// began up to `longest_turn` before `since` count if they were made after it.
pub(crate) async fn sum_used(
    tx: &mut Transaction,
    owner: BudgetOwner,
    since: DateTime<Utc>,
    longest_turn: Duration,
) -> sqlx::Result<Used> {
    match owner {
        BudgetOwner::All => tx.query(OF_ALL).bind(since).bind(since).fetch_one().await,
        BudgetOwner::Group(GroupId(id)) => bind(tx.query(OF_GROUP), id, since, longest_turn).fetch_one().await,
        BudgetOwner::User(UserId(id)) => bind(tx.query(OF_USER), id, since, longest_turn).fetch_one().await,
    }
}

/// Like [`sum_used`], without a transaction.
pub(crate) async fn read_used(
    db: &Database,
    owner: BudgetOwner,
    since: DateTime<Utc>,
    longest_turn: Duration,
) -> sqlx::Result<Used> {
    let reader = db.reader();
    match owner {
        BudgetOwner::All => reader.query(select!(OF_ALL)).bind(since).bind(since).fetch_one().await,
        BudgetOwner::Group(GroupId(id)) => {
            bind(reader.query(select!(OF_GROUP)), id, since, longest_turn).fetch_one().await
        }
        BudgetOwner::User(UserId(id)) => {
            bind(reader.query(select!(OF_USER)), id, since, longest_turn).fetch_one().await
        }
    }
}

/// Binds the values of [`of_users`]: the ID of the user or group, and the times.
fn bind<H: Handle>(query: Query<H>, id: i64, since: DateTime<Utc>, longest_turn: Duration) -> Query<H> {
    let touched = since - longest_turn;
    query.bind(id).bind(touched).bind(since).bind(since).bind(id).bind(touched).bind(id).bind(since)
}
