//! The accepted definitions of tool servers' tools, in a database that all replicas share (`tool_pins`). What follows from a
//! definition that is not accepted is `mcp`'s business.

use std::{collections::HashMap, sync::Arc};
use tallybook_database::{Database, now, select, with_retries};

use chrono::{DateTime, Utc};
use futures_util::{FutureExt as _, future::BoxFuture};
use sha2::{Digest as _, Sha256};
use sqlx::error::DatabaseError;
use tallybook_mcp::{DefinitionHash, PinError, PinStore};

/// Maximum number of stored tools per server. Reaching it removes none of them: a tool beyond the limit cannot be accepted.
pub(crate) const MAX_PINS: u32 = 1000;

const LIST: &str = "SELECT tool, hash FROM tool_pins WHERE server = ? ORDER BY id LIMIT ?";

// A definition that was accepted, or the first one, which is so from when it was seen.
const COUNT_SINCE: &str = "SELECT COUNT(*) FROM tool_pins \
     WHERE server = ? AND hash = ? AND COALESCE(accepted_at, first_seen_at) <= ?";

const CREATE: &str = "INSERT INTO tool_pins (id, server, tool, hash, first_seen_at) VALUES (?, ?, ?, ?, ?)";

// The derived table lets MySQL read the table that the statement writes.
const CREATE_ACCEPTED: &str = "INSERT INTO tool_pins (id, server, tool, hash, first_seen_at, accepted_at) \
     SELECT ?, ?, ?, ?, ?, ? FROM (SELECT COUNT(*) AS tools FROM tool_pins WHERE server = ?) AS counted WHERE tools < ?";

const ACCEPT: &str = "UPDATE tool_pins SET hash = ?, accepted_at = ? WHERE id = ?";

/// The definitions that are accepted.
#[derive(Clone, Debug)]
pub(crate) struct ToolPins {
    db: Database,
}

impl ToolPins {
    pub(crate) fn new(db: Database) -> Self {
        Self { db }
    }

    /// Whether a server's tool with this definition has had it since then.
    pub(crate) async fn is_unchanged_since(
        &self,
        server: &str,
        definition: &DefinitionHash,
        since: DateTime<Utc>,
    ) -> sqlx::Result<bool> {
        let count: i64 = {
            let query =
                self.db.reader().query(select!(COUNT_SINCE)).bind(server).bind(hex::encode(definition)).bind(since);
            query.fetch_value().await
        }?;
        Ok(count > 0)
    }

    async fn list(&self, server: &str) -> sqlx::Result<HashMap<String, String>> {
        let rows: Vec<(String, String)> =
            self.db.reader().query(select!(LIST)).bind(server).bind(MAX_PINS).fetch_all().await?;
        Ok(rows.into_iter().collect())
    }

    /// Lists the accepted definitions of the tools in `seen`. If nothing is stored for the server yet, this is its first
    /// listing, and all of `seen` is stored as accepted. Any tool that appears later needs an admin.
    async fn list_with(
        &self,
        server: &str,
        seen: &[(String, DefinitionHash)],
    ) -> sqlx::Result<HashMap<String, DefinitionHash>> {
        let mut known = self.list(server).await?;
        if known.is_empty() && !seen.is_empty() {
            // Another replica may store its first listing at this moment. Where the two share a tool, the first one counts.
            match with_retries(|| self.create(server, seen)).await {
                Err(error) if error.as_database_error().is_some_and(DatabaseError::is_unique_violation) => {}
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
            {
                let query = tx.query(CREATE).bind(id(server, tool)).bind(server).bind(tool).bind(hex::encode(hash));
                query.bind(now()).execute().await.map(|_| ())
            }?;
        }
        tx.commit().await
    }

    /// Stores a tool's definition as the accepted one. Returns false if the tool is new and the server already has
    /// [`MAX_PINS`] tools.
    pub(crate) async fn accept(&self, server: &str, tool: &str, definition: DefinitionHash) -> sqlx::Result<bool> {
        let (id, hash) = (id(server, tool), hex::encode(definition));
        let update = || async {
            Ok(self.db.writer().query(ACCEPT).bind(&hash).bind(now()).bind(&id).execute().await?.rows == 1)
        };
        let create = || async {
            let query =
                self.db.writer().query(CREATE_ACCEPTED).bind(&id).bind(server).bind(tool).bind(&hash).bind(now());
            let query = query.bind(now()).bind(server).bind(MAX_PINS);
            Ok::<_, sqlx::Error>(query.execute().await?.rows == 1)
        };
        if with_retries(update).await? {
            return Ok(true);
        }
        match with_retries(create).await {
            // Another admin accepted it at the same moment.
            Err(error) if error.as_database_error().is_some_and(DatabaseError::is_unique_violation) => {
                with_retries(update).await
            }
            outcome => outcome,
        }
    }
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

/// Names may be longer than an index takes, or differ in nothing but spaces at their end.
fn id(server: &str, tool: &str) -> String {
    hex::encode(Sha256::digest(format!("{server}\0{tool}")))
}

fn bytes(text: &str) -> Option<DefinitionHash> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}
