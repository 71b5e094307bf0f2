//! What a node of a Galera cluster is asked beside what every server is: whether it is one, whether it can be worked with, and
//! who of all that start at once may change the tables. A server's own locks hold on its own node alone.

use std::{future::Future, time::Duration};

use sqlx::{Executor, MySqlConnection};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{
    error::DbError,
    failure::{is_rolled_back, mysql_number},
    timeouts::in_time,
};

/// The table in which stands who changes the tables of a cluster.
pub(super) const LEASE_TABLE: &str = "_tallybook_migrating";

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS _tallybook_migrating \
     (id INT NOT NULL PRIMARY KEY, owner CHAR(36) NOT NULL, until DATETIME(6) NOT NULL) ENGINE = InnoDB";

const CREATE_ROW: &str = "INSERT IGNORE INTO _tallybook_migrating (id, owner, until) VALUES (1, '', '2000-01-01')";

const HAS_TABLE: &str = "SELECT COUNT(*) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '_tallybook_migrating'";

const HAS_ROW: &str = "SELECT COUNT(*) FROM _tallybook_migrating";

const TAKE: &str = "UPDATE _tallybook_migrating SET owner = ?, until = UTC_TIMESTAMP(6) + INTERVAL 5 MINUTE \
     WHERE id = 1 AND (owner = ? OR until < UTC_TIMESTAMP(6))";

const GIVE_BACK: &str = "UPDATE _tallybook_migrating SET until = UTC_TIMESTAMP(6) WHERE id = 1 AND owner = ?";

/// How often somebody who holds the lease says so, of the minutes after which a dead holder has lost it: a change of a large table
/// holds up every write for that long.
const HOLD_EVERY: Duration = Duration::from_secs(10);

/// How often it is asked for, or given back where that was refused.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// How often it is given back at most.
const MAX_GIVING_BACK: u32 = 40;

/// Whether the server is a node of a cluster.
pub(super) async fn is_node(connection: &mut MySqlConnection) -> sqlx::Result<bool> {
    let show = sqlx::query_as("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'");
    let row: Option<(String, String)> = in_time(show.fetch_optional(connection)).await?;
    Ok(row.is_some_and(|(_, value)| value == "ON"))
}

/// Fails where its cluster has lost the node, which then refuses all but to show and to set things. Waits for nothing.
pub(super) async fn check_ready(connection: &mut MySqlConnection) -> sqlx::Result<()> {
    in_time(connection.execute("DO 0")).await.map(|_| ())
}

/// The right to change the tables of a cluster, which one process has at a time, whichever node it is connected to: a commit that
/// met another one is refused.
#[derive(Debug)]
pub struct MigrationLease {
    owner: String,
}

impl MigrationLease {
    /// Waits for it.
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
            sleep(ASK_EVERY).await;
        }
    }

    async fn try_take(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        // Making a table stops all writes of a cluster, also where it is there, and has those refused that it meets: of those who
        // wait, nobody may do so again and again.
        if count(connection, HAS_TABLE).await? == 0 {
            in_time(sqlx::query(CREATE_TABLE).execute(&mut *connection)).await?;
        }
        if count(connection, HAS_ROW).await? == 0 {
            in_time(sqlx::query(CREATE_ROW).execute(&mut *connection)).await?;
        }
        self.hold(connection).await
    }

    async fn hold(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        let taken = sqlx::query(TAKE).bind(&self.owner).bind(&self.owner).execute(connection);
        Ok(in_time(taken).await?.rows_affected() == 1)
    }

    /// Keeps it for as long as `work` takes.
    pub(super) async fn hold_while<T>(&self, connection: &mut MySqlConnection, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = sleep(HOLD_EVERY) => {}
            }
            if let Err(error) = self.hold(connection).await {
                tracing::debug!(%error, "the right to change the tables could not be renewed yet");
            }
        }
    }

    /// Lets the next one have it. Where that fails, it runs out.
    pub async fn give_back(self, connection: &mut MySqlConnection) {
        for _ in 0..MAX_GIVING_BACK {
            let given = sqlx::query(GIVE_BACK).bind(&self.owner).execute(&mut *connection);
            match in_time(given).await {
                Err(error) if is_rolled_back(&error) => sleep(ASK_EVERY).await,
                Err(error) => {
                    tracing::warn!(%error, "servers that start wait until the right to change the tables has run out");
                    return;
                }
                Ok(_) => return,
            }
        }
        tracing::warn!(
            "the right to change the tables could not be given back; servers that start wait until it has run out"
        );
    }
}

async fn count(connection: &mut MySqlConnection, rows: &'static str) -> sqlx::Result<i64> {
    in_time(sqlx::query_scalar(rows).fetch_one(connection)).await
}
