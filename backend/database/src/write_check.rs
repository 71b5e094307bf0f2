//! Checks that the database accepts writes.

use std::time::Duration;

use crate::{clock::now, database::Database};

/// Time for which one write counts for all processes that share the database.
const PERIOD: Duration = Duration::from_secs(5);

/// Changes nothing if this period's write has happened; a read-only database refuses the statement even then.
const WRITE: &str = "UPDATE write_check SET period = ? WHERE period <> ?";

impl Database {
    /// Writes a small row, to detect what reading does not show: a full disk, or a read-only server.
    pub async fn check_writable(&self) -> sqlx::Result<()> {
        let period = now().timestamp() / i64::try_from(PERIOD.as_secs()).unwrap_or(i64::MAX);
        self.writer().query(WRITE).bind(period).bind(period).execute().await?;
        Ok(())
    }
}
