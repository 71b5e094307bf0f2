//! Reads bodies of HTTP responses, up to a maximum length.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use reqwest::Response;

/// Reason why a body could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body is longer than {0} bytes")]
    TooLong(usize),
    #[error(transparent)]
    Lost(#[from] reqwest::Error),
}

/// Reads a whole body of at most `max` bytes.
pub(crate) async fn read(mut response: Response, max: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > max {
            return Err(BodyError::TooLong(max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns the body of an event stream. The stream fails at an event of more than `max` bytes. An empty line ends an
/// event.
pub(crate) fn events(response: Response, max: usize) -> impl Stream<Item = Result<Bytes, BodyError>> {
    let (mut bytes, mut is_line_empty) = (0, true);
    response.bytes_stream().map(move |chunk| {
        let chunk = chunk?;
        for &byte in &chunk {
            match byte {
                b'\n' if is_line_empty => bytes = 0,
                b'\n' => is_line_empty = true,
                b'\r' => {}
                _ => is_line_empty = false,
            }
            bytes += 1;
            if bytes > max {
                return Err(BodyError::TooLong(max));
            }
        }
        Ok(chunk)
    })
}
