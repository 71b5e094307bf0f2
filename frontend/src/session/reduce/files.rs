//! Files of the message field and of a question that is being edited: they are uploaded at once, a few at a time, and a
//! message waits for its files.

use tallybook_protocol::{FileInfo, MessageFile};

use super::super::{
    effect::Effect,
    files::{AttachedFile, FilesOf, MAX_FILES, UPLOADS_AT_ONCE, Upload, message_file, ready_files},
    shown::Edited,
    state::State,
};
use crate::api::ApiError;

impl State {
    /// Adds files to a message and uploads them.
    pub(super) fn attach(&mut self, of: FilesOf, mut files: Vec<AttachedFile>, out: &mut Vec<Effect>) {
        let text = self.text;
        let Some(attached) = self.files_of(of) else {
            return out.extend(files.into_iter().map(|file| Effect::ForgetFile(file.key)));
        };
        let room = MAX_FILES.saturating_sub(attached.len());
        let left_out = files.split_off(room.min(files.len()));
        attached.extend(files);
        self.notice = (!left_out.is_empty()).then(|| text.too_many_files(MAX_FILES));
        out.extend(left_out.into_iter().map(|file| Effect::ForgetFile(file.key)));
        self.upload_next(out);
    }

    /// Removes a file from a message, and from the server if it was uploaded for this message.
    pub(super) fn remove_file(&mut self, of: FilesOf, key: &str, out: &mut Vec<Effect>) {
        let Some(attached) = self.files_of(of) else { return };
        for removed in attached.extract_if(.., |file| file.key == key) {
            leave(&removed, out);
        }
        self.upload_next(out);
        self.send_when_uploaded(out);
    }

    /// Starts editing a question, or cancels the edit.
    pub(super) fn begin_edit(&mut self, edited: Option<Edited>, out: &mut Vec<Effect>) {
        if let Some(left) = std::mem::replace(&mut self.edited, edited) {
            left.files.iter().for_each(|file| leave(file, out));
        }
    }

    /// Moves files of an edit to the message field, before those that it has. Uploads continue. None is there twice.
    pub(super) fn take_files(&mut self, edited: Vec<AttachedFile>) {
        let id = |file: &AttachedFile| file.ready().map(|file| file.id);
        let is_new = |file: &AttachedFile| id(file).is_none() || edited.iter().all(|other| id(other) != id(file));
        let newer: Vec<_> = self.files.drain(..).filter(is_new).collect();
        self.files = edited.into_iter().chain(newer).collect();
    }

    /// Returns the files of a message, to change them.
    fn files_of(&mut self, of: FilesOf) -> Option<&mut Vec<AttachedFile>> {
        match (of, &mut self.edited) {
            (FilesOf::Draft, _) => Some(&mut self.files),
            (FilesOf::Edit, Some(edited)) => {
                edited.is_changed = true;
                Some(&mut edited.files)
            }
            (FilesOf::Edit, None) => None,
        }
    }

    /// Returns the files of all messages.
    fn all_files(&mut self) -> impl Iterator<Item = &mut AttachedFile> {
        self.files.iter_mut().chain(self.edited.iter_mut().flat_map(|edited| &mut edited.files))
    }

    /// Uploads a file again whose upload failed.
    pub(super) fn retry_upload(&mut self, key: &str, out: &mut Vec<Effect>) {
        if let Some(file) = self.all_files().find(|file| file.key == key)
            && matches!(file.upload, Upload::Failed { can_retry: true, .. })
        {
            file.upload = Upload::Waiting;
        }
        self.upload_next(out);
    }

    pub(super) fn on_upload_progress(&mut self, key: &str, percent: u8) {
        let file = self.all_files().find(|file| file.key == key && file.is_uploading());
        if let Some(file) = file {
            file.upload = Upload::Running(percent);
        }
    }

    pub(super) fn on_uploaded(&mut self, key: &str, uploaded: Result<FileInfo, ApiError>, out: &mut Vec<Effect>) {
        let text = self.text;
        // The user may have removed it.
        if let Some(file) = self.all_files().find(|file| file.key == key) {
            file.upload = match uploaded {
                Ok(stored) => {
                    out.push(Effect::ForgetFile(key.to_owned()));
                    // The server removes characters that could mislead the reader of the name.
                    file.name.clone_from(&stored.name);
                    Upload::Ready(message_file(stored))
                }
                Err(error) => Upload::Failed { reason: error.message(text), can_retry: error.may_succeed_later() },
            };
        }
        self.upload_next(out);
        self.send_when_uploaded(out);
    }

    fn upload_next(&mut self, out: &mut Vec<Effect>) {
        let running = self.all_files().filter(|file| matches!(file.upload, Upload::Running(_))).count();
        let waiting = self.all_files().filter(|file| file.upload == Upload::Waiting);
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
        let ready = ready_files(&self.files);
        if ready.len() < self.files.len() {
            self.notice = Some(self.text.upload_failed_first().to_owned());
            return None;
        }
        Some(ready)
    }

    /// Says which file of a message the server no longer has, and marks it in the message field. The other files stay.
    pub(super) fn mark_missing(&mut self, missing: &MessageFile) {
        self.notice = Some(self.text.file_is_gone(&missing.name));
        let reason = self.text.gone_from_server().to_owned();
        let chip = self.all_files().find(|file| file.ready().is_some_and(|file| file.id == missing.id));
        if let Some(chip) = chip {
            chip.upload = Upload::Failed { reason, can_retry: false };
        }
    }

    fn send_when_uploaded(&mut self, out: &mut Vec<Effect>) {
        if !self.files.iter().any(AttachedFile::is_uploading)
            && let Some(id) = self.send_after_uploads.take()
        {
            self.send_draft(id, out);
        }
    }
}

/// Forgets the content of a removed file, and deletes the file from the server if it was uploaded for this message.
fn leave(removed: &AttachedFile, out: &mut Vec<Effect>) {
    out.extend(removed.own_upload().map(Effect::DeleteFile));
    out.push(Effect::ForgetFile(removed.key.clone()));
}
