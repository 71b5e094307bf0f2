//! Files that users attach to messages, as JSON.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Kind of a file, which its content decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// An image. Models that read images receive it.
    Image,
    /// A document. Models receive its text.
    Document,
    /// Text, such as source code.
    Text,
}

/// State of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// The server is still reading the file.
    Processing,
    /// The file can be attached to a message.
    Ready,
    /// The server cannot read the file; `error` says why.
    Failed,
}

/// Error of a stored word that this version does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownWord;

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this version does not know this word")
    }
}

impl std::error::Error for UnknownWord {}

impl FileKind {
    /// Returns the name that the API and the database use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
            Self::Text => "text",
        }
    }
}

impl FromStr for FileKind {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        [Self::Image, Self::Document, Self::Text].into_iter().find(|kind| kind.as_str() == word).ok_or(UnknownWord)
    }
}

impl TryFrom<String> for FileKind {
    type Error = UnknownWord;

    fn try_from(word: String) -> Result<Self, UnknownWord> {
        word.parse()
    }
}

impl FileStatus {
    /// Returns the name that the API and the database use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

impl TryFrom<String> for FileStatus {
    type Error = UnknownWord;

    fn try_from(word: String) -> Result<Self, UnknownWord> {
        [Self::Processing, Self::Ready, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or(UnknownWord)
    }
}

/// A file that a user has uploaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileInfo {
    /// ID of the file.
    pub id: Uuid,
    /// Name of the file, without a path and without characters that are not shown.
    pub name: String,
    /// Media type of the content.
    pub media_type: String,
    /// Size of the content, in bytes.
    pub bytes: i64,
    /// SHA-256 hash of the content, in hex.
    pub sha256: String,
    /// Kind of the file.
    pub kind: FileKind,
    /// Width of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<i32>,
    /// Height of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<i32>,
    /// Number of pages of a document or text. A document whose text cannot be read has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<i32>,
    /// `true` if the file has more text than its pages: the text or the number of pages exceeded the limit. Absent
    /// otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// State of the file.
    pub status: FileStatus,
    /// The reason why the file cannot be read; only with `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A file in the export of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountFile {
    /// The file.
    #[serde(flatten)]
    pub file: FileInfo,
    /// Time at which the user uploaded the file or last attached it to a message.
    pub created_at: DateTime<Utc>,
}

/// A file of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageFile {
    /// ID of the file.
    pub id: Uuid,
    /// Name of the file.
    pub name: String,
    /// Kind of the file.
    pub kind: FileKind,
    /// Media type of the content.
    pub media_type: String,
    /// Size of the content, in bytes.
    pub bytes: i64,
    /// Width of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<i32>,
    /// Height of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<i32>,
    /// Number of pages of a document or text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<i32>,
    /// `true` if the file has more text than its pages, as in [`FileInfo`]. Absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The part of the file that the model received: `image 1536×1024`, `pages 1–12 of 40`, `part of page 1 of 40` or
    /// `name only`. Absent until the answer's first model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl MessageFile {
    /// Returns `true` for a document or text file of which no text could be read.
    pub fn lacks_text(&self) -> bool {
        self.kind != FileKind::Image && self.pages.unwrap_or_default() == 0
    }
}

/// A page of a file's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileText {
    /// Number of pages.
    pub pages: i32,
    /// Number of this page, from 1.
    pub page: i32,
    /// Text of this page.
    pub text: String,
}
