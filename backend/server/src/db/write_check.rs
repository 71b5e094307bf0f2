//! Whether the database can be written to, found out by writing.

use std::time::Duration;

use super::{clock::now, database::Database, on_db::write_db};

/// How long one write counts for all processes that share the database. However often they check, it costs one small write
/// in this time.
const PERIOD: Duration = Duration::from_secs(5);

/// Changes nothing when the period's one write was made already; a database that may not be written to refuses it even
/// then.
const WRITE: &str = "UPDATE write_check SET period = ? WHERE period <> ?";

impl Database {
    /// Writes something small, and so finds out what reading does not show: a full disk, a server that is read only.
    pub async fn check_writable(&self) -> sqlx::Result<()> {
        let period = now().timestamp() / i64::try_from(PERIOD.as_secs()).unwrap_or(i64::MAX);
        write_db!(self, |pool| sqlx::query(WRITE).bind(period).bind(period).execute(pool).await.map(|_| ()))
    }
}
