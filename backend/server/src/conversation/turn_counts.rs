//! How many turns this process has started and ended, for monitoring. Where the figures are shown is not decided here.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use tallybook_protocol::MessageStatus;

/// In which ways a turn ends.
const ENDS: [MessageStatus; 5] = [
    MessageStatus::Complete,
    MessageStatus::Stopped,
    MessageStatus::Failed,
    MessageStatus::Interrupted,
    MessageStatus::AwaitingApproval,
];

/// How many turns this process has started and ended. A turn that goes on after it was cut off is started once more. An
/// end is counted by the process that stored it, which for an abandoned turn is another one than started it.
#[derive(Clone, Debug)]
pub(crate) struct TurnCounts {
    /// Turns that were started.
    pub(crate) started: Counter,
    /// Turns that were ended, by how.
    pub(crate) ended: Family<EndLabels, Counter>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct EndLabels {
    status: &'static str,
}

impl Default for TurnCounts {
    /// Zero of each kind: a figure that is missing until it is needed cannot be compared with anything.
    fn default() -> Self {
        let counts = Self { started: Counter::default(), ended: Family::default() };
        for status in ENDS {
            drop(counts.of(status));
        }
        counts
    }
}

impl TurnCounts {
    pub(super) fn count_start(&self) {
        self.started.inc();
    }

    pub(super) fn count_end(&self, status: MessageStatus) {
        self.of(status).inc();
    }

    fn of(&self, status: MessageStatus) -> Counter {
        self.ended.get_or_create_owned(&EndLabels { status: status.as_str() })
    }
}
