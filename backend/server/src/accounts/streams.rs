//! The streams that are open in this process, by what their readers were let in, and ending those that are over. Who is over
//! is found out in `watch`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::Credential;
use crate::journal::lock;

/// By what a stream's reader was let in: a session or a key, and the generation of its owner's rights.
pub(super) type Right = (Credential, i32);

/// The streams of this process.
#[derive(Debug, Default)]
pub(super) struct OpenStreams {
    rights: Mutex<HashMap<Right, Readers>>,
    pub(super) look: Notify,
}

#[derive(Debug, Default)]
struct Readers {
    number: usize,
    ended: CancellationToken,
}

/// A stream that is known to be open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Arc<OpenStreams>,
    right: Right,
    ended: CancellationToken,
}

impl OpenStream {
    /// Done when the reader's right is over.
    pub(crate) fn ended(&self) -> WaitForCancellationFutureOwned {
        self.ended.clone().cancelled_owned()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut rights = lock(&self.streams.rights);
        if let Some(readers) = rights.get_mut(&self.right) {
            readers.number -= 1;
            if readers.number == 0 {
                rights.remove(&self.right);
            }
        }
    }
}

impl OpenStreams {
    /// Looks at once, for what was just done here.
    pub(super) fn look_now(&self) {
        self.look.notify_one();
    }

    pub(super) fn open(self: &Arc<Self>, right: Right) -> OpenStream {
        let mut rights = lock(&self.rights);
        let readers = rights.entry(right).or_default();
        readers.number += 1;
        self.look.notify_one();
        OpenStream { streams: Arc::clone(self), right, ended: readers.ended.clone() }
    }

    pub(super) fn rights(&self) -> Vec<Right> {
        lock(&self.rights).keys().copied().collect()
    }

    pub(super) fn end(&self, over: &[Right]) {
        let rights = lock(&self.rights);
        for readers in over.iter().filter_map(|right| rights.get(right)) {
            readers.ended.cancel();
        }
    }
}
