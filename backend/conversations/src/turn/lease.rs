//! Keeps the lease of a running turn. The lease is this process's right to write the turn: if it expires, another
//! process ends the turn as interrupted (`turn::recovery`).
//!
//! A process learns here that it has lost the lease, or when it writes: every write checks that the turn is still this
//! run's (`TurnWriter::begin`), and the recorder then fails with `RecordError::LostLease`. The run then stops and stores
//! nothing more.

use crate::{
    context::Context,
    store::turns::{self, TurnRows},
};

/// Renews the lease at intervals of a quarter of its duration. Returns when the lease is lost: the turn no longer
/// belongs to this process.
pub(crate) async fn keep_lease(context: &Context, rows: TurnRows) {
    let Context { db, settings, .. } = context;
    loop {
        tokio::time::sleep(settings.lease / 4).await;
        match turns::renew_lease(db, rows.assistant_message_id, rows.epoch, settings.lease).await {
            Ok(true) => {}
            Ok(false) => return,
            // The database may be available again before the lease expires.
            Err(error) => tracing::warn!(%error, "a turn's lease could not be renewed"),
        }
    }
}
