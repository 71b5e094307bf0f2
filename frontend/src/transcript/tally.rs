//! Counts the tool calls of a message by their outcome.

use tallybook_protocol::ToolCallStatus;

use super::Entry;

/// Numbers of a message's tool calls, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that succeeded or failed.
    pub finished: usize,
    /// Calls that were denied, and so did not run.
    pub denied: usize,
    /// Calls that were cancelled.
    pub cancelled: usize,
    /// Calls whose outcome is not known, or not yet.
    pub unclear: usize,
}

impl Tally {
    /// Counts the calls of one message.
    pub fn of(entry: &Entry) -> Self {
        let mut tally = Self::default();
        for call in entry.calls() {
            match call.status {
                ToolCallStatus::Success | ToolCallStatus::Error => tally.finished += 1,
                ToolCallStatus::Denied => tally.denied += 1,
                ToolCallStatus::Cancelled => tally.cancelled += 1,
                ToolCallStatus::Pending
                | ToolCallStatus::AwaitingApproval
                | ToolCallStatus::Interrupted
                | ToolCallStatus::Unknown => tally.unclear += 1,
            }
        }
        tally
    }
}
