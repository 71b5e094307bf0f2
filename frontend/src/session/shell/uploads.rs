//! Uploads the files of the message field, and deletes those that the user removes. The code is in the WASM chunk with
//! parts that few visits use, so that a new chat does not load it before the user attaches a file.

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use leptos::{
    prelude::*,
    wasm_split::{SplitLoaderError, wasm_split},
};
use send_wrapper::SendWrapper;
use uuid::Uuid;
use web_sys::File;

use super::{
    super::{
        files::{AttachedFile, FilesOf},
        input::{Action, Input},
    },
    Session,
};
use crate::{
    api::{self, ApiError},
    browser,
    task::spawn,
};

impl Session {
    /// Adds files to a message. Their upload starts at once.
    pub(crate) fn attach(self, of: FilesOf, files: Vec<File>) {
        let hold = |file: File| {
            let key = browser::random_id();
            #[expect(clippy::cast_possible_truncation, reason = "sizes of files are whole and fit")]
            let attached = AttachedFile::new(key.clone(), file.name(), file.size() as i64);
            self.tasks.update_value(|tasks| tasks.hold(key, file));
            attached
        };
        let attached = files.into_iter().map(hold).collect();
        self.act(Action::Attach(of, attached));
    }

    /// Uploads a file that the page holds.
    pub(super) fn start_upload(self, key: &str) {
        let content = self.tasks.with_value(|tasks| tasks.content(key));
        let Some(content) = content else { return };
        let own = key.to_owned();
        let uploading = spawn(async move {
            let uploaded = match upload(self, own.clone(), content).await {
                Ok(uploading) => uploading.await,
                Err(_) => return self.feed(Input::Uploaded(own, Box::new(Err(ApiError::Unreachable)))),
            };
            self.feed(uploaded);
        });
        self.tasks.update_value(|tasks| tasks.upload(key, uploading));
    }

    /// Forgets the content of a file, and aborts its upload.
    pub(super) fn forget_file(self, key: &str) {
        self.tasks.update_value(|tasks| tasks.forget(key));
    }
}

/// Deletes a file. A file that a message contains stays.
#[wasm_split(others, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
fn delete(id: Uuid) -> Result<LocalBoxFuture<'static, ()>, SplitLoaderError> {
    // The server deletes a file that is left after a day.
    let deleting = async move {
        let _ = api::delete_file(id).await;
    };
    Ok(deleting.boxed_local())
}

/// Deletes a file from the server.
pub(super) fn delete_file(id: Uuid) {
    spawn(async move {
        if let Ok(deleting) = delete(id).await {
            deleting.await;
        }
    });
}

/// Uploads a file, and returns the input that tells the session how that ended.
#[wasm_split(others, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
fn upload(
    session: Session,
    key: String,
    content: SendWrapper<File>,
) -> Result<LocalBoxFuture<'static, Input>, SplitLoaderError> {
    let uploading = async move {
        let progress_key = key.clone();
        let on_progress = move |percent| session.feed(Input::UploadProgress(progress_key.clone(), percent));
        let uploaded = api::upload_file(&content.name(), &content, on_progress).await;
        Input::Uploaded(key, Box::new(uploaded))
    };
    Ok(uploading.boxed_local())
}
