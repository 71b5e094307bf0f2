//! Recognizes uploaded files by their content, extracts the text of documents page by page, and prepares images for
//! models.
//!
//! Files are hostile, and the libraries that read them are large. So [`FileProcessor`] has each file read by a child
//! process that can reach neither the network nor other files (`confine`), with limits on memory, processor time,
//! wall time and output. The child is the same program, started with the argument [`CHILD_COMMAND`]; its `main` calls
//! [`run_child`]. Nothing that a file does to the child harms the server: at worst, the file is unreadable.

mod child;
mod confine;
mod document;
mod frame;
mod html;
mod image;
mod limits;
mod pages;
mod pdf;
mod processor;
mod recognize;
mod sheets;
mod text;
mod xml;
mod zip;

pub use child::run_child;
pub use confine::{Confinement, confine};
pub use processor::{FileProcessor, ProcessorSlot};
use serde::{Deserialize, Serialize};

/// Argument with which the program starts as a child process that reads one file.
pub const CHILD_COMMAND: &str = "process-file";

/// Formats that can be read, as a list for users.
pub const READABLE_FORMATS: &str = "PNG, JPEG, WebP and GIF images; PDF, Word (.docx), Excel (.xlsx), PowerPoint \
                                    (.pptx) and OpenDocument files; HTML, CSV, Markdown, source code and plain text";

/// The text or image that was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessedFile {
    /// Decides how the file is shown and sent to models.
    pub kind: FileKind,
    /// Media type by the content. Between kinds of text, the file's name decides.
    pub media_type: String,
    /// Text of each page, empty for an image. Pages that contain no text are empty strings.
    pub pages: Vec<String>,
    /// `true` if any page contains text. A scanned document has pages but no text.
    pub has_text: bool,
    /// `true` if the text or the number of pages exceeded the limit, so that `pages` is only the beginning.
    pub truncated: bool,
    /// The prepared image, if the file is one.
    pub image: Option<ProcessedImage>,
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// PNG, JPEG, WebP or GIF.
    Image,
    /// PDF, Office, OpenDocument or HTML.
    Document,
    /// Plain text, source code, CSV, Markdown, SVG.
    Text,
}

/// An image, prepared for models and for the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessedImage {
    /// Width of the original in pixels, after its EXIF orientation is applied.
    pub width: u32,
    /// Height of the original in pixels, after its EXIF orientation is applied.
    pub height: u32,
    /// For models: upright, without metadata, at most 1568 pixels wide and high. The same file gives the same bytes.
    pub model: EncodedImage,
    /// For the page: at most 320 pixels wide and high.
    pub thumb: EncodedImage,
}

/// An encoded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedImage {
    /// `image/png` or `image/jpeg`.
    pub media_type: &'static str,
    /// The encoded image.
    pub bytes: Vec<u8>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Reason for which a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The file has none of the supported formats.
    #[error("this is {found}. Files that can be read: {READABLE_FORMATS}")]
    UnsupportedType {
        /// The recognized content, with an article, such as "a ZIP archive".
        found: String,
    },
    /// The file has a supported format but is damaged, encrypted, or beyond a limit.
    #[error("{reason}")]
    Unreadable {
        /// A sentence without a full stop, for users.
        reason: String,
    },
    /// The child process could not be started or used. The file may be readable.
    #[error("files cannot be read at the moment: {reason}")]
    Unavailable {
        /// The cause, for the log.
        reason: String,
        /// The system's error, if there is one.
        #[source]
        source: Option<std::io::Error>,
    },
}

/// Reason for which the child refuses a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Refusal {
    /// See [`ProcessError::UnsupportedType`].
    Unsupported(String),
    /// See [`ProcessError::Unreadable`].
    Unreadable(String),
}

impl Refusal {
    fn unsupported(found: impl Into<String>) -> Self {
        Self::Unsupported(found.into())
    }

    fn unreadable(reason: impl Into<String>) -> Self {
        Self::Unreadable(reason.into())
    }
}
