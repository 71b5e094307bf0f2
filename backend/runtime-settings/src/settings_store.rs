//! SQL on the tables `settings` and `settings_history`.
//!
//! The ID of a change is the version of the settings after it. The order of the changes follows from it, because the
//! nodes of a cluster do not assign keys in the order of commits. Earlier versions of the program store no version, so
//! the key of such a row is its version.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::SettingsChange;

/// Maximum number of changes that the history shows.
const MAX_SHOWN: u32 = 100;

/// Maximum number of changes that the history keeps.
const MAX_KEPT: i64 = 1000;

#[derive(sqlx::FromRow)]
struct ChangeRow {
    version: i64,
    changed_by: String,
    created_at: DateTime<Utc>,
    before_change: String,
    after_change: String,
}

const VERSION: &str = "SELECT COALESCE(MAX(COALESCE(version, id)), 0) FROM settings_history";

/// Returns the changed settings by name, and the version.
pub(crate) async fn list(db: &Database) -> sqlx::Result<(Map<String, Value>, i64)> {
    // The version first: if a change is stored in between, its version is noticed at the next poll.
    let version = db.reader().query(select!(VERSION)).fetch_value().await?;
    let rows = db.reader().query(select!("SELECT name, value FROM settings ORDER BY name")).fetch_all().await?;
    Ok((read(rows), version))
}

/// Returns the changed settings by name, within a transaction.
pub(crate) async fn list_in(tx: &mut Transaction) -> sqlx::Result<Map<String, Value>> {
    Ok(read(tx.query("SELECT name, value FROM settings ORDER BY name").fetch_all().await?))
}

/// Ignores values that are not valid JSON; the server never writes any.
fn read(rows: Vec<(String, String)>) -> Map<String, Value> {
    let read = |(name, value): (String, String)| Some((name, serde_json::from_str(&value).ok()?));
    rows.into_iter().filter_map(read).collect()
}

/// Returns the version: that of the latest change, 0 if there is none.
pub(crate) async fn version_in(tx: &mut Transaction) -> sqlx::Result<i64> {
    tx.query(VERSION).fetch_value().await
}

/// Stores the value of a setting; `None` removes it.
pub(crate) async fn set(tx: &mut Transaction, name: &str, value: Option<&Value>) -> sqlx::Result<()> {
    tx.query("DELETE FROM settings WHERE name = ?").bind(name).execute().await?;
    let Some(value) = value else { return Ok(()) };
    let query = tx.query("INSERT INTO settings (name, value) VALUES (?, ?)").bind(name).bind(value.to_string());
    query.execute().await.map(|_| ())
}

/// Adds the change that leads to `version` to the history. Deletes the oldest changes beyond the limit. `settings` are
/// all settings after the change.
pub(crate) async fn add_change(
    tx: &mut Transaction,
    version: i64,
    actor: UserId,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    settings: &Map<String, Value>,
) -> sqlx::Result<()> {
    let text = |values| serde_json::to_string(values).unwrap_or_default();
    let query = tx
        .query(
            "INSERT INTO settings_history (version, changed_by, before_change, after_change, settings, created_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(version)
        .bind(actor)
        .bind(text(before))
        .bind(text(after))
        .bind(text(settings));
    query.bind(now()).execute().await?;
    let oldest: Option<i64> = tx
        .query(
            "SELECT COALESCE(version, id) FROM settings_history \
             ORDER BY COALESCE(version, id) DESC LIMIT 1 OFFSET ?",
        )
        .bind(MAX_KEPT)
        .fetch_optional_value()
        .await?;
    if let Some(oldest) = oldest {
        tx.query("DELETE FROM settings_history WHERE COALESCE(version, id) <= ?").bind(oldest).execute().await?;
    }
    Ok(())
}

/// Returns all settings of this version; `None` if the history does not have it.
pub(crate) async fn find_after(tx: &mut Transaction, version: i64) -> sqlx::Result<Option<Map<String, Value>>> {
    let settings: Option<String> = tx
        .query("SELECT settings FROM settings_history WHERE COALESCE(version, id) = ?")
        .bind(version)
        .fetch_optional_value()
        .await?;
    Ok(settings.map(|settings| serde_json::from_str(&settings).unwrap_or_default()))
}

/// Lists the latest changes, latest first.
pub(crate) async fn list_changes(db: &Database) -> sqlx::Result<Vec<SettingsChange>> {
    let rows: Vec<ChangeRow> = db
        .reader()
        .query(select!(
            "SELECT COALESCE(h.version, h.id) AS version, COALESCE(u.name, '') AS changed_by, h.created_at, \
             h.before_change, h.after_change FROM settings_history h LEFT JOIN users u ON u.id = h.changed_by \
             ORDER BY COALESCE(h.version, h.id) DESC LIMIT ?"
        ))
        .bind(MAX_SHOWN)
        .fetch_all()
        .await?;
    let values = |text: &str| serde_json::from_str::<BTreeMap<String, Value>>(text).unwrap_or_default();
    let change = |row: ChangeRow| SettingsChange {
        before: values(&row.before_change),
        after: values(&row.after_change),
        id: row.version,
        changed_by: row.changed_by,
        created_at: row.created_at,
    };
    Ok(rows.into_iter().map(change).collect())
}
