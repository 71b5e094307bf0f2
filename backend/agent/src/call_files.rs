//! The interface through which the agent stores images that tools return. The implementation is in
//! `tallybook-conversations` (`call_images`).

use futures_util::future::BoxFuture;
use tallybook_llm::ImagePart;
use tallybook_protocol::MessageFile;
use tallybook_tools::{ToolImage, UserKey};

/// Stores images that tools return.
pub trait ImageStore: Send + Sync {
    /// Stores images of one call of this user.
    fn store(&self, user: UserKey, images: Vec<ToolImage>) -> BoxFuture<'static, StoredImages>;
}

/// The images of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredImages {
    /// Those that are stored.
    pub files: Vec<CallFile>,
    /// A sentence for each reason why others are not.
    pub notes: Vec<String>,
}

/// A stored file of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFile {
    /// ID of the file's row.
    pub row_id: i64,
    /// The file as clients receive it.
    pub file: MessageFile,
    /// The image as models receive it.
    pub image: ImagePart,
}

/// Output of a call, with its images stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallOutput {
    pub(crate) text: String,
    pub(crate) files: Vec<CallFile>,
}
