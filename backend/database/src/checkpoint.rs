//! Empties the write-ahead log (WAL) of an embedded database, which may still contain deleted texts.

use std::time::Duration;

use sqlx::{ConnectOptions as _, Connection as _};

use crate::{database::Database, time::with_default_timeout};

/// Maximum time for which a checkpoint waits for readers. Writers wait during that time.
const READER_TIMEOUT: Duration = Duration::from_millis(100);

impl Database {
    /// Copies the WAL of an embedded database into the database file and empties the WAL. Returns `false` if a reader
    /// still needs the WAL; try again later.
    pub async fn empty_journal(&self) -> sqlx::Result<bool> {
        let Some(writer) = self.sqlite_writer() else { return Ok(true) };
        // Uses a separate connection, because the writer's has a longer timeout.
        let options = (*writer.connect_options()).clone().create_if_missing(false).busy_timeout(READER_TIMEOUT);
        let mut connection = with_default_timeout(options.connect()).await?;
        let checkpoint = sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut connection);
        let (busy, _, _): (i64, i64, i64) = with_default_timeout(checkpoint).await?;
        with_default_timeout(connection.close()).await?;
        Ok(busy == 0)
    }
}
