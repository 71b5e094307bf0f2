//! The tasks of a session, which end with it: its requests and its uploads.

use std::collections::BTreeMap;

use futures_channel::oneshot;
use futures_util::future::AbortHandle;
use send_wrapper::SendWrapper;
use tallybook_protocol::Conversation;
use web_sys::File;

/// Tasks of a session.
#[derive(Default)]
pub(super) struct Tasks {
    /// The conversation that the document contains, until it is requested.
    initial: Option<oneshot::Receiver<Box<Conversation>>>,
    /// The task that performs the current request.
    request: Option<AbortHandle>,
    others: Vec<AbortHandle>,
    /// The content of files that are not uploaded yet, by key.
    files: BTreeMap<String, HeldFile>,
}

/// A file that is not uploaded yet. Dropping it aborts its upload.
struct HeldFile {
    content: SendWrapper<File>,
    upload: Option<AbortHandle>,
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        if let Some(upload) = &self.upload {
            upload.abort();
        }
    }
}

impl Tasks {
    /// Returns the tasks of a session that starts. `initial` is the conversation that the document contains.
    pub(super) fn new(initial: Option<oneshot::Receiver<Box<Conversation>>>) -> Self {
        Self { initial, ..Self::default() }
    }

    /// Returns the conversation that the document contains, once.
    pub(super) fn take_initial(&mut self) -> Option<oneshot::Receiver<Box<Conversation>>> {
        self.initial.take()
    }

    /// Adds the task that performs the current request.
    pub(super) fn perform(&mut self, request: AbortHandle) {
        self.request = Some(request);
    }

    /// Aborts the current request.
    pub(super) fn abort_request(&mut self) {
        if let Some(request) = self.request.take() {
            request.abort();
        }
    }

    /// Adds a task that is neither a request nor an upload.
    pub(super) fn add(&mut self, task: AbortHandle) {
        self.others.push(task);
    }

    /// Aborts all tasks except the current request.
    pub(super) fn abort_others(&mut self) {
        self.others.iter().for_each(AbortHandle::abort);
        self.files.clear();
    }

    /// Holds the content of a file until it is uploaded.
    pub(super) fn hold(&mut self, key: String, content: File) {
        self.files.insert(key, HeldFile { content: SendWrapper::new(content), upload: None });
    }

    /// Returns the content of a file.
    pub(super) fn content(&self, key: &str) -> Option<SendWrapper<File>> {
        self.files.get(key).map(|held| held.content.clone())
    }

    /// Adds the upload of a file.
    pub(super) fn upload(&mut self, key: &str, upload: AbortHandle) {
        if let Some(held) = self.files.get_mut(key) {
            held.upload = Some(upload);
        }
    }

    /// Forgets the content of a file, and aborts its upload.
    pub(super) fn forget(&mut self, key: &str) {
        self.files.remove(key);
    }
}
