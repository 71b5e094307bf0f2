//! Stores images that tools return, as files of the user.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::{FutureExt as _, future::BoxFuture};
use tallybook_accounts::UserId;
use tallybook_agent::{CallFile, ImageStore, StoredImages};
use tallybook_files::{Files, FilesError};
use tallybook_llm::ImagePart;
use tallybook_protocol::FileKind;
use tallybook_tools::{ToolImage, UserKey};

use crate::limits::MAX_CALL_IMAGES;

/// Stores images that tools return.
pub(crate) struct CallImages(pub(crate) Files);

impl ImageStore for CallImages {
    fn store(&self, user: UserKey, images: Vec<ToolImage>) -> BoxFuture<'static, StoredImages> {
        store_all(self.0.clone(), UserId(user.0), images).boxed()
    }
}

async fn store_all(files: Files, user: UserId, images: Vec<ToolImage>) -> StoredImages {
    let mut stored = StoredImages::default();
    let left_out = images.len().saturating_sub(MAX_CALL_IMAGES);
    for image in images.into_iter().take(MAX_CALL_IMAGES) {
        match store_one(&files, user, image).await {
            Ok(file) => stored.files.push(file),
            Err(reason) => stored.notes.push(format!("[An image was left out. {reason}]")),
        }
    }
    if left_out > 0 {
        stored.notes.push(format!("[{left_out} images were left out. A call can have at most {MAX_CALL_IMAGES}.]"));
    }
    stored
}

/// Stores an image. The error is a sentence for the model and the user.
async fn store_one(files: &Files, user: UserId, image: ToolImage) -> Result<CallFile, String> {
    let content = BASE64_STANDARD.decode(image.base64).map_err(|_| "It is not valid base64.".to_owned())?;
    let extension = match image.media_type.to_ascii_lowercase().as_str() {
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/webp" => ".webp",
        "image/gif" => ".gif",
        _ => "",
    };
    let name = format!("image{extension}");
    let storing = async {
        let mut upload = files.begin_upload(user, Some(content.len() as u64)).await?;
        upload.write(&content).await?;
        let info = files.finish_upload_once(user, &name, upload).await?;
        let row = files.row(user, info.id).await?;
        let sha256 = row.model_sha256.clone().filter(|_| row.kind == FileKind::Image);
        let Some(sha256) = sha256 else { return Err(FilesError::UnsupportedType("it is not an image".to_owned())) };
        let (media_type, bytes) = files.model_image(&sha256).await?;
        let pixels = |pixels: Option<i32>| pixels.unwrap_or_default().unsigned_abs();
        let image = ImagePart {
            name: row.name.clone(),
            media_type,
            data: BASE64_STANDARD.encode(bytes).into(),
            width: pixels(row.model_width),
            height: pixels(row.model_height),
        };
        Ok(CallFile { row_id: row.id.0, file: row.into_message_file(None), image })
    };
    storing.await.map_err(|error: FilesError| {
        tracing::info!(%error, "an image of a tool was not stored");
        error.to_string()
    })
}
