//! Purging the journals of turns that have been over for longer than the operator keeps them, and what programs told them.

use std::{sync::Arc, time::Duration};

use super::super::{
    context::Context,
    store::{programs, responses, turns},
};
use crate::journal::stored;

/// How often old journals are looked for.
const PURGE_EVERY: Duration = Duration::from_hours(1);

/// The pause before more of them, so that what people wait for comes between.
const PURGE_PAUSE: Duration = Duration::from_millis(500);

/// How many turns' journals are purged at a time.
const MAX_PURGED_AT_ONCE: u32 = 50;

/// Purges the journals of turns that have been over for so long, until the server drains.
pub(in crate::conversation) async fn purge_journals(context: Arc<Context>) {
    let Some(kept_for) = context.lifetimes.journal else { return };
    loop {
        let purged = async {
            let time = turns::database_now(&context.db).await? - kept_for;
            programs::delete_turn_inputs_before(&context.db, time).await?;
            responses::delete_before(&context.db, time).await?;
            stored::delete_events_before(&context.db, time, MAX_PURGED_AT_ONCE).await
        };
        let pause = match purged.await {
            Ok(MAX_PURGED_AT_ONCE) => PURGE_PAUSE,
            Ok(_) => PURGE_EVERY,
            Err(error) => {
                tracing::warn!(%error, "old journals could not be purged");
                PURGE_EVERY
            }
        };
        if context.draining.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}
