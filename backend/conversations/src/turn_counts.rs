//! Counts of turns that this process has started and ended, for monitoring. Exposing the metrics happens elsewhere.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use tallybook_protocol::MessageStatus;

/// Statuses with which a turn can end.
const ENDS: [MessageStatus; 5] = [
    MessageStatus::Complete,
    MessageStatus::Stopped,
    MessageStatus::Failed,
    MessageStatus::Interrupted,
    MessageStatus::AwaitingApproval,
];

/// Counts of turns that this process has started and ended. A turn that resumes counts as started again. An end is
/// counted by the process that stored it; for an abandoned turn, that is not the process that started it.
#[derive(Clone, Debug)]
pub struct TurnCounts {
    /// Turns that were started.
    pub started: Counter,
    /// Turns that ended, by status.
    pub ended: Family<EndLabels, Counter>,
}

/// Label with the status of an ended turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EndLabels {
    status: &'static str,
}

impl Default for TurnCounts {
    /// Creates a zero for each status: a metric that is missing until its first use cannot be compared.
    fn default() -> Self {
        let counts = Self { started: Counter::default(), ended: Family::default() };
        for status in ENDS {
            drop(counts.of(status));
        }
        counts
    }
}

impl TurnCounts {
    pub(crate) fn count_start(&self) {
        self.started.inc();
    }

    pub(crate) fn count_end(&self, status: MessageStatus) {
        self.of(status).inc();
    }

    fn of(&self, status: MessageStatus) -> Counter {
        self.ended.get_or_create_owned(&EndLabels { status: status.as_str() })
    }
}
