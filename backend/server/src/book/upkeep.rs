//! What goes on beside the use cases: writing down what new calls are found by, and counting the hours that are over.

use std::time::Duration;

use super::{Book, store::facts};

/// How often is looked for what is new.
const KEPT_UP_EVERY: Duration = Duration::from_secs(10);

/// The pause before more of it, so that what people wait for comes between.
const PAUSE: Duration = Duration::from_millis(50);

impl Book {
    /// Writes down what new calls are found by, and counts the hours that are over, for ever.
    pub(crate) async fn keep_up(self) {
        loop {
            let has_more = async {
                let is_behind = facts::complete(&self.context.db).await? == facts::CALLS_AT_ONCE;
                Ok::<_, sqlx::Error>(self.count_hours().await? || is_behind)
            };
            let pause = match has_more.await {
                Ok(true) => PAUSE,
                Ok(false) => KEPT_UP_EVERY,
                Err(error) => {
                    tracing::warn!(%error, "the book of tool calls could not be kept up");
                    KEPT_UP_EVERY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }
}
