//! Counts of uploads, for monitoring.

use prometheus_client::metrics::counter::Counter;

/// Counts of uploads since the process started.
#[derive(Clone, Debug, Default)]
pub struct FileCounts {
    /// Files that were uploaded.
    pub uploads: Counter,
    /// Uploads that were refused or failed.
    pub failed_uploads: Counter,
    /// Bytes of the files that were uploaded.
    pub uploaded_bytes: Counter,
}
