//! A test's own connections to its database, separate from the program's.

use std::{str::FromStr, time::Duration};

use sqlx::{
    MySqlPool, SqlitePool,
    mysql::MySqlPoolOptions,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

/// Maximum wait of a connection for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// Connections for any statement that a test needs.
pub(crate) enum Pool {
    MySql(MySqlPool),
    Sqlite(SqlitePool),
}

impl Pool {
    pub(crate) async fn open(url: &str) -> Self {
        if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url).expect("its address").busy_timeout(LOCK_TIMEOUT);
            let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
            Self::Sqlite(pool.expect("the file exists"))
        } else {
            let pool = MySqlPoolOptions::new().max_connections(8).connect(url).await;
            Self::MySql(pool.expect("the server answers"))
        }
    }

    pub(crate) fn mysql(self) -> MySqlPool {
        let Self::MySql(pool) = self else { panic!("the engine is SQLite") };
        pool
    }

    pub(crate) fn sqlite(self) -> SqlitePool {
        let Self::Sqlite(pool) = self else { panic!("the engine is MySQL") };
        pool
    }
}
