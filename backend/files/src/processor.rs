//! Recognizes files and converts them. A temporary implementation for PNG, JPEG and UTF-8 text.

use std::path::{Path, PathBuf};

use tallybook_protocol::FileKind;

/// Recognizes files and converts them.
#[derive(Clone, Debug)]
pub(crate) struct FileProcessor {}

/// A file that was recognized.
#[derive(Clone, Debug)]
pub(crate) struct ProcessedFile {
    pub(crate) kind: FileKind,
    pub(crate) media_type: String,
    pub(crate) pages: Vec<String>,
    pub(crate) has_text: bool,
    pub(crate) image: Option<ProcessedImage>,
}

/// An image in the sizes in which models and lists receive it.
#[derive(Clone, Debug)]
pub(crate) struct ProcessedImage {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) model: EncodedImage,
    pub(crate) thumb: EncodedImage,
}

/// An encoded image.
#[derive(Clone, Debug)]
pub(crate) struct EncodedImage {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The reason why a file is refused.
#[derive(Debug)]
pub(crate) enum ProcessError {
    UnsupportedType,
    Unreadable { reason: String },
    Unavailable(std::io::Error),
}

impl FileProcessor {
    pub(crate) fn new(_program: PathBuf) -> Self {
        Self {}
    }

    pub(crate) async fn process(&self, file: &Path, _name: &str) -> Result<ProcessedFile, ProcessError> {
        let bytes = tokio::fs::read(file).await.map_err(ProcessError::Unavailable)?;
        let truncated = || ProcessError::Unreadable { reason: "it is not complete".to_owned() };
        if let Some(rest) = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n") {
            let number = |at: usize| rest.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
            let (width, height) = number(8).zip(number(12)).ok_or_else(truncated)?;
            return Ok(image("image/png", bytes, width, height));
        }
        if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
            let (width, height) = jpeg_size(&bytes).ok_or_else(truncated)?;
            return Ok(image("image/jpeg", bytes, width, height));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(ProcessedFile {
                kind: FileKind::Text,
                media_type: "text/plain".to_owned(),
                has_text: !text.trim().is_empty(),
                pages: vec![text],
                image: None,
            }),
            _ => Err(ProcessError::UnsupportedType),
        }
    }
}

fn image(media_type: &'static str, bytes: Vec<u8>, width: u32, height: u32) -> ProcessedFile {
    let encoded = EncodedImage { media_type, bytes, width, height };
    let image = ProcessedImage { width, height, model: encoded.clone(), thumb: encoded };
    ProcessedFile {
        kind: FileKind::Image,
        media_type: media_type.to_owned(),
        pages: Vec::new(),
        has_text: false,
        image: Some(image),
    }
}

fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1)?;
        let length = usize::from(u16::from_be_bytes(bytes.get(at + 2..at + 4)?.try_into().ok()?));
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let number = |at: usize| bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes).map(u32::from);
            return Some((number(at + 7)?, number(at + 5)?));
        }
        at += 2 + length;
    }
}
