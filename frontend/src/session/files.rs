//! The files of the message field and of a question that is being edited, and how far the upload of each is.

use serde::{Deserialize, Serialize};
use tallybook_protocol::{FileInfo, FileKind, MessageFile};
use uuid::Uuid;

use crate::{api::ApiError, language::Language};

/// Maximum number of files of a message. The server has the same limit.
pub(crate) const MAX_FILES: usize = 10;

/// Number of files that are uploaded at the same time. A browser allows few connections to a server.
pub(super) const UPLOADS_AT_ONCE: usize = 2;

/// The message that has the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilesOf {
    /// That of the message field.
    Draft,
    /// The question that is being edited.
    Edit,
}

/// A file of a message that is being written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttachedFile {
    /// ID of the file on this page.
    pub(crate) key: String,
    /// Name of the file.
    pub(crate) name: String,
    /// Size of the file, in bytes.
    pub(crate) bytes: i64,
    pub(crate) upload: Upload,
}

/// The upload of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Upload {
    /// It begins when others have ended.
    Waiting,
    /// The server has received this share of it, in percent.
    Running(u8),
    /// The server has stored it.
    Ready(MessageFile),
    /// It failed, for this reason.
    Failed {
        reason: String,
        /// `true` if the page still has the content.
        can_retry: bool,
    },
}

impl AttachedFile {
    /// Creates a file that is to be uploaded.
    pub(crate) fn new(key: String, name: String, bytes: i64) -> Self {
        Self { key, name, bytes, upload: Upload::Waiting }
    }

    /// Creates a file that the server has.
    pub(crate) fn stored(file: MessageFile) -> Self {
        Self { key: file.id.to_string(), name: file.name.clone(), bytes: file.bytes, upload: Upload::Ready(file) }
    }

    /// Returns the file as the server has it, once it is uploaded.
    pub(crate) fn ready(&self) -> Option<&MessageFile> {
        match &self.upload {
            Upload::Ready(file) => Some(file),
            Upload::Waiting | Upload::Running(_) | Upload::Failed { .. } => None,
        }
    }

    /// Returns the ID of a file that was uploaded for this message. Files of earlier messages have their ID as the key.
    pub(super) fn own_upload(&self) -> Option<Uuid> {
        self.ready().map(|file| file.id).filter(|id| self.key != id.to_string())
    }

    /// Returns `true` until the upload has ended.
    pub(crate) fn is_uploading(&self) -> bool {
        matches!(self.upload, Upload::Waiting | Upload::Running(_))
    }

    /// Returns `true` for an image that was uploaded.
    pub(crate) fn is_image(&self) -> bool {
        self.ready().is_some_and(|file| file.kind == FileKind::Image)
    }

    /// Returns the file after the page was loaded again: the content of an unfinished upload is gone.
    pub(super) fn after_reload(self, text: Language) -> Self {
        let upload = match self.upload {
            Upload::Ready(file) => Upload::Ready(file),
            Upload::Failed { reason, .. } => Upload::Failed { reason, can_retry: false },
            Upload::Waiting | Upload::Running(_) => {
                Upload::Failed { reason: text.upload_interrupted().to_owned(), can_retry: false }
            }
        };
        Self { upload, ..self }
    }
}

/// Converts an uploaded file to a file of a message.
pub(super) fn message_file(file: FileInfo) -> MessageFile {
    MessageFile {
        id: file.id,
        name: file.name,
        kind: file.kind,
        media_type: file.media_type,
        bytes: file.bytes,
        width: file.width,
        height: file.height,
        pages: file.pages,
        truncated: file.truncated,
        context: None,
    }
}

/// Returns the files that are uploaded.
pub(super) fn ready_files(files: &[AttachedFile]) -> Vec<MessageFile> {
    files.iter().filter_map(AttachedFile::ready).cloned().collect()
}

/// Adds files that were sent before those that were attached since. None is in the list twice.
pub(super) fn joined_files(older: Vec<MessageFile>, newer: &[AttachedFile]) -> Vec<AttachedFile> {
    let is_new = |file: &&AttachedFile| !file.ready().is_some_and(|file| older.iter().any(|old| old.id == file.id));
    let newer: Vec<_> = newer.iter().filter(is_new).cloned().collect();
    older.into_iter().map(AttachedFile::stored).chain(newer).collect()
}

/// Returns the file of a message that the server does not have, if that is the error.
pub(super) fn missing_file<'a>(files: &'a [MessageFile], error: &ApiError) -> Option<&'a MessageFile> {
    match error {
        ApiError::Refused { code, detail, .. } if code == "no-such-file" => {
            files.iter().find(|file| detail.contains(&file.id.to_string()))
        }
        _ => None,
    }
}
