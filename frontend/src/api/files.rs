//! Requests for files: upload and delete them, and read their text.

use tallybook_protocol::{FileInfo, FileText};
use uuid::Uuid;
use web_sys::Blob;

use super::{
    error::ApiError,
    request::{NO_BODY, call, call_text, encoded, refusal},
};
use crate::browser;

/// `POST /api/files`. `on_progress` receives the share that the server has received, in percent.
pub(crate) async fn upload_file(
    name: &str,
    content: &Blob,
    on_progress: impl Fn(u8) + 'static,
) -> Result<FileInfo, ApiError> {
    let url = format!("/api/files?name={}", encoded(name));
    let (status, response) = browser::upload(&url, content, on_progress).await?;
    if !(200..300).contains(&status) {
        return Err(refusal(status, &response));
    }
    serde_json::from_str(&response).map_err(|_| ApiError::Unreadable)
}

/// `DELETE /api/files/{id}`
pub(crate) async fn delete_file(id: Uuid) -> Result<(), ApiError> {
    call_text("DELETE", &format!("/api/files/{id}"), NO_BODY).await.map(|_| ())
}

/// `GET /api/files/{id}/text`: a page of the text of a file, counted from 1.
pub(crate) async fn file_text(id: Uuid, page: i32) -> Result<FileText, ApiError> {
    call("GET", &format!("/api/files/{id}/text?page={page}"), NO_BODY).await
}
