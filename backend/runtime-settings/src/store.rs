//! SQL on the tables of the catalog: `catalog_state`, `catalog_entries` and `sealed`.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};

use crate::{kind::EntryKind, seal::Sealed};

/// Maximum number of added entries of each kind.
pub(crate) const MAX_ENTRIES: usize = 200;

/// An added model or tool server.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct EntryRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    /// The settings as a JSON object, without secrets.
    pub(crate) settings: String,
    pub(crate) version: i64,
    pub(crate) updated_at: DateTime<Utc>,
}

/// An added entry with its secret.
pub(crate) struct StoredEntry {
    pub(crate) kind: String,
    pub(crate) row: EntryRow,
    pub(crate) sealed: Option<Sealed>,
}

#[derive(sqlx::FromRow)]
struct JoinedRow {
    kind: String,
    #[sqlx(flatten)]
    row: EntryRow,
    key_id: Option<String>,
    nonce: Option<Vec<u8>>,
    ciphertext: Option<Vec<u8>>,
}

/// Returns the version of the catalog.
pub(crate) async fn version(db: &Database) -> sqlx::Result<i64> {
    let version = db.reader().query(select!("SELECT version FROM catalog_state WHERE id = 1"));
    Ok(version.fetch_optional_value().await?.unwrap_or_default())
}

/// Increments the version of the catalog and returns it. Of concurrent transactions that do this, only one commits,
/// also on different nodes of a cluster.
pub(crate) async fn next_version(tx: &mut Transaction) -> sqlx::Result<i64> {
    let updated = tx.query("UPDATE catalog_state SET version = version + 1 WHERE id = 1").execute().await?;
    if updated.rows == 0 {
        // The migration created the row, but an operator may have emptied the table.
        tx.query("INSERT INTO catalog_state (id, version) VALUES (1, 1)").execute().await?;
    }
    tx.query("SELECT version FROM catalog_state WHERE id = 1").fetch_value().await
}

/// Lists the added entries of all kinds with their secrets, oldest first. A single statement reads both, so that no new
/// secret is combined with an old address.
pub(crate) async fn list(db: &Database) -> sqlx::Result<Vec<StoredEntry>> {
    let rows: Vec<JoinedRow> = db
        .reader()
        .query(select!(
            "SELECT e.id, e.kind, e.name, e.settings, e.version, e.updated_at, s.key_id, s.nonce, s.ciphertext \
             FROM catalog_entries e LEFT JOIN sealed s ON s.entry_id = e.id \
             ORDER BY e.created_at, e.id LIMIT ?"
        ))
        .bind(i64::try_from(EntryKind::ALL.len() * MAX_ENTRIES).unwrap_or(i64::MAX))
        .fetch_all()
        .await?;
    let stored = |JoinedRow { kind, row, key_id, nonce, ciphertext }| {
        let sealed = key_id.zip(nonce).zip(ciphertext);
        let sealed = sealed.map(|((key_id, nonce), ciphertext)| Sealed { key_id, nonce, ciphertext });
        StoredEntry { kind, row, sealed }
    };
    Ok(rows.into_iter().map(stored).collect())
}

/// Returns the added entry with this name.
pub(crate) async fn find(tx: &mut Transaction, kind: EntryKind, name: &str) -> sqlx::Result<Option<EntryRow>> {
    tx.query("SELECT id, name, settings, version, updated_at FROM catalog_entries WHERE kind = ? AND name = ?")
        .bind(kind.as_str())
        .bind(name)
        .fetch_optional()
        .await
}

/// Returns the number of added entries of a kind.
pub(crate) async fn count(tx: &mut Transaction, kind: EntryKind) -> sqlx::Result<i64> {
    tx.query("SELECT COUNT(*) FROM catalog_entries WHERE kind = ?").bind(kind.as_str()).fetch_value().await
}

/// Adds an entry and returns its id.
pub(crate) async fn create(
    tx: &mut Transaction,
    kind: EntryKind,
    name: &str,
    settings: &str,
    version: i64,
) -> sqlx::Result<i64> {
    let query = tx
        .query(
            "INSERT INTO catalog_entries (kind, name, settings, version, created_at, updated_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(kind.as_str())
        .bind(name)
        .bind(settings)
        .bind(version)
        .bind(now());
    Ok(query.bind(now()).execute().await?.inserted_id)
}

/// Replaces the settings of an entry.
pub(crate) async fn update(tx: &mut Transaction, id: i64, settings: &str, version: i64) -> sqlx::Result<()> {
    let query = tx.query("UPDATE catalog_entries SET settings = ?, version = ?, updated_at = ? WHERE id = ?");
    query.bind(settings).bind(version).bind(now()).bind(id).execute().await.map(|_| ())
}

/// Deletes an entry with its secrets.
pub(crate) async fn delete(tx: &mut Transaction, id: i64) -> sqlx::Result<()> {
    tx.query("DELETE FROM catalog_entries WHERE id = ?").bind(id).execute().await.map(|_| ())
}

/// Returns the encrypted value of an entry's secret setting.
pub(crate) async fn find_secret(tx: &mut Transaction, entry: i64, field: &str) -> sqlx::Result<Option<Sealed>> {
    tx.query("SELECT key_id, nonce, ciphertext FROM sealed WHERE entry_id = ? AND field = ?")
        .bind(entry)
        .bind(field)
        .fetch_optional()
        .await
}

/// Replaces the value of an entry's secret setting; `None` removes it.
pub(crate) async fn set_secret(
    tx: &mut Transaction,
    entry: i64,
    field: &str,
    value: Option<&Sealed>,
) -> sqlx::Result<()> {
    tx.query("DELETE FROM sealed WHERE entry_id = ? AND field = ?").bind(entry).bind(field).execute().await?;
    let Some(value) = value else { return Ok(()) };
    tx.query("INSERT INTO sealed (entry_id, field, key_id, nonce, ciphertext) VALUES (?, ?, ?, ?, ?)")
        .bind(entry)
        .bind(field)
        .bind(&value.key_id)
        .bind(&value.nonce)
        .bind(&value.ciphertext)
        .execute()
        .await
        .map(|_| ())
}
