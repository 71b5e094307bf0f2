//! What an embedded database says of its own files and keys. Servers of MySQL check theirs themselves.

use super::{database::Database, timeouts::in_command_time};

/// How much damage is told of.
const MAX_TOLD: i64 = 20;

impl Database {
    /// What is damaged in the file, and rows that refer to rows which are not there; a sentence each.
    pub(crate) async fn list_damage(&self) -> sqlx::Result<Vec<String>> {
        let Self::Sqlite(pool, _) = self else { return Ok(Vec::new()) };
        let list = "SELECT integrity_check FROM pragma_integrity_check LIMIT ?";
        let damage: Vec<String> = in_command_time(sqlx::query_scalar(list).bind(MAX_TOLD).fetch_all(pool)).await?;
        let orphans =
            "SELECT \"table\", parent, COUNT(*) FROM pragma_foreign_key_check GROUP BY \"table\", parent LIMIT ?";
        let orphans: Vec<(String, String, i64)> =
            in_command_time(sqlx::query_as(orphans).bind(MAX_TOLD).fetch_all(pool)).await?;
        let orphan =
            |(table, parent, count)| format!("{count} rows of {table} refer to rows of {parent} that are not there");
        Ok(damage.into_iter().filter(|told| told != "ok").chain(orphans.into_iter().map(orphan)).collect())
    }
}
