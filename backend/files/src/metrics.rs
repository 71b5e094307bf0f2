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

impl FileCounts {
    /// Begins to count an upload.
    pub(crate) fn begin(&self) -> UploadCount {
        UploadCount { counts: self.clone(), is_counted: false }
    }
}

/// Counts one upload when it is dropped: as failed, unless it has succeeded. So an upload whose client disconnects is
/// counted too.
#[derive(Debug)]
pub(crate) struct UploadCount {
    counts: FileCounts,
    is_counted: bool,
}

impl UploadCount {
    /// Counts the upload as stored.
    pub(crate) fn succeed(&mut self, bytes: u64) {
        self.counts.uploads.inc();
        self.counts.uploaded_bytes.inc_by(bytes);
        self.is_counted = true;
    }

    /// Leaves out the upload, whose file was stored before.
    pub(crate) fn leave_out(&mut self) {
        self.is_counted = true;
    }
}

impl Drop for UploadCount {
    fn drop(&mut self) {
        if !self.is_counted {
            self.counts.failed_uploads.inc();
        }
    }
}
