//! SQL on the table `budgets`.

use tallybook_accounts::UserId;
use tallybook_conversations::BudgetOwner;
use tallybook_database::{Database, Transaction, select};
use tallybook_protocol::{Budget, BudgetPeriod};

#[derive(sqlx::FromRow)]
struct BudgetRow {
    principal: String,
    period: String,
    tokens: Option<i64>,
    cost_nanos: Option<i64>,
    warn_at: f64,
}

impl From<BudgetRow> for Budget {
    fn from(BudgetRow { principal, period, tokens, cost_nanos, warn_at }: BudgetRow) -> Self {
        let period = if period == BudgetPeriod::Day.as_str() { BudgetPeriod::Day } else { BudgetPeriod::Month };
        Self { principal, period, tokens, cost_nanos, warn_at }
    }
}

// All budgets are stored in one transaction, whose node assigns rising keys, so this is the order that the admin chose.
const LIST: &str = "SELECT principal, period, tokens, cost_nanos, warn_at FROM budgets ORDER BY id LIMIT 1000";

/// Lists the stored budgets.
pub(crate) async fn list(db: &Database) -> sqlx::Result<Vec<Budget>> {
    let rows: Vec<BudgetRow> = db.reader().query(select!(LIST)).fetch_all().await?;
    Ok(rows.into_iter().map(Budget::from).collect())
}

/// Lists the stored budgets, within a transaction.
pub(crate) async fn list_in(tx: &mut Transaction) -> sqlx::Result<Vec<Budget>> {
    let rows: Vec<BudgetRow> = tx.query(LIST).fetch_all().await?;
    Ok(rows.into_iter().map(Budget::from).collect())
}

const VERSION: &str = "SELECT COALESCE(MAX(id), 0) FROM budgets";

/// Returns the version of the budgets: the highest ID. A replacement changes it, because no ID is used twice. It is 0
/// without budgets.
pub(crate) async fn version(db: &Database) -> sqlx::Result<i64> {
    db.reader().query(select!(VERSION)).fetch_value().await
}

/// Returns the version of the budgets, within a transaction.
pub(crate) async fn version_in(tx: &mut Transaction) -> sqlx::Result<i64> {
    tx.query(VERSION).fetch_value().await
}

/// Deletes all budgets.
pub(crate) async fn delete_all(tx: &mut Transaction) -> sqlx::Result<()> {
    tx.query("DELETE FROM budgets").execute().await.map(|_| ())
}

/// Returns `true` if there is a user with this ID.
pub(crate) async fn has_user(tx: &mut Transaction, user: UserId) -> sqlx::Result<bool> {
    let count: i64 =
        tx.query("SELECT COUNT(*) FROM users WHERE id = ? AND deleted_at IS NULL").bind(user).fetch_value().await?;
    Ok(count > 0)
}

/// Returns the name of a user.
pub(crate) async fn find_user_name(db: &Database, user: UserId) -> sqlx::Result<Option<String>> {
    db.reader().query(select!("SELECT name FROM users WHERE id = ?")).bind(user).fetch_optional_value().await
}

/// Deletes the budgets of a user or a group.
pub(crate) async fn delete_of(tx: &mut Transaction, owner: BudgetOwner) -> sqlx::Result<()> {
    tx.query("DELETE FROM budgets WHERE principal = ?").bind(owner.to_string()).execute().await.map(|_| ())
}

/// Adds a budget.
pub(crate) async fn create(tx: &mut Transaction, budget: &Budget) -> sqlx::Result<()> {
    tx.query("INSERT INTO budgets (principal, period, tokens, cost_nanos, warn_at) VALUES (?, ?, ?, ?, ?)")
        .bind(&budget.principal)
        .bind(budget.period.as_str())
        .bind(budget.tokens)
        .bind(budget.cost_nanos)
        .bind(budget.warn_at)
        .execute()
        .await
        .map(|_| ())
}
