//! Progress reports of a running call, sent from the tool to its caller.

use std::sync::Arc;

/// A progress report of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Completed amount, in the tool's own unit.
    pub progress: f64,
    /// Total amount in the same unit, if the tool knows it.
    pub total: Option<f64>,
    /// Message from the tool, if any.
    pub message: Option<String>,
}

/// Sends a tool's progress reports. A tool may send any number of them.
#[derive(Clone)]
pub struct ProgressSender(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressSender {
    /// Creates a sender that calls `report` with each report. `report` must return at once.
    pub fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Creates a sender that discards all reports.
    pub fn noop() -> Self {
        Self::new(drop)
    }

    /// Sends a progress report.
    pub fn send(&self, progress: Progress) {
        (self.0)(progress);
    }
}
