//! SQL for `model_requests`: requests that count like messages (model calls outside turns, and copies of
//! conversations), and tokens that are reserved until their calls have ended.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Handle, Query, Transaction};
use tallybook_protocol::MessageId;

use crate::budget::BudgetOwner;

/// Row ID of a request outside turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestId(pub i64);

/// A row to be created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRequest {
    pub user: UserId,
    pub message: Option<MessageId>,
    pub quarters: i64,
    pub reserved_tokens: i64,
    pub reserved_cost_nanos: i64,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

/// Creates a row.
pub(crate) async fn create(tx: &mut Transaction, new: NewRequest) -> sqlx::Result<RequestId> {
    let NewRequest { user, message, quarters, reserved_tokens, reserved_cost_nanos, created_at, expires_at } = new;
    let query = tx
        .query(
            "INSERT INTO model_requests \
             (user_id, message_id, quarters, reserved_tokens, reserved_cost_nanos, created_at, expires_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(user)
        .bind(message)
        .bind(quarters)
        .bind(reserved_tokens)
        .bind(reserved_cost_nanos);
    let created = query.bind(created_at).bind(expires_at).execute().await?;
    Ok(RequestId(created.inserted_id))
}

/// Changes the tokens that a running turn reserves; creates the turn's row if it has none.
pub(crate) async fn reserve_for_turn(tx: &mut Transaction, new: NewRequest) -> sqlx::Result<()> {
    let NewRequest { message, reserved_tokens, reserved_cost_nanos, expires_at, .. } = new;
    let changed = tx
        .query(
            "UPDATE model_requests SET reserved_tokens = ?, reserved_cost_nanos = ?, expires_at = ? WHERE message_id = ?",
        )
        .bind(reserved_tokens)
        .bind(reserved_cost_nanos)
        .bind(expires_at)
        .bind(message)
        .execute()
        .await?;
    if changed.rows == 0 {
        create(tx, new).await?;
    }
    Ok(())
}

/// Releases the tokens that a request outside turns has reserved.
pub(crate) async fn settle(tx: &mut Transaction, id: RequestId) -> sqlx::Result<()> {
    tx.query("UPDATE model_requests SET reserved_tokens = 0, reserved_cost_nanos = 0 WHERE id = ?")
        .bind(id.0)
        .execute()
        .await
        .map(|_| ())
}

/// Tokens and money that model calls in progress reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Reserved {
    pub tokens: i64,
    pub cost_nanos: i64,
}

/// Returns what the requests and running turns of the owner of a budget reserve, without those of `turn`. A turn that
/// no longer runs reserves nothing.
pub(crate) async fn sum_reserved(
    tx: &mut Transaction,
    owner: BudgetOwner,
    turn: Option<MessageId>,
    time: DateTime<Utc>,
) -> sqlx::Result<Reserved> {
    let mut query = tx
        .query(
            "SELECT CAST(COALESCE(SUM(r.reserved_tokens), 0) AS SIGNED) AS tokens, \
             CAST(COALESCE(SUM(r.reserved_cost_nanos), 0) AS SIGNED) AS cost_nanos FROM model_requests r \
             LEFT JOIN messages m ON m.id = r.message_id WHERE r.expires_at > ? AND r.reserved_tokens > 0 \
             AND (r.message_id IS NULL OR (m.status = 'streaming' AND r.message_id <> ?))",
        )
        .bind(time)
        .bind(turn.unwrap_or(MessageId(0)));
    push_users(&mut query, owner);
    query.fetch_one().await
}

/// Returns the oldest running turn of a user, or of those who share a budget.
pub(crate) async fn find_oldest_running(tx: &mut Transaction, owner: BudgetOwner) -> sqlx::Result<Option<MessageId>> {
    let mut query = tx.query(
        "SELECT MIN(m.id) FROM model_requests r JOIN messages m ON m.id = r.message_id WHERE m.status = 'streaming'",
    );
    push_users(&mut query, owner);
    query.fetch_value().await
}

/// Adds the condition that a request `r` is one of the users that the owner of a budget stands for.
fn push_users<H: Handle>(query: &mut Query<H>, owner: BudgetOwner) {
    match owner {
        BudgetOwner::All => {}
        BudgetOwner::Group(group) => {
            query
                .push(" AND r.user_id IN (SELECT user_id FROM group_members WHERE group_id = ")
                .push_bind(group)
                .push(")");
        }
        BudgetOwner::User(user) => {
            query.push(" AND r.user_id = ").push_bind(user);
        }
    }
}

/// Deletes rows that expired before `time` and so no longer count.
pub(crate) async fn delete_expired(db: &Database, time: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM model_requests WHERE expires_at < ?").bind(time).execute().await.map(|_| ())
}
