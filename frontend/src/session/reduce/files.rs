//! Files of the message field: they are uploaded at once, a few at a time, and a message waits for its files.

use tallybook_protocol::{FileInfo, MessageFile};

use super::super::{
    effect::Effect,
    files::{AttachedFile, MAX_FILES, UPLOADS_AT_ONCE, Upload, message_file},
    state::State,
};
use crate::api::ApiError;

impl State {
    /// Adds files to the message field and uploads them.
    pub(super) fn attach(&mut self, mut files: Vec<AttachedFile>, out: &mut Vec<Effect>) {
        let room = MAX_FILES.saturating_sub(self.files.len());
        self.notice = (files.len() > room).then(|| self.text.too_many_files(MAX_FILES));
        for left_out in files.drain(room.min(files.len())..) {
            out.push(Effect::ForgetFile(left_out.key));
        }
        self.files.extend(files);
        self.upload_next(out);
    }

    /// Removes a file from the message field.
    pub(super) fn remove_file(&mut self, key: &str, out: &mut Vec<Effect>) {
        self.files.retain(|file| file.key != key);
        out.push(Effect::ForgetFile(key.to_owned()));
        self.upload_next(out);
        self.send_when_uploaded(out);
    }

    /// Uploads a file again whose upload failed.
    pub(super) fn retry_upload(&mut self, key: &str, out: &mut Vec<Effect>) {
        if let Some(file) = self.files.iter_mut().find(|file| file.key == key)
            && matches!(file.upload, Upload::Failed { can_retry: true, .. })
        {
            file.upload = Upload::Waiting;
        }
        self.upload_next(out);
    }

    pub(super) fn on_upload_progress(&mut self, key: &str, percent: u8) {
        let file = self.files.iter_mut().find(|file| file.key == key && file.is_uploading());
        if let Some(file) = file {
            file.upload = Upload::Running(percent);
        }
    }

    pub(super) fn on_uploaded(&mut self, key: &str, uploaded: Result<FileInfo, ApiError>, out: &mut Vec<Effect>) {
        let text = self.text;
        // The user may have removed it.
        if let Some(file) = self.files.iter_mut().find(|file| file.key == key) {
            file.upload = match uploaded {
                Ok(stored) => {
                    out.push(Effect::ForgetFile(key.to_owned()));
                    Upload::Ready(message_file(stored))
                }
                Err(error) => Upload::Failed { reason: error.message(text), can_retry: error.may_succeed_later() },
            };
        }
        self.upload_next(out);
        self.send_when_uploaded(out);
    }

    fn upload_next(&mut self, out: &mut Vec<Effect>) {
        let running = self.files.iter().filter(|file| matches!(file.upload, Upload::Running(_))).count();
        let waiting = self.files.iter_mut().filter(|file| file.upload == Upload::Waiting);
        for file in waiting.take(UPLOADS_AT_ONCE.saturating_sub(running)) {
            file.upload = Upload::Running(0);
            out.push(Effect::Upload(file.key.clone()));
        }
    }

    /// Returns the files to send with the message field. While a file is not uploaded, returns `None`: the message with
    /// the ID `id` is sent when all are, or a notice names what to do.
    pub(super) fn files_to_send(&mut self, id: &str) -> Option<Vec<MessageFile>> {
        if self.files.iter().any(AttachedFile::is_uploading) {
            self.send_after_uploads = Some(id.to_owned());
            return None;
        }
        let ready: Vec<_> = self.files.iter().filter_map(AttachedFile::ready).cloned().collect();
        if ready.len() < self.files.len() {
            self.notice = Some(self.text.upload_failed_first().to_owned());
            return None;
        }
        Some(ready)
    }

    fn send_when_uploaded(&mut self, out: &mut Vec<Effect>) {
        if !self.files.iter().any(AttachedFile::is_uploading)
            && let Some(id) = self.send_after_uploads.take()
        {
            self.send_draft(id, out);
        }
    }
}
