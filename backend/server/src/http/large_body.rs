//! Reads JSON bodies that may contain files as base64. Memory stays bounded: a large body is received into a temporary
//! file, and only a few large bodies are in memory at once.

use std::{io, io::SeekFrom, sync::Arc, time::Duration};

use actix_web::{HttpMessage as _, HttpRequest, dev::Decompress, http::header, web};
use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use tallybook_files::FilesError;
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{
    error::ApiError,
    limits::{MAX_BODY_BYTES, MAX_LARGE_BODY_BYTES},
};

/// Maximum number of large bodies in memory at once in this process. Further ones wait in their temporary files.
const MAX_IN_MEMORY: usize = 2;

/// Maximum time for which a large body waits until it may be read into memory.
const QUEUE_TIMEOUT: Duration = Duration::from_mins(5);

/// Limits the number of large bodies in memory.
#[derive(Clone, Debug)]
pub(crate) struct LargeBodies(Arc<Semaphore>);

impl Default for LargeBodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_IN_MEMORY)))
    }
}

/// A JSON body of any size up to `MAX_LARGE_BODY_BYTES`.
pub(crate) struct LargeBody {
    text: String,
    permit: Option<OwnedSemaphorePermit>,
}

/// Permit to have the content of a large body in memory.
pub(crate) struct LargeBodyPermit(#[expect(dead_code, reason = "held for its Drop")] Option<OwnedSemaphorePermit>);

impl LargeBody {
    /// Returns the JSON. Fails if the body is not JSON.
    pub(crate) fn json(&self) -> Result<&RawValue, ApiError> {
        serde_json::from_str(&self.text).map_err(|error| ApiError::Body(format!("The body is not JSON: {error}.")))
    }

    /// Drops the text, of which `file_bytes` bytes are files. Fails if the rest is larger than other bodies may be. The
    /// permit must be held as long as the files are in memory.
    pub(crate) fn into_permit(self, file_bytes: usize) -> Result<LargeBodyPermit, ApiError> {
        if self.text.len().saturating_sub(file_bytes) > MAX_BODY_BYTES {
            return Err(ApiError::BodyTooLarge(MAX_BODY_BYTES));
        }
        Ok(LargeBodyPermit(self.permit))
    }
}

impl LargeBodies {
    /// Reads the body of a request.
    pub(crate) async fn read(&self, request: &HttpRequest, body: web::Payload) -> Result<LargeBody, ApiError> {
        let is_json = request
            .mime_type()
            .ok()
            .flatten()
            .is_some_and(|mime| mime.subtype() == "json" || mime.suffix().is_some_and(|suffix| suffix == "json"));
        if !is_json {
            return Err(ApiError::NotJson);
        }
        let length =
            request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > MAX_LARGE_BODY_BYTES) {
            return Err(ApiError::BodyTooLarge(MAX_LARGE_BODY_BYTES));
        }
        let mut parts = Decompress::from_headers(body.into_inner(), request.headers());
        let (mut received, mut file, mut bytes) = (Vec::new(), None, 0);
        while let Some(part) = parts.next().await {
            let part = part?;
            bytes += part.len();
            if bytes > MAX_LARGE_BODY_BYTES {
                return Err(ApiError::BodyTooLarge(MAX_LARGE_BODY_BYTES));
            }
            if let Some(file) = &mut file {
                write(file, &part).await?;
                continue;
            }
            received.extend_from_slice(&part);
            if received.len() > MAX_BODY_BYTES {
                file = Some(spill(&received).await?);
                received = Vec::new();
            }
        }
        let Some(file) = file else { return Ok(LargeBody { text: text_of(received)?, permit: None }) };
        let permit = timeout(QUEUE_TIMEOUT, Arc::clone(&self.0).acquire_owned());
        let permit = permit.await.map_err(|_| FilesError::Busy)?.map_err(|_| FilesError::Busy)?;
        let text = text_of(read_back(file, bytes).await.map_err(FilesError::Temporary)?)?;
        Ok(LargeBody { text, permit: Some(permit) })
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String, ApiError> {
    String::from_utf8(bytes).map_err(|error| ApiError::Body(format!("The body is not JSON: {error}.")))
}

/// Creates a temporary file that begins with these bytes.
async fn spill(received: &[u8]) -> Result<File, FilesError> {
    let made = tokio::task::spawn_blocking(tempfile::tempfile).await;
    let made = made.map_err(|error| FilesError::Temporary(io::Error::other(error)))?;
    let mut file = File::from_std(made.map_err(FilesError::Temporary)?);
    write(&mut file, received).await?;
    Ok(file)
}

async fn write(file: &mut File, part: &[u8]) -> Result<(), FilesError> {
    file.write_all(part).await.map_err(FilesError::Temporary)
}

async fn read_back(mut file: File, bytes: usize) -> io::Result<Vec<u8>> {
    file.flush().await?;
    file.seek(SeekFrom::Start(0)).await?;
    let mut all = Vec::with_capacity(bytes);
    file.read_to_end(&mut all).await?;
    Ok(all)
}
