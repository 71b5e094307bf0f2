//! Reasons why a call cannot be re-run.

use super::limits::MAX_RERUN_INPUT_BYTES;

/// The reason why a call cannot be re-run. The messages are for admins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRerun {
    /// The call has not finished.
    #[error("This call cannot be re-run yet. Wait until it has ended.")]
    Open,
    /// The tool is not available.
    #[error("This call cannot be re-run: its tool is unavailable.")]
    Gone,
    /// The tool can make changes.
    #[error("This call cannot be re-run: its tool can make changes, so every call needs its owner's approval.")]
    HighRisk,
    /// The definition of the tool has changed since the call.
    #[error("This call cannot be re-run: its tool has changed since, so the results would not be comparable.")]
    Changed,
    /// Some arguments are secret, and secret arguments are not stored.
    #[error("This call cannot be re-run: its tool takes secret arguments, which are not stored.")]
    Secret,
    /// The input is too long.
    #[error("This call cannot be re-run: its input is longer than {} kB.", MAX_RERUN_INPUT_BYTES / 1024)]
    TooLong,
}
