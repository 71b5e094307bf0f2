//! SQL on the tables of the catalog: `catalog_state`, `catalog_entries` and `sealed`.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};

use crate::seal::Sealed;

/// Kind of the entries of models.
const MODEL: &str = "model";

/// Name of the setting with a model's API key.
pub(crate) const API_KEY: &str = "api_key";

/// Maximum number of added models.
pub(crate) const MAX_MODELS: usize = 200;

/// An added model.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct EntryRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    /// The settings as a JSON object, without secrets.
    pub(crate) settings: String,
    pub(crate) version: i64,
    pub(crate) updated_at: DateTime<Utc>,
}

#[derive(sqlx::FromRow)]
struct SealedRow {
    entry_id: i64,
    #[sqlx(flatten)]
    sealed: Sealed,
}

/// Returns the version of the catalog.
pub(crate) async fn version(db: &Database) -> sqlx::Result<i64> {
    let version = db.reader().query(select!("SELECT version FROM catalog_state WHERE id = 1"));
    Ok(version.fetch_optional_value().await?.unwrap_or_default())
}

/// Increments the version of the catalog and returns it. Until the transaction ends, no other can change the catalog.
pub(crate) async fn next_version(tx: &mut Transaction) -> sqlx::Result<i64> {
    let updated = tx.query("UPDATE catalog_state SET version = version + 1 WHERE id = 1").execute().await?;
    if updated.rows == 0 {
        // The migration created the row, but an operator may have emptied the table.
        tx.query("INSERT INTO catalog_state (id, version) VALUES (1, 1)").execute().await?;
    }
    tx.query("SELECT version FROM catalog_state WHERE id = 1").fetch_value().await
}

/// Lists the added models, oldest first.
pub(crate) async fn list_models(db: &Database) -> sqlx::Result<Vec<EntryRow>> {
    db.reader()
        .query(select!(
            "SELECT id, name, settings, version, updated_at FROM catalog_entries WHERE kind = ? ORDER BY id LIMIT ?"
        ))
        .bind(MODEL)
        .bind(i64::try_from(MAX_MODELS).unwrap_or(i64::MAX))
        .fetch_all()
        .await
}

/// Returns the encrypted API keys of all added models, by the ids of their entries.
pub(crate) async fn list_keys(db: &Database) -> sqlx::Result<HashMap<i64, Sealed>> {
    let rows: Vec<SealedRow> = db
        .reader()
        .query(select!(
            "SELECT entry_id, key_id, nonce, ciphertext FROM sealed WHERE field = ? ORDER BY entry_id LIMIT ?"
        ))
        .bind(API_KEY)
        .bind(i64::try_from(MAX_MODELS).unwrap_or(i64::MAX))
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(|row| (row.entry_id, row.sealed)).collect())
}

/// Returns the added model with this name.
pub(crate) async fn find_model(tx: &mut Transaction, name: &str) -> sqlx::Result<Option<EntryRow>> {
    tx.query("SELECT id, name, settings, version, updated_at FROM catalog_entries WHERE kind = ? AND name = ?")
        .bind(MODEL)
        .bind(name)
        .fetch_optional()
        .await
}

/// Returns the number of added models.
pub(crate) async fn count_models(tx: &mut Transaction) -> sqlx::Result<i64> {
    tx.query("SELECT COUNT(*) FROM catalog_entries WHERE kind = ?").bind(MODEL).fetch_value().await
}

/// Adds a model and returns its id.
pub(crate) async fn create_model(tx: &mut Transaction, name: &str, settings: &str, version: i64) -> sqlx::Result<i64> {
    let query = tx
        .query(
            "INSERT INTO catalog_entries (kind, name, settings, version, created_at, updated_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(MODEL)
        .bind(name)
        .bind(settings)
        .bind(version)
        .bind(now());
    Ok(query.bind(now()).execute().await?.inserted_id)
}

/// Replaces the settings of an entry.
pub(crate) async fn update_entry(tx: &mut Transaction, id: i64, settings: &str, version: i64) -> sqlx::Result<()> {
    let query = tx.query("UPDATE catalog_entries SET settings = ?, version = ?, updated_at = ? WHERE id = ?");
    query.bind(settings).bind(version).bind(now()).bind(id).execute().await.map(|_| ())
}

/// Deletes an entry with its secrets.
pub(crate) async fn delete_entry(tx: &mut Transaction, id: i64) -> sqlx::Result<()> {
    tx.query("DELETE FROM catalog_entries WHERE id = ?").bind(id).execute().await.map(|_| ())
}

/// Returns `true` if the entry has an API key.
pub(crate) async fn has_key(tx: &mut Transaction, entry: i64) -> sqlx::Result<bool> {
    let keys: i64 = tx
        .query("SELECT COUNT(*) FROM sealed WHERE entry_id = ? AND field = ?")
        .bind(entry)
        .bind(API_KEY)
        .fetch_value()
        .await?;
    Ok(keys > 0)
}

/// Replaces the API key of an entry; `None` removes it.
pub(crate) async fn set_key(tx: &mut Transaction, entry: i64, key: Option<&Sealed>) -> sqlx::Result<()> {
    tx.query("DELETE FROM sealed WHERE entry_id = ? AND field = ?").bind(entry).bind(API_KEY).execute().await?;
    let Some(key) = key else { return Ok(()) };
    tx.query("INSERT INTO sealed (entry_id, field, key_id, nonce, ciphertext) VALUES (?, ?, ?, ?, ?)")
        .bind(entry)
        .bind(API_KEY)
        .bind(&key.key_id)
        .bind(&key.nonce)
        .bind(&key.ciphertext)
        .execute()
        .await
        .map(|_| ())
}
