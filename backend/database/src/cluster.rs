//! Checks whether a Galera node is ready, and takes the lease with which one process at a time migrates the cluster.
//! MySQL's own locks are not enough, because they exclude only processes on the same node.

use std::{future::Future, time::Duration};

use sqlx::{Executor, MySqlConnection};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::{
    error::DbError,
    failure::{is_rolled_back, mysql_number},
    time::with_default_timeout,
};

/// Table that stores the lease's holder.
pub(crate) const LEASE_TABLE: &str = "_tallybook_migrating";

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS _tallybook_migrating \
     (id INT NOT NULL PRIMARY KEY, owner CHAR(36) NOT NULL, until DATETIME(6) NOT NULL) ENGINE = InnoDB";

const CREATE_ROW: &str = "INSERT IGNORE INTO _tallybook_migrating (id, owner, until) VALUES (1, '', '2000-01-01')";

const HAS_TABLE: &str = "SELECT COUNT(*) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '_tallybook_migrating'";

const HAS_ROW: &str = "SELECT COUNT(*) FROM _tallybook_migrating";

const TAKE: &str = "UPDATE _tallybook_migrating SET owner = ?, until = UTC_TIMESTAMP(6) + INTERVAL 5 MINUTE \
     WHERE id = 1 AND (owner = ? OR until < UTC_TIMESTAMP(6))";

const GIVE_BACK: &str = "UPDATE _tallybook_migrating SET until = UTC_TIMESTAMP(6) WHERE id = 1 AND owner = ?";

/// Interval at which the holder renews the lease. The lease itself lasts minutes, because a migration of a large table
/// blocks all writes, including the renewal.
const RENEW_INTERVAL: Duration = Duration::from_secs(10);

/// Interval between attempts to take the lease, or to release it after a failure.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum number of attempts to release the lease.
const MAX_RELEASE_ATTEMPTS: u32 = 40;

/// Returns `true` if the server is a node of a cluster.
pub(crate) async fn is_node(connection: &mut MySqlConnection) -> sqlx::Result<bool> {
    let show = sqlx::query_as("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'");
    let row: Option<(String, String)> = with_default_timeout(show.fetch_optional(connection)).await?;
    Ok(row.is_some_and(|(_, value)| value == "ON"))
}

/// Fails if the node has lost its cluster. Such a node refuses all statements except `SHOW` and `SET`. Does not wait
/// until it is ready.
pub(crate) async fn check_ready(connection: &mut MySqlConnection) -> sqlx::Result<()> {
    with_default_timeout(connection.execute("DO 0")).await.map(|_| ())
}

/// Lease for migrating a cluster. Only one process has it at a time, on all nodes together, because the cluster refuses
/// one of two conflicting commits.
#[derive(Debug)]
pub struct MigrationLease {
    owner: String,
}

impl MigrationLease {
    /// Waits until no other process holds the lease, and takes it. Fails with `Migrating` after `limit`.
    pub async fn take(connection: &mut MySqlConnection, limit: Duration) -> Result<Self, DbError> {
        let lease = Self { owner: Uuid::new_v4().to_string() };
        let deadline = Instant::now() + limit;
        loop {
            match lease.try_take(connection).await {
                Ok(true) => return Ok(lease),
                Ok(false) => {}
                Err(error) if is_rolled_back(&error) && mysql_number(&error).is_some() => {}
                Err(error) => return Err(error.into()),
            }
            if Instant::now() >= deadline {
                return Err(DbError::Migrating(limit.as_secs()));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn try_take(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        // CREATE TABLE blocks all writes of a cluster, even if the table exists, and makes the cluster refuse
        // concurrent ones. A waiting process, which gets here repeatedly, must not run it each time.
        if count(connection, HAS_TABLE).await? == 0 {
            with_default_timeout(sqlx::query(CREATE_TABLE).execute(&mut *connection)).await?;
        }
        if count(connection, HAS_ROW).await? == 0 {
            with_default_timeout(sqlx::query(CREATE_ROW).execute(&mut *connection)).await?;
        }
        self.hold(connection).await
    }

    async fn hold(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        let taken = sqlx::query(TAKE).bind(&self.owner).bind(&self.owner).execute(connection);
        Ok(with_default_timeout(taken).await?.rows_affected() == 1)
    }

    /// Renews the lease until `work` is done.
    pub(crate) async fn hold_while<T>(&self, connection: &mut MySqlConnection, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = sleep(RENEW_INTERVAL) => {}
            }
            if let Err(error) = self.hold(connection).await {
                tracing::debug!(%error, "cannot renew the migration lease yet; retrying");
            }
        }
    }

    /// Releases the lease. If that fails, the lease expires.
    pub async fn release(self, connection: &mut MySqlConnection) {
        for _ in 0..MAX_RELEASE_ATTEMPTS {
            let given = sqlx::query(GIVE_BACK).bind(&self.owner).execute(&mut *connection);
            match with_default_timeout(given).await {
                Err(error) if is_rolled_back(&error) => sleep(POLL_INTERVAL).await,
                Err(error) => {
                    tracing::warn!(%error, "cannot release the migration lease; starting servers wait until it expires");
                    return;
                }
                Ok(_) => return,
            }
        }
        tracing::warn!(
            "cannot release the migration lease after several attempts; starting servers wait until it expires"
        );
    }
}

async fn count(connection: &mut MySqlConnection, rows: &'static str) -> sqlx::Result<i64> {
    with_default_timeout(sqlx::query_scalar(rows).fetch_one(connection)).await
}
