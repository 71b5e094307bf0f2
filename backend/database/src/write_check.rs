//! Checks that the database accepts writes.

use std::time::Duration;

use crate::{database::Database, time::now};

/// Interval in which at most one check of all processes that share the database changes the row.
const PERIOD: Duration = Duration::from_secs(5);

impl Database {
    /// Updates a small row, to detect failures that reads do not show: a full disk or a read-only server.
    pub async fn check_writable(&self) -> sqlx::Result<()> {
        let period = now().timestamp() / i64::try_from(PERIOD.as_secs()).unwrap_or(i64::MAX);
        // Changes nothing if a process has already written in this period. A read-only database refuses the statement
        // even then.
        self.writer()
            .query("UPDATE write_check SET period = ? WHERE period <> ?")
            .bind(period)
            .bind(period)
            .execute()
            .await?;
        Ok(())
    }
}
