//! Why a call cannot be run again.

use super::limits::MAX_RERUN_INPUT_BYTES;

/// Why a call cannot be run again. The messages are for admins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoRerun {
    /// It has not come to its end.
    #[error("It cannot be run again while it is open. Wait for its end.")]
    Open,
    /// Nobody offers its tool.
    #[error("It cannot be run again: its tool is not there at the moment.")]
    Gone,
    /// It may change something in the world.
    #[error("It cannot be run again: its tool may change something, so each call takes the consent of whose it is.")]
    HighRisk,
    /// Its tool's definition is not what it was.
    #[error("It cannot be run again: its tool has changed since, so the result would say nothing about this call.")]
    Changed,
    /// Some of its arguments were secret and are not kept.
    #[error("It cannot be run again: its tool takes secret arguments, and those are not kept.")]
    Secret,
    /// It is longer than what is taken.
    #[error("It cannot be run again: its input is longer than {} kB.", MAX_RERUN_INPUT_BYTES / 1024)]
    TooLong,
}
