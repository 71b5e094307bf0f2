//! Registry of the streams that are open in this process, by the credential of their caller. `stream_revocation` finds
//! out which ones must end.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::Credential;

/// Access of a stream's caller: a session or an API key, and the permission generation of its owner.
pub(crate) type Access = (Credential, i32);

/// The open streams of this process.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams {
    accesses: Mutex<HashMap<Access, Entry>>,
    pub(crate) check_requested: Notify,
}

#[derive(Debug, Default)]
struct Entry {
    number: usize,
    ended: CancellationToken,
}

/// Registration of an open stream, until it is dropped.
#[derive(Debug)]
pub struct OpenStream {
    streams: Arc<OpenStreams>,
    access: Access,
    ended: CancellationToken,
}

impl OpenStream {
    /// Returns a future that completes when the caller's access is revoked.
    pub fn ended(&self) -> WaitForCancellationFutureOwned {
        self.ended.clone().cancelled_owned()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut accesses = self.streams.accesses.lock();
        if let Some(entry) = accesses.get_mut(&self.access) {
            entry.number -= 1;
            if entry.number == 0 {
                accesses.remove(&self.access);
            }
        }
    }
}

impl OpenStreams {
    /// Wakes the task in `stream_revocation` at once, after access may have been revoked in this process.
    pub(crate) fn check_now(&self) {
        self.check_requested.notify_one();
    }

    pub(crate) fn open(self: &Arc<Self>, access: Access) -> OpenStream {
        let mut accesses = self.accesses.lock();
        let entry = accesses.entry(access).or_default();
        entry.number += 1;
        self.check_requested.notify_one();
        OpenStream { streams: Arc::clone(self), access, ended: entry.ended.clone() }
    }

    pub(crate) fn accesses(&self) -> Vec<Access> {
        self.accesses.lock().keys().copied().collect()
    }

    pub(crate) fn end(&self, revoked: &[Access]) {
        let accesses = self.accesses.lock();
        for entry in revoked.iter().filter_map(|access| accesses.get(access)) {
            entry.ended.cancel();
        }
    }
}
