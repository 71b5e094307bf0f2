//! Stores the accepted definitions of tool servers' tools, in the database that all replicas share (`tool_pins`). The
//! crate `tallybook-mcp` decides what happens if a definition is not accepted.

use std::{collections::HashMap, sync::Arc};

use chrono::{DateTime, Utc};
use futures_util::{FutureExt as _, future::BoxFuture};
use sha2::{Digest as _, Sha256};
use tallybook_database::{Database, MAX_IDS_PER_QUERY, Transaction, is_unique_violation, now, select, with_retries};
use tallybook_mcp::{DefinitionHash, PinError, PinStore, is_of_server};

/// Maximum number of stored tools per server. At the limit, stored tools stay, and no further tool can be accepted.
pub const MAX_PINS: u32 = 1000;

/// The store of accepted definitions.
#[derive(Clone, Debug)]
pub struct ToolPins {
    db: Database,
}

impl ToolPins {
    /// Creates the store on a database.
    #[must_use]
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Returns `true` if one of the server's tools has had this definition since the time `since`.
    pub async fn is_unchanged_since(
        &self,
        server: &str,
        definition: &DefinitionHash,
        since: DateTime<Utc>,
    ) -> sqlx::Result<bool> {
        // An accepted definition counts from when it was accepted; the first definition counts from when it was first
        // seen.
        let count: i64 = self
            .db
            .reader()
            .query(select!(
                "SELECT COUNT(*) FROM tool_pins \
                 WHERE server = ? AND hash = ? AND COALESCE(accepted_at, first_seen_at) <= ?"
            ))
            .bind(server)
            .bind(hex::encode(definition))
            .bind(since)
            .fetch_value()
            .await?;
        Ok(count > 0)
    }

    async fn list(&self, server: &str) -> sqlx::Result<HashMap<String, String>> {
        let rows: Vec<(String, String)> = self
            .db
            .reader()
            .query(select!("SELECT tool, hash FROM tool_pins WHERE server = ? ORDER BY id LIMIT ?"))
            .bind(server)
            .bind(MAX_PINS)
            .fetch_all()
            .await?;
        Ok(rows.into_iter().collect())
    }

    /// Lists the accepted definitions of the tools in `seen`. If nothing is stored for the server yet, this is its
    /// first listing, and all of `seen` is stored as accepted. For any tool that appears later, an admin must accept
    /// the definition.
    async fn list_with(
        &self,
        server: &str,
        seen: &[(String, DefinitionHash)],
    ) -> sqlx::Result<HashMap<String, DefinitionHash>> {
        let mut known = self.list(server).await?;
        if known.is_empty() && !seen.is_empty() {
            // Another replica may store its first listing at the same time. If both have a tool, the first definition
            // counts.
            match with_retries(|| self.create(server, seen)).await {
                Err(error) if is_unique_violation(&error) => {}
                outcome => outcome?,
            }
            known = self.list(server).await?;
        }
        let hash = |(tool, _): &(String, DefinitionHash)| Some((tool.clone(), bytes(known.get(tool)?)?));
        Ok(seen.iter().filter_map(hash).collect())
    }

    async fn create(&self, server: &str, seen: &[(String, DefinitionHash)]) -> sqlx::Result<()> {
        let mut tx = self.db.begin().await?;
        for (tool, hash) in seen {
            tx.query("INSERT INTO tool_pins (id, server, tool, hash, first_seen_at) VALUES (?, ?, ?, ?, ?)")
                .bind(id(server, tool))
                .bind(server)
                .bind(tool)
                .bind(hex::encode(hash))
                .bind(now())
                .execute()
                .await?;
        }
        tx.commit().await
    }
}

/// Stores a tool's definition as the accepted one. Returns `false` if the tool is new and the server already has
/// [`MAX_PINS`] tools.
pub(crate) async fn accept(
    tx: &mut Transaction,
    server: &str,
    tool: &str,
    definition: DefinitionHash,
) -> sqlx::Result<bool> {
    let (id, hash) = (id(server, tool), hex::encode(definition));
    if update(tx, &id, &hash).await? {
        return Ok(true);
    }
    // The derived table lets MySQL read the table that the statement writes.
    let query = tx
        .query(
            "INSERT INTO tool_pins (id, server, tool, hash, first_seen_at, accepted_at) \
             SELECT ?, ?, ?, ?, ?, ? FROM (SELECT COUNT(*) AS tools FROM tool_pins \
             WHERE server = ?) AS counted WHERE tools < ?",
        )
        .bind(&id)
        .bind(server)
        .bind(tool)
        .bind(&hash)
        .bind(now());
    match query.bind(now()).bind(server).bind(MAX_PINS).execute().await {
        // Another admin accepted the tool at the same moment.
        Err(error) if is_unique_violation(&error) => update(tx, &id, &hash).await,
        outcome => Ok(outcome?.rows == 1),
    }
}

/// Forgets what was accepted of a tool server: the definitions of its tools, and saved approvals of calls of them. Call
/// this when another server takes its name.
pub async fn forget_server(tx: &mut Transaction, server: &str) -> sqlx::Result<()> {
    tx.query("DELETE FROM tool_pins WHERE server = ?").bind(server).execute().await?;
    let saved: Vec<(i64, String)> = tx
        .query(
            "SELECT a.id, t.tool_name FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id \
             WHERE a.scope IN ('conversation', 'always') AND a.revoked_at IS NULL",
        )
        .fetch_all()
        .await?;
    let of_server: Vec<i64> =
        saved.into_iter().filter(|(_, tool)| is_of_server(tool, server)).map(|(id, _)| id).collect();
    for ids in of_server.chunks(MAX_IDS_PER_QUERY) {
        let mut revoke = tx.query("UPDATE approvals SET revoked_at = ? WHERE id IN (").bind(now());
        revoke.push_list(ids).push(")");
        revoke.execute().await?;
    }
    Ok(())
}

async fn update(tx: &mut Transaction, id: &str, hash: &str) -> sqlx::Result<bool> {
    let query = tx.query("UPDATE tool_pins SET hash = ?, accepted_at = ? WHERE id = ?").bind(hash).bind(now());
    Ok(query.bind(id).execute().await?.rows == 1)
}

impl PinStore for ToolPins {
    fn accepted(
        &self,
        server: Arc<str>,
        seen: Vec<(String, DefinitionHash)>,
    ) -> BoxFuture<'_, Result<HashMap<String, DefinitionHash>, PinError>> {
        async move { Ok(self.list_with(&server, &seen).await?) }.boxed()
    }
}

/// Returns the ID of a tool's row: a hash of both names, because the names may be longer than an index allows, or
/// differ only in trailing spaces.
fn id(server: &str, tool: &str) -> String {
    hex::encode(Sha256::digest(format!("{server}\0{tool}")))
}

fn bytes(text: &str) -> Option<DefinitionHash> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}
