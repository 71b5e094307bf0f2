//! Checks the file and the foreign keys of an embedded database. MySQL servers check theirs themselves.

use crate::{
    database::Database,
    time::{COMMAND_TIMEOUT, with_timeout},
};

/// Maximum number of listed problems.
const MAX_TOLD: i64 = 20;

impl Database {
    /// Lists damage to the file, and rows that refer to missing rows, with one sentence for each problem.
    pub async fn list_damage(&self) -> sqlx::Result<Vec<String>> {
        let Some(pool) = self.sqlite_readers() else { return Ok(Vec::new()) };
        let list = "SELECT integrity_check FROM pragma_integrity_check LIMIT ?";
        let damage: Vec<String> =
            with_timeout(COMMAND_TIMEOUT, sqlx::query_scalar(list).bind(MAX_TOLD).fetch_all(pool)).await?;
        let orphans =
            "SELECT \"table\", parent, COUNT(*) FROM pragma_foreign_key_check GROUP BY \"table\", parent LIMIT ?";
        let orphans: Vec<(String, String, i64)> =
            with_timeout(COMMAND_TIMEOUT, sqlx::query_as(orphans).bind(MAX_TOLD).fetch_all(pool)).await?;
        let orphan = |(table, parent, count)| format!("{count} rows of {table} refer to missing rows of {parent}");
        Ok(damage.into_iter().filter(|line| line != "ok").chain(orphans.into_iter().map(orphan)).collect())
    }
}
