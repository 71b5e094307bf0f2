//! Maintenance task of accounts: deletes expired sessions, links, failed attempts and known browsers.

use std::time::Duration;

use tallybook_database::now;

use super::{
    Accounts,
    limits::{
        ATTEMPT_RETENTION, BROWSER_LIFETIME, IDLE_LIFETIME, LINK_RETENTION, MAX_ATTEMPT_COUNTERS, USERS_PER_PAGE,
    },
    store::{attempts, known_browsers, links, sessions, users},
};

/// Maintenance interval.
const EVERY: Duration = Duration::from_mins(10);

impl Accounts {
    /// Runs the maintenance task. Never returns.
    pub async fn run_maintenance(self) {
        self.context.hasher.warm_up().await;
        loop {
            if let Err(error) = self.forget_what_is_over().await {
                tracing::warn!(%error, "cannot delete expired sessions, links and sign-in attempts");
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn forget_what_is_over(&self) -> sqlx::Result<()> {
        let db = &self.context.db;
        sessions::delete_expired(db, now() - IDLE_LIFETIME).await?;
        links::delete_before(db, now() - LINK_RETENTION).await?;
        known_browsers::delete_before(db, now() - BROWSER_LIFETIME).await?;
        while users::fill_skeletons(db, USERS_PER_PAGE).await? > 0 {}
        attempts::forget_old(db, now() - ATTEMPT_RETENTION, MAX_ATTEMPT_COUNTERS).await
    }
}
