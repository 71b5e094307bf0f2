//! Images and files in requests of API clients, as base64. They are stored like uploads, once for the same content, and
//! the messages of the request then refer to them by ID.

use std::{collections::HashMap, sync::Arc};

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use tallybook_accounts::{Permission, UserId};
use tallybook_conversations::ApiClientRequest;
use tallybook_files::Files;
use tallybook_llm::{ModelMessage, UserPart};
use tallybook_protocol::{FileInfo, FileKind, MessagePart};
use uuid::Uuid;

use crate::http::{
    error::ApiError,
    large_body::LargeBody,
    openai::{
        error::Refusal,
        request::{ContentPart, FilePart, ImageUrl},
    },
    state::AppState,
};

/// Maximum number of images and files in a request. A message has at most 10.
const MAX_ATTACHMENTS: usize = 100;

/// Size of the base64 text that is decoded at a time, in bytes. A multiple of 4.
const DECODED_AT_ONCE: usize = 256 * 1024;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Types of content parts that are images, and of those that are files.
const IMAGES: [&str; 3] = ["image_url", "input_image", "image"];
const FILES: [&str; 3] = ["file", "input_file", "document"];

/// An image or a file in a request.
#[derive(Debug)]
pub(crate) struct NewAttachment {
    /// Provisional ID, by which the messages refer to the attachment until it is stored.
    id: Uuid,
    /// The parameter that contains it.
    place: String,
    name: String,
    /// A data URL or base64.
    data: String,
    /// Index at which the base64 begins in `data`.
    begin: usize,
}

/// Returns `true` if a part of this type is an image or a file.
pub(crate) fn is_attachment(kind: &str) -> bool {
    IMAGES.contains(&kind) || FILES.contains(&kind)
}

/// Reads an image or a file from a content part. `place` is the name of the request's parameter, for the refusal.
pub(crate) fn read(place: String, part: ContentPart, attachments: &mut Vec<NewAttachment>) -> Result<Uuid, Refusal> {
    if attachments.len() == MAX_ATTACHMENTS {
        return Err(Refusal::bad(place, format!("There are too many files. Send at most {MAX_ATTACHMENTS}.")));
    }
    let ContentPart { kind, image_url, file, file_data, filename, file_id, file_url, .. } = part;
    let file = file.unwrap_or_default();
    if file_id.is_some() || file.file_id.is_some() {
        return Err(Refusal::bad(place, "A file_id is not supported here. Send the content as base64."));
    }
    let is_image = IMAGES.contains(&kind.as_str());
    let url = image_url.map(|url| match url {
        ImageUrl::Url(url) | ImageUrl::Object { url } => url,
    });
    let FilePart { file_data: inner_data, filename: inner_name, .. } = file;
    let data = if is_image { url.or(inner_data) } else { file_data.or(inner_data).or(file_url) };
    let Some(data) = data else {
        let field = if is_image { "an image_url" } else { "file_data" };
        return Err(Refusal::bad(place, format!("The part of the type {kind:?} needs {field} with the content.")));
    };
    let Some((media_type, begin)) = base64_of(&data, is_image) else {
        let scheme = data.get(..8).unwrap_or(&data).to_ascii_lowercase();
        let message = if scheme.starts_with("http:") || scheme.starts_with("https:") {
            "Remote URLs are not supported. Send the content as a data URL: data:image/png;base64,…"
        } else {
            "This is not a data URL with base64. An example: data:image/png;base64,…"
        };
        return Err(Refusal::bad(place, message));
    };
    let name = filename.or(inner_name).unwrap_or_else(|| name_of(media_type).to_owned());
    let id = Uuid::now_v7();
    attachments.push(NewAttachment { id, place, name, data, begin });
    Ok(id)
}

/// Returns the media type of a data URL, and the index at which its base64 begins. Files can also be base64 alone.
fn base64_of(data: &str, is_image: bool) -> Option<(&str, usize)> {
    let is_url = data.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    if !is_url {
        let is_bare = !is_image && !data.is_empty() && !data.contains(':');
        return is_bare.then_some(("", 0));
    }
    let comma = data.find(',')?;
    let (media_type, encoding) = data.get(5..comma)?.rsplit_once(';')?;
    (encoding.trim().eq_ignore_ascii_case("base64") && comma + 1 < data.len()).then_some((media_type, comma + 1))
}

/// Returns the name of an attachment that has none.
fn name_of(media_type: &str) -> &'static str {
    match media_type.split(';').next().unwrap_or_default().trim() {
        "image/png" => "image.png",
        "image/jpeg" | "image/jpg" => "image.jpg",
        "image/webp" => "image.webp",
        "image/gif" => "image.gif",
        media_type if media_type.starts_with("image/") => "image",
        "application/pdf" => "file.pdf",
        _ => "file",
    }
}

/// Stores the attachments of a request, in whose body they are, and makes its messages refer to the stored files. Also
/// runs without attachments, because it checks the size of the rest of the body.
pub(crate) async fn store(
    state: &AppState,
    body: LargeBody,
    attachments: Vec<NewAttachment>,
    request: &mut ApiClientRequest,
) -> Result<(), ApiError> {
    if !attachments.is_empty() {
        state.require(request.api_client.user, Permission::Upload).await?;
    }
    let stored = store_all(state, request.api_client.user, body, attachments).await?;
    if stored.is_empty() {
        return Ok(());
    }
    refer(&stored, &mut request.question);
    let kept = request.chaining.kept.iter_mut().flat_map(|kept| &mut kept.messages);
    for message in Arc::make_mut(&mut request.input).messages.iter_mut().chain(kept) {
        let ModelMessage::User(parts) = message else { continue };
        for part in parts {
            if let UserPart::StoredFile(id) = part
                && let Some(file) = stored.get(id)
            {
                *id = file.id;
            }
        }
    }
    Ok(())
}

/// Makes the parts of a question refer to the stored files.
fn refer(stored: &HashMap<Uuid, FileInfo>, question: &mut [MessagePart]) {
    for part in question {
        if let Some(file) = part.file_id().and_then(|id| stored.get(&id)) {
            let file_id = file.id;
            *part = match file.kind {
                FileKind::Image => MessagePart::Image { file_id },
                FileKind::Document | FileKind::Text => MessagePart::File { file_id },
            };
        }
    }
}

/// Stores attachments. Returns them by their provisional IDs. Once begun, this completes even if the client
/// disconnects.
async fn store_all(
    state: &AppState,
    user: UserId,
    body: LargeBody,
    attachments: Vec<NewAttachment>,
) -> Result<HashMap<Uuid, FileInfo>, ApiError> {
    let permit = body.into_permit(attachments.iter().map(|attachment| attachment.data.len()).sum())?;
    if attachments.is_empty() {
        return Ok(HashMap::new());
    }
    let files = state.service.files().clone();
    let storing = async move {
        let _permit = permit;
        let mut stored = HashMap::new();
        for attachment in attachments {
            let (id, place) = (attachment.id, attachment.place.clone());
            let file = store_one(&files, user, attachment).await.map_err(|error| error.in_param(&place))?;
            stored.insert(id, file);
        }
        Ok(stored)
    };
    state.service.spawn(storing).await.map_err(ApiError::Task)?
}

async fn store_one(files: &Files, user: UserId, attachment: NewAttachment) -> Result<FileInfo, ApiError> {
    let NewAttachment { place, name, data, begin, .. } = attachment;
    let mut upload = files.begin_upload(user, None).await?;
    for part in data.as_bytes().get(begin..).unwrap_or_default().chunks(DECODED_AT_ONCE) {
        let decoded = BASE64
            .decode(part)
            .map_err(|error| Refusal::bad(place.as_str(), format!("The content is not valid base64: {error}.")))?;
        upload.write(&decoded).await?;
    }
    drop(data);
    Ok(files.finish_upload_once(user, &name, upload).await?)
}

#[cfg(test)]
mod tests {
    use super::base64_of;

    #[test]
    fn data_urls_and_bare_base64_are_recognized() {
        for (data, is_image, expected) in [
            ("data:image/png;base64,AAAA", true, Some(("image/png", 22))),
            ("DATA:image/png;charset=x;BASE64,AAAA", true, Some(("image/png;charset=x", 32))),
            ("AAAA", false, Some(("", 0))),
            ("AAAA", true, None),
            ("data:image/png,AAAA", true, None),
            ("data:image/png;base64,", true, None),
            ("data:", false, None),
            ("", false, None),
            ("https://example.org/a.pdf", false, None),
            ("é", true, None),
        ] {
            assert_eq!(base64_of(data, is_image), expected, "{data}");
        }
    }
}
