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
pub(super) const TURN_TABLE: &str = "_tallybook_migrating";

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS _tallybook_migrating \
     (id INT NOT NULL PRIMARY KEY, owner CHAR(36) NOT NULL, until DATETIME(6) NOT NULL) ENGINE = InnoDB";

const CREATE_ROW: &str = "INSERT IGNORE INTO _tallybook_migrating (id, owner, until) VALUES (1, '', '2000-01-01')";

const TAKE: &str = "UPDATE _tallybook_migrating SET owner = ?, until = UTC_TIMESTAMP(6) + INTERVAL 5 MINUTE \
     WHERE id = 1 AND (owner = ? OR until < UTC_TIMESTAMP(6))";

const GIVE_BACK: &str = "UPDATE _tallybook_migrating SET until = UTC_TIMESTAMP(6) WHERE id = 1 AND owner = ?";

/// How often somebody who holds the turn says so, of the minutes after which a dead holder has lost it: a change of a large table
/// holds up every write for that long.
const HOLD_EVERY: Duration = Duration::from_secs(10);

/// How often it is asked for.
const ASK_EVERY: Duration = Duration::from_millis(250);

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
pub(super) struct Turn {
    owner: String,
}

impl Turn {
    /// Waits for it.
    pub(super) async fn take(connection: &mut MySqlConnection, limit: Duration) -> Result<Self, DbError> {
        let turn = Self { owner: Uuid::new_v4().to_string() };
        let deadline = Instant::now() + limit;
        loop {
            match turn.try_take(connection).await {
                Ok(true) => return Ok(turn),
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
        in_time(sqlx::query(CREATE_TABLE).execute(&mut *connection)).await?;
        in_time(sqlx::query(CREATE_ROW).execute(&mut *connection)).await?;
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
    pub(super) async fn give_back(self, connection: &mut MySqlConnection) {
        let given = sqlx::query(GIVE_BACK).bind(&self.owner).execute(connection);
        if let Err(error) = in_time(given).await {
            tracing::debug!(%error, "the right to change the tables runs out by itself");
        }
    }
}
