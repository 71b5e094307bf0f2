//! Checks the files of a message before anything is stored.

use tallybook_accounts::UserId;
use tallybook_files::{FileRow, FilesError};
use tallybook_protocol::{FileKind, FileStatus, MessageFile, MessagePart};

use crate::{
    ServiceError,
    context::Context,
    models::{Model, PermittedModels},
};

/// Returns the files of a message, in the order of its parts. Fails if a file does not exist, belongs to another user
/// or is not ready, and if one is an image and the model reads none. `models` are those of the user.
pub(crate) async fn find_attached(
    context: &Context,
    user: UserId,
    parts: &[MessagePart],
    (models, model): (&PermittedModels, &Model),
) -> Result<Vec<FileRow>, ServiceError> {
    let mut files = Vec::new();
    for part in parts {
        let Some(id) = part.file_id() else { continue };
        let file = context.files.row(user, id).await.map_err(|error| match error {
            FilesError::NotFound => ServiceError::NoSuchFile(id),
            FilesError::Storage(error) => ServiceError::Storage(error),
            other => ServiceError::Files(other),
        })?;
        if file.status != FileStatus::Ready {
            return Err(ServiceError::FileNotReady(file.name));
        }
        if (file.kind == FileKind::Image) != matches!(part, MessagePart::Image { .. }) {
            let kind = if file.kind == FileKind::Image { "image" } else { "file" };
            let problem = format!("The file {:?} must be a part of the type {kind:?}.", file.name);
            return Err(ServiceError::Invalid(problem));
        }
        files.push(file);
    }
    if files.iter().any(|file| file.kind == FileKind::Image) {
        check_vision(models, model)?;
    }
    Ok(files)
}

/// Fails if the model reads no images.
pub(crate) fn check_vision(models: &PermittedModels, model: &Model) -> Result<(), ServiceError> {
    if model.reads_images() != Some(false) {
        return Ok(());
    }
    let advice = match models.names_with_vision() {
        Some(names) => format!("Choose a model that does: {names}."),
        None => {
            "No model of this server does. Remove the image, or ask the administrator to add such a model.".to_owned()
        }
    };
    Err(ServiceError::ModelReadsNoImages { name: model.name().to_owned(), advice })
}

/// Returns the files as the first event of a turn has them.
pub(crate) fn of_event(files: &[FileRow]) -> Vec<MessageFile> {
    files.iter().map(|file| file.clone().into_message_file(None)).collect()
}
