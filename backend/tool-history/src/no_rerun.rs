//! Reasons why a call cannot be re-run.

use super::limits::MAX_RERUN_INPUT_BYTES;

/// The reason why a call cannot be re-run. The messages are for admins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRerun {
    /// The call has not finished.
    #[error("It cannot be run again while it is open. Wait for its end.")]
    Open,
    /// The tool is not available.
    #[error("It cannot be run again: its tool is not there at the moment.")]
    Gone,
    /// The tool can make changes.
    #[error("It cannot be run again: its tool may change something, so each call takes the consent of whose it is.")]
    HighRisk,
    /// The definition of the tool has changed since the call.
    #[error("It cannot be run again: its tool has changed since, so the result would say nothing about this call.")]
    Changed,
    /// Some arguments are secret, and secret arguments are not stored.
    #[error("It cannot be run again: its tool takes secret arguments, and those are not kept.")]
    Secret,
    /// The input is too long.
    #[error("It cannot be run again: its input is longer than {} kB.", MAX_RERUN_INPUT_BYTES / 1024)]
    TooLong,
}
