//! Cancellation and deadline of a turn.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::error::AgentError;

/// The cancellation token and the deadline of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnDeadline<'a> {
    cancel: &'a CancellationToken,
    turn_time: Duration,
    deadline: Instant,
}

impl<'a> TurnDeadline<'a> {
    /// Creates the deadline of a run that begins now. `active` is the part of `turn_time` that earlier runs of the turn
    /// have used.
    pub(crate) fn new(cancel: &'a CancellationToken, turn_time: Duration, active: Duration) -> Self {
        Self { cancel, turn_time, deadline: Instant::now() + turn_time.saturating_sub(active) }
    }

    /// Waits until the turn must end, and returns the reason.
    pub(crate) async fn cancelled_or_elapsed(&self) -> AgentError {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => AgentError::Cancelled,
            () = self.elapsed() => AgentError::TurnTimeout { seconds: self.turn_time.as_secs() },
        }
    }

    async fn elapsed(&self) {
        // The timer counts in whole milliseconds. If no time is left, something could still begin before it fires.
        if Instant::now() < self.deadline {
            sleep_until(self.deadline).await;
        }
    }
}
