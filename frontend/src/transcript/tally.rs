//! Counts the tool calls of a message by their ends.

use tallybook_protocol::ToolCallStatus;

use super::Entry;

/// Numbers of a message's calls by their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that completed or were denied.
    pub finished: usize,
    /// Calls that were cancelled while they ran.
    pub cancelled: usize,
    /// Calls whose end is unknown.
    pub unclear: usize,
}

impl Tally {
    /// Counts the calls of a message.
    pub fn of(entry: &Entry) -> Self {
        let mut tally = Self::default();
        for call in entry.calls() {
            match call.status {
                ToolCallStatus::Success | ToolCallStatus::Error | ToolCallStatus::Denied => tally.finished += 1,
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
