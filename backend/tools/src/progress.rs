//! How far a call is, on its way from the tool to whoever runs it.

use std::sync::Arc;

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is done, in the tool's own measure.
    pub progress: f64,
    /// What there is to do, in the same measure, where the tool knows.
    pub total: Option<f64>,
    /// In the tool's own words.
    pub message: Option<String>,
}

/// Where a tool says how far it is, as often as it likes.
#[derive(Clone)]
pub struct ProgressSender(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressSender {
    /// A sender whose word goes there. What is called must return at once.
    pub fn new(tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// A sender whose word nobody hears.
    pub fn to_nobody() -> Self {
        Self::new(drop)
    }

    /// Says how far the call is now.
    pub fn send(&self, progress: Progress) {
        (self.0)(progress);
    }
}
