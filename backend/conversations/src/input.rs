//! Validates user input, once when a request arrives and before anything is stored: lengths, characters, and the files
//! of a message.

use tallybook_accounts::UserId;
use tallybook_files::{FileRow, FilesError};
use tallybook_protocol::{Feedback, FileKind, FileStatus, MAX_FEEDBACK_CHARS, MessageFile, MessagePart, NewMessage};

use crate::{
    ServiceError,
    context::Context,
    limits::{
        MAX_CLIENT_ID_CHARS, MAX_MESSAGE_CHARS, MAX_MESSAGE_FILES, MAX_MESSAGE_PARTS, MAX_SEARCH_CHARS, MAX_TITLE_CHARS,
    },
    models::{Model, PermittedModels},
};

/// Validates a message and returns its parts. A message with `content` has one text part.
pub(crate) fn check_message(new: &NewMessage) -> Result<Vec<MessagePart>, ServiceError> {
    if new.parts.len() > MAX_MESSAGE_PARTS {
        return Err(invalid("The message has too many parts. Use at most 100."));
    }
    if !new.parts.is_empty() && !new.content.is_empty() {
        return Err(invalid("The message has both content and parts. Send one of them."));
    }
    let parts =
        if new.parts.is_empty() { vec![MessagePart::Text { text: new.content.clone() }] } else { new.parts.clone() };
    let content = MessagePart::join_texts(&parts);
    let files = check_file_count(&parts)?;
    if content.trim().is_empty() && files == 0 {
        return Err(invalid("The message is empty. Write something first."));
    }
    let length = content.chars().count();
    if length > MAX_MESSAGE_CHARS {
        return Err(ServiceError::Invalid(format!(
            "The message has {length} characters; at most {MAX_MESSAGE_CHARS} are allowed. Shorten it or send it in parts."
        )));
    }
    if content.contains('\0') {
        return Err(invalid("The message contains a NUL character. Remove it and send again."));
    }
    if let Some(id) = &new.client_message_id {
        check_client_id("client_message_id", id)?;
    }
    Ok(parts)
}

/// Validates an ID that a client chose, in the named field.
pub(crate) fn check_client_id(field: &str, id: &str) -> Result<(), ServiceError> {
    let fits = (1..=MAX_CLIENT_ID_CHARS).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    let advice = || format!("{field} must be 1 to {MAX_CLIENT_ID_CHARS} visible ASCII characters, such as a UUID.");
    if fits { Ok(()) } else { Err(ServiceError::Invalid(advice())) }
}

/// Returns the number of files in a message. Fails if there are too many.
pub(crate) fn check_file_count(parts: &[MessagePart]) -> Result<usize, ServiceError> {
    let files = parts.iter().filter_map(MessagePart::file_id).count();
    if files > MAX_MESSAGE_FILES {
        return Err(invalid("The message has too many files. Attach at most 10."));
    }
    Ok(files)
}

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

/// Validates feedback on an answer. Returns it with the trimmed reason; an empty one counts as absent.
pub(crate) fn check_feedback(given: &Feedback) -> Result<Feedback, ServiceError> {
    let reason = given.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.chars().count() > MAX_FEEDBACK_CHARS) {
        return Err(invalid("The reason is too long. Use at most 1000 characters."));
    }
    if reason.is_some_and(|reason| reason.contains('\0')) {
        return Err(invalid("The reason contains a NUL character. Remove it and send again."));
    }
    Ok(Feedback { rating: given.rating, reason: reason.map(str::to_owned) })
}

pub(crate) fn check_search(search: &str) -> Result<(), ServiceError> {
    if search.chars().count() > MAX_SEARCH_CHARS {
        return Err(invalid("The search is too long. Use at most 200 characters."));
    }
    Ok(())
}

pub(crate) fn check_title(title: &str) -> Result<&str, ServiceError> {
    let title = title.trim();
    if title.is_empty() {
        return Err(invalid("The title is empty. Write at least one character."));
    }
    if title.chars().count() > MAX_TITLE_CHARS {
        return Err(invalid("The title is too long. Use at most 200 characters."));
    }
    if title.chars().any(char::is_control) {
        return Err(invalid("The title contains control characters. Use one line of plain text."));
    }
    Ok(title)
}

fn invalid(message: &str) -> ServiceError {
    ServiceError::Invalid(message.to_owned())
}
