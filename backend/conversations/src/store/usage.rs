//! SQL that counts a user's usage. It reads rows that exist anyway, so it covers all replicas and needs no extra write.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Handle, Query, Transaction, select};
use tallybook_protocol::{MessageId, PurposeUsage};

use crate::{
    limits::QUARTERS,
    store::rows::{ConversationId, TokensRow},
};

// Each subquery returns one row, so that one statement counts everything. The first counts the turns that run.
//
// The second counts the messages: each run of a turn begins with an event with the number 0 under its own epoch, and
// sets `updated_at` of its conversation. The third counts other requests that called a model.
//
// The fourth counts the tokens. MySQL returns sums of integers as decimals, hence the `CAST`s. `updated_at` is set when
// a turn begins and ends, so it may be earlier than a call of the turn's model. The caller allows for this by the
// duration of the longest turn.
const COUNT: &str = "SELECT running.turns, begun.used AS begun, begun.since AS begun_since, \
     requests.used AS requests, requests.since AS requests_since, spent.used AS tokens, spent.since AS tokens_since \
     FROM (SELECT COUNT(*) AS turns FROM messages m JOIN conversations c ON c.id = m.conversation_id \
     WHERE m.status = 'streaming' AND c.user_id = ?) AS running, \
     (SELECT COUNT(*) AS used, MIN(j.created_at) AS since FROM conversations c \
     JOIN messages m ON m.conversation_id = c.id JOIN journal_events j ON j.message_id = m.id \
     WHERE c.user_id = ? AND c.updated_at >= ? AND m.role = 'assistant' \
     AND (m.completed_at IS NULL OR m.completed_at >= ?) AND j.seq = 0 AND j.created_at >= ?) AS begun, \
     (SELECT CAST(COALESCE(SUM(quarters), 0) AS SIGNED) AS used, MIN(created_at) AS since \
     FROM model_requests WHERE user_id = ? AND expires_at >= ? AND created_at >= ? AND quarters > 0) AS requests, \
     (SELECT CAST(COALESCE(SUM(used), 0) AS SIGNED) AS used, MIN(created_at) AS since FROM \
     (SELECT k.input_tokens + k.output_tokens AS used, k.created_at AS created_at \
     FROM conversations c JOIN messages m ON m.conversation_id = c.id JOIN model_calls k ON k.message_id = m.id \
     WHERE c.user_id = ? AND c.updated_at >= ? AND k.created_at >= ? \
     UNION ALL SELECT input_tokens + output_tokens, created_at FROM plain_calls \
     WHERE user_id = ? AND created_at >= ?) AS calls) AS spent";

/// Usage for one purpose.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct PurposeRow {
    pub purpose: String,
    pub calls: i64,
    #[sqlx(flatten)]
    pub usage: TokensRow,
}

impl From<PurposeRow> for PurposeUsage {
    fn from(row: PurposeRow) -> Self {
        let PurposeRow { purpose, calls, usage } = row;
        Self { purpose, calls, usage: usage.into() }
    }
}

/// An amount of usage, and when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    pub used: i64,
    /// Time of the oldest counted usage; `None` if there is none.
    pub since: Option<DateTime<Utc>>,
}

/// Times since which messages and tokens count, and the maximum duration of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    pub messages: DateTime<Utc>,
    pub tokens: DateTime<Utc>,
    pub longest_turn: Duration,
}

/// A user's usage, on all replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedUp {
    /// Turns that run.
    pub turns: i64,
    /// Turns that began or resumed, and other requests that called a model, in quarters of a message.
    pub message_quarters: Use,
    /// Tokens that models read and wrote.
    pub tokens: Use,
    /// Tokens that model calls in progress have reserved.
    pub reserved_tokens: i64,
}

/// The counts of one statement.
#[derive(Debug, sqlx::FromRow)]
struct CountRow {
    turns: i64,
    begun: i64,
    begun_since: Option<DateTime<Utc>>,
    requests: i64,
    requests_since: Option<DateTime<Utc>>,
    tokens: i64,
    tokens_since: Option<DateTime<Utc>>,
}

impl From<CountRow> for UsedUp {
    fn from(row: CountRow) -> Self {
        let CountRow { turns, begun, begun_since, requests, requests_since, tokens, tokens_since } = row;
        let used = begun.saturating_mul(QUARTERS).saturating_add(requests);
        let since = [begun_since, requests_since].into_iter().flatten().min();
        let tokens = Use { used: tokens, since: tokens_since };
        Self { turns, message_quarters: Use { used, since }, tokens, reserved_tokens: 0 }
    }
}

/// Binds the parameters of [`COUNT`].
fn bind_count<H: Handle>(count: Query<H>, user: UserId, since: Since) -> Query<H> {
    let Since { messages, tokens, longest_turn } = since;
    let count = count.bind(user).bind(user).bind(messages).bind(messages).bind(messages);
    let count = count.bind(user).bind(messages).bind(messages);
    count.bind(user).bind(tokens - longest_turn).bind(tokens).bind(user).bind(tokens)
}

/// Counts a user's usage. Does not count reserved tokens.
pub(crate) async fn count(db: &Database, user: UserId, since: Since) -> sqlx::Result<UsedUp> {
    let row: CountRow = bind_count(db.reader().query(select!(COUNT)), user, since).fetch_one().await?;
    Ok(row.into())
}

/// Counts a user's usage within a transaction, including what it has not committed yet. Does not count reserved tokens.
pub(crate) async fn count_in(tx: &mut Transaction, user: UserId, since: Since) -> sqlx::Result<UsedUp> {
    let row: CountRow = bind_count(tx.query(COUNT), user, since).fetch_one().await?;
    Ok(row.into())
}

/// Lists a user's usage since `time`, by purpose. Includes later calls of turns that began up to `longest_turn` before
/// `time`.
pub(crate) async fn list_by_purpose(
    db: &Database,
    user: UserId,
    time: DateTime<Utc>,
    longest_turn: Duration,
) -> sqlx::Result<Vec<PurposeRow>> {
    let touched = time - longest_turn;
    let listed = db
        .reader()
        .query(select!(
            "SELECT purpose, COUNT(*) AS calls, CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, \
             CAST(SUM(output_tokens) AS SIGNED) AS output_tokens, CAST(SUM(cached_tokens) AS SIGNED) AS \
             cached_tokens, CAST(SUM(cost_nanos) AS SIGNED) AS cost_nanos \
             FROM (SELECT CAST(k.purpose AS CHAR(32)) AS purpose, k.input_tokens, k.output_tokens, \
             k.cached_tokens, k.cost_nanos FROM conversations c \
             JOIN messages m ON m.conversation_id = c.id JOIN model_calls k ON k.message_id = m.id \
             WHERE c.user_id = ? AND c.updated_at >= ? AND k.created_at >= ? UNION ALL \
             SELECT 'plain', input_tokens, output_tokens, cached_tokens, cost_nanos \
             FROM plain_calls WHERE user_id = ? AND created_at >= ?) AS all_calls \
             GROUP BY purpose ORDER BY purpose"
        ))
        .bind(user)
        .bind(touched)
        .bind(time)
        .bind(user)
        .bind(time);
    listed.fetch_all().await
}

/// Lists a conversation's usage, by purpose: all versions of its answers, and auxiliary model calls.
pub(crate) async fn list_of_conversation(db: &Database, id: ConversationId) -> sqlx::Result<Vec<PurposeRow>> {
    // The `CAST`s are needed because purposes are an enumeration in MySQL, and MySQL returns sums of integers as
    // decimals.
    db.reader()
        .query(select!(
            "SELECT CAST(k.purpose AS CHAR(32)) AS purpose, COUNT(*) AS calls, CAST(SUM(k.input_tokens) \
             AS SIGNED) AS input_tokens, CAST(SUM(k.output_tokens) AS SIGNED) AS output_tokens, \
             CAST(SUM(k.cached_tokens) AS SIGNED) AS cached_tokens, CAST(SUM(k.cost_nanos) AS SIGNED) AS \
             cost_nanos FROM messages m JOIN model_calls k ON k.message_id = m.id \
             WHERE m.conversation_id = ? GROUP BY CAST(k.purpose AS CHAR(32)) ORDER BY 1"
        ))
        .bind(id)
        .fetch_all()
        .await
}

/// Lists an answer's usage, by purpose.
pub(crate) async fn list_of_answer(db: &Database, id: MessageId) -> sqlx::Result<Vec<PurposeRow>> {
    // Auxiliary model calls do not belong to the answer.
    db.reader()
        .query(select!(
            "SELECT CAST(purpose AS CHAR(32)) AS purpose, COUNT(*) AS calls, \
             CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, CAST(SUM(output_tokens) AS SIGNED) AS output_tokens, \
             CAST(SUM(cached_tokens) AS SIGNED) AS cached_tokens, CAST(SUM(cost_nanos) AS SIGNED) AS cost_nanos \
             FROM model_calls WHERE message_id = ? AND purpose NOT IN ('title', 'summary', 'reasoning_summary') \
             GROUP BY CAST(purpose AS CHAR(32)) ORDER BY 1"
        ))
        .bind(id)
        .fetch_all()
        .await
}
