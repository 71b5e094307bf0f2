//! The key of a row just inserted, which the two engines tell in different ways.

use sqlx::{mysql::MySqlQueryResult, sqlite::SqliteQueryResult};

/// The outcome of an INSERT.
pub(crate) trait InsertedId {
    /// The key that the database chose.
    fn inserted_id(&self) -> i64;
}

impl InsertedId for MySqlQueryResult {
    fn inserted_id(&self) -> i64 {
        // Keys are BIGINT, so the u64 that the protocol carries always fits.
        i64::try_from(self.last_insert_id()).unwrap_or(i64::MAX)
    }
}

impl InsertedId for SqliteQueryResult {
    fn inserted_id(&self) -> i64 {
        self.last_insert_rowid()
    }
}
