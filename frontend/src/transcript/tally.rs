//! How the tool calls of a message ended, counted.

use tallybook_protocol::ToolCallStatus;

use super::Entry;

/// How many calls of a message ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// They ran to their end, or were refused.
    pub finished: usize,
    /// They were ended while they ran.
    pub cancelled: usize,
    /// Nobody heard of their end.
    pub unclear: usize,
}

impl Tally {
    /// Counts the calls of one message.
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
