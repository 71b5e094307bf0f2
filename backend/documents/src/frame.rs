//! The child's answer on its standard output: the length of the head as four bytes, big-endian; the head as JSON; the
//! text of all pages; the images. The head has the lengths of the parts. The parent trusts none of it.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::{
    EncodedImage, FileKind, ProcessedFile, ProcessedImage, Refusal,
    limits::{MAX_HEAD_BYTES, MAX_IMAGE_BYTES, MAX_PAGES, MAX_TEXT_BYTES},
};

/// Maximum size of a whole answer, in bytes.
pub(crate) const MAX_FRAME_BYTES: usize = 4 + MAX_HEAD_BYTES + MAX_TEXT_BYTES + 2 * MAX_IMAGE_BYTES;

/// The child's answer.
pub(crate) struct Answer {
    /// Protections that the child had while it read the file.
    pub(crate) confinement: crate::Confinement,
    pub(crate) result: Result<ProcessedFile, Refusal>,
}

/// A frame that does not follow the format.
#[derive(Debug, thiserror::Error)]
#[error("the child process sent a malformed answer")]
pub(crate) struct Malformed;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    confinement: crate::Confinement,
    result: Result<FileHead, Refusal>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileHead {
    kind: FileKind,
    media_type: String,
    page_bytes: Vec<usize>,
    has_text: bool,
    truncated: bool,
    image: Option<ImageHead>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImageHead {
    width: u32,
    height: u32,
    model: EncodedHead,
    thumb: EncodedHead,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedHead {
    media_type: MediaType,
    bytes: usize,
    width: u32,
    height: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum MediaType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
}

/// Encodes the child's answer.
pub(crate) fn encode(answer: Answer) -> Result<Vec<u8>, serde_json::Error> {
    let (result, parts) = match answer.result {
        Ok(file) => {
            let mut parts: Vec<Vec<u8>> = Vec::with_capacity(file.pages.len() + 2);
            let page_bytes = file.pages.iter().map(String::len).collect();
            parts.extend(file.pages.into_iter().map(String::into_bytes));
            let image = file.image.map(|image| {
                let head = ImageHead {
                    width: image.width,
                    height: image.height,
                    model: encoded_head(&image.model),
                    thumb: encoded_head(&image.thumb),
                };
                parts.extend([image.model.bytes, image.thumb.bytes]);
                head
            });
            let head = FileHead {
                kind: file.kind,
                media_type: file.media_type,
                page_bytes,
                has_text: file.has_text,
                truncated: file.truncated,
                image,
            };
            (Ok(head), parts)
        }
        Err(refusal) => (Err(refusal), Vec::new()),
    };
    let head = serde_json::to_vec(&Head { confinement: answer.confinement, result })?;
    let mut frame = u32::try_from(head.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    frame.extend(head);
    for part in parts {
        frame.extend(part);
    }
    Ok(frame)
}

fn encoded_head(image: &EncodedImage) -> EncodedHead {
    EncodedHead {
        media_type: if image.media_type == "image/png" { MediaType::Png } else { MediaType::Jpeg },
        bytes: image.bytes.len(),
        width: image.width,
        height: image.height,
    }
}

/// Reads the child's answer to the end of the output, and checks it against all limits. Each part is read into a buffer
/// of its size.
pub(crate) async fn read(mut output: impl AsyncRead + Unpin) -> io::Result<Result<Answer, Malformed>> {
    let answer = read_parts(&mut output).await;
    // The child ends only when all of its output is read.
    let rest = tokio::io::copy(&mut output, &mut tokio::io::sink()).await?;
    match answer {
        Ok(answer) if rest == 0 => Ok(Ok(answer)),
        Err(ReadError::Failed(error)) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(Err(Malformed)),
    }
}

enum ReadError {
    Malformed,
    Failed(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

async fn read_parts(output: &mut (impl AsyncRead + Unpin)) -> Result<Answer, ReadError> {
    let length = output.read_u32().await? as usize;
    let head = take(output, length, MAX_HEAD_BYTES).await?;
    let head: Head = serde_json::from_slice(&head).map_err(|_| ReadError::Malformed)?;
    let file = match head.result {
        Ok(file) => file,
        Err(refusal) => return Ok(Answer { confinement: head.confinement, result: Err(refusal) }),
    };
    if file.page_bytes.len() > MAX_PAGES || file.image.is_some() != (file.kind == FileKind::Image) {
        return Err(ReadError::Malformed);
    }
    let mut room = MAX_TEXT_BYTES;
    let mut pages = Vec::with_capacity(file.page_bytes.len());
    for bytes in file.page_bytes {
        let page = take(output, bytes, room).await?;
        room -= page.len();
        pages.push(String::from_utf8(page).map_err(|_| ReadError::Malformed)?);
    }
    let image = match file.image {
        Some(head) => Some(ProcessedImage {
            width: head.width,
            height: head.height,
            model: read_image(&head.model, output).await?,
            thumb: read_image(&head.thumb, output).await?,
        }),
        None => None,
    };
    let file = ProcessedFile {
        kind: file.kind,
        media_type: file.media_type,
        pages,
        has_text: file.has_text,
        truncated: file.truncated,
        image,
    };
    Ok(Answer { confinement: head.confinement, result: Ok(file) })
}

async fn read_image(head: &EncodedHead, output: &mut (impl AsyncRead + Unpin)) -> Result<EncodedImage, ReadError> {
    let media_type = match head.media_type {
        MediaType::Png => "image/png",
        MediaType::Jpeg => "image/jpeg",
    };
    let bytes = take(output, head.bytes, MAX_IMAGE_BYTES).await?;
    Ok(EncodedImage { media_type, bytes, width: head.width, height: head.height })
}

/// Reads a part of this size.
async fn take(output: &mut (impl AsyncRead + Unpin), bytes: usize, max_bytes: usize) -> Result<Vec<u8>, ReadError> {
    if bytes > max_bytes {
        return Err(ReadError::Malformed);
    }
    let mut part = vec![0; bytes];
    output.read_exact(&mut part).await?;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Answer, Malformed, encode, read};
    use crate::{Confinement, EncodedImage, FileKind, ProcessedFile, ProcessedImage};

    fn answer() -> Answer {
        let encoded =
            |bytes: &[u8], media_type| EncodedImage { media_type, bytes: bytes.to_vec(), width: 2, height: 1 };
        let image = ProcessedImage {
            width: 4,
            height: 2,
            model: encoded(b"model", "image/png"),
            thumb: encoded(b"thumb", "image/jpeg"),
        };
        let file = ProcessedFile {
            kind: FileKind::Image,
            media_type: "image/png".to_owned(),
            pages: vec!["one".to_owned(), String::new(), "三".to_owned()],
            has_text: true,
            truncated: true,
            image: Some(image),
        };
        Answer { confinement: Confinement { file_system: true, system_calls: false }, result: Ok(file) }
    }

    /// Reads an answer that arrived completely.
    fn decode(frame: &[u8]) -> Result<Answer, Malformed> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(read(frame)).unwrap()
    }

    #[test]
    fn an_answer_arrives_as_it_was_sent() {
        let sent = answer();
        let expected = sent.result.clone();
        let received = decode(&encode(sent).unwrap()).unwrap();
        assert_eq!(received.result, expected);
        assert!(received.confinement.file_system && !received.confinement.system_calls);
    }

    #[test]
    fn an_answer_that_is_cut_or_continued_is_malformed() {
        let frame = encode(answer()).unwrap();
        for length in 0..frame.len() {
            assert!(decode(&frame[..length]).is_err(), "the first {length} bytes");
        }
        assert!(decode(&[frame.as_slice(), b"x"].concat()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parent_panic(position in 0_usize..400, byte: u8) {
            let mut frame = encode(answer()).unwrap();
            let position = position % frame.len();
            frame[position] = byte;
            let _ = decode(&frame);
        }
    }
}
