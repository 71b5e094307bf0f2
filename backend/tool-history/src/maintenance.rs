//! The maintenance task of the tool history: fills in the index columns of new calls, and counts past hours.

use std::time::Duration;

use super::{ToolHistory, store::denormalize};

/// Maintenance interval when there is nothing left to do.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(10);

/// Pause before the next batch, so that users' requests run in between.
const PAUSE: Duration = Duration::from_millis(50);

impl ToolHistory {
    /// Fills in the index columns of new calls and counts past hours, forever.
    pub async fn run_maintenance(self) {
        loop {
            let has_more = async {
                let is_behind = denormalize::complete(&self.context.db).await? == denormalize::CALLS_AT_ONCE;
                Ok::<_, sqlx::Error>(self.count_hours().await? || is_behind)
            };
            let pause = match has_more.await {
                Ok(true) => PAUSE,
                Ok(false) => MAINTENANCE_INTERVAL,
                Err(error) => {
                    tracing::warn!(%error, "maintenance of the tool history failed; retrying later");
                    MAINTENANCE_INTERVAL
                }
            };
            tokio::time::sleep(pause).await;
        }
    }
}
