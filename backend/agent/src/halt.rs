//! What ends a turn before it is done.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::error::AgentError;

/// Why a turn may have to end: somebody stops it, or its time is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halt<'a> {
    cancel: &'a CancellationToken,
    turn_time: Duration,
    deadline: Instant,
}

impl<'a> Halt<'a> {
    /// For a turn that runs from now on, and has run for `active` before.
    pub(super) fn new(cancel: &'a CancellationToken, turn_time: Duration, active: Duration) -> Self {
        Self { cancel, turn_time, deadline: Instant::now() + turn_time.saturating_sub(active) }
    }

    /// Waits until the turn must end, and says why.
    pub(super) async fn reached(&self) -> AgentError {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => AgentError::Cancelled,
            () = self.time_over() => AgentError::TurnTimeout { seconds: self.turn_time.as_secs() },
        }
    }

    async fn time_over(&self) {
        // The timer counts in whole milliseconds: where no time is left, something could still begin.
        if Instant::now() < self.deadline {
            sleep_until(self.deadline).await;
        }
    }
}
