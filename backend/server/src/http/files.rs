//! HTTP handlers for files: upload, content with ranges, text, delete. Content from users is never served in a way in
//! which a browser would run it.

use actix_web::{
    HttpRequest, HttpResponse,
    body::SizedStream,
    http::{
        StatusCode,
        header::{
            self, Charset, ContentDisposition, DispositionParam, DispositionType, EntityTag, ExtendedValue,
            Header as _, IfRange,
        },
    },
    web,
};
use futures_util::StreamExt as _;
use serde::Deserialize;
use tallybook_accounts::Permission;
use tallybook_files::{Content, FilesError, Variant};
use tallybook_protocol::{FileInfo, FileText};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{
    content_encoding,
    error::ApiError,
    peer::Peer,
    query::Query,
    shared_responses::{InUse, Unknown, Unreadable},
    state::State,
};
use crate::http::caller::CurrentUser;

/// `Cache-Control` of content, which never changes.
const CACHING: &str = "private, max-age=31536000, immutable";

/// Content security policy of content: a browser that shows it loads nothing, runs nothing, and treats it as another
/// origin.
pub(super) const SANDBOX: &str = "sandbox; default-src 'none'";

/// Media types that browsers show as images, without scripts.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadQuery {
    /// Name of the file. A path before it is removed.
    #[serde(default)]
    name: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ContentQuery {
    /// Form of the content.
    #[param(inline)]
    #[serde(default)]
    variant: Form,
}

#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// As it was uploaded.
    #[default]
    Original,
    /// An image as models receive it.
    Model,
    /// An image as lists show it.
    Thumb,
}

impl ContentQuery {
    pub(super) fn variant(&self) -> Variant {
        self.variant.into()
    }
}

impl From<Form> for Variant {
    fn from(form: Form) -> Self {
        match form {
            Form::Original => Self::Original,
            Form::Model => Self::Model,
            Form::Thumb => Self::Thumb,
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TextQuery {
    /// Number of the page, from 1.
    #[param(minimum = 1)]
    #[serde(default = "first_page")]
    page: i32,
}

fn first_page() -> i32 {
    1
}

/// Uploads a file. The body is its content.
///
/// The content decides the kind of the file, whatever its name and the header `Content-Type` say.
#[utoipa::path(
    post, path = "/api/files", operation_id = "upload_file", tag = "Files", params(UploadQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses(
        (status = 201, body = FileInfo), Unreadable,
        (status = 413, description = "The file is larger than `MAX_FILE_BYTES`, or your files are larger than `MAX_FILES_PER_USER_BYTES`."),
        (status = 415, description = "This kind of file is not accepted. `detail` says which kinds are."),
    ),
)]
pub(crate) async fn create(
    state: State,
    CurrentUser(user): CurrentUser,
    Query(query): Query<UploadQuery>,
    peer: Peer,
    request: HttpRequest,
    mut body: web::Payload,
) -> Result<HttpResponse, ApiError> {
    // A large file over a slow connection takes longer than other requests.
    let _served = peer.served();
    state.require(user, Permission::Upload).await?;
    let files = state.service.files().clone();
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let mut upload = files.begin_upload(user, announced).await?;
    while let Some(part) = body.next().await {
        upload.write(&part?).await?;
    }
    let finish = async move { files.finish_upload(user, &query.name, upload).await };
    let file = state.service.spawn(finish).await.map_err(ApiError::Task)??;
    Ok(HttpResponse::Created().json(file))
}

/// Returns a file without its content.
#[utoipa::path(
    get, path = "/api/files/{file_id}", operation_id = "find_file", tag = "Files",
    responses((status = 200, body = FileInfo), Unknown),
)]
pub(crate) async fn find(
    state: State,
    CurrentUser(user): CurrentUser,
    id: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    Ok(HttpResponse::Ok().json(state.service.files().find(user, *id).await?))
}

/// Downloads the content of a file.
///
/// `Range` with one range of bytes is supported.
#[utoipa::path(
    get, path = "/api/files/{file_id}/content", operation_id = "download_file", tag = "Files", params(ContentQuery),
    responses(
        (status = 200, description = "The content.", content((String = "application/octet-stream"))),
        (status = 206, description = "The range of the content.", content((String = "application/octet-stream"))),
        (status = 304, description = "The client has the content already."),
        (status = 416, description = "The content has no such range."),
        Unknown,
    ),
)]
pub(crate) async fn content(
    state: State,
    CurrentUser(user): CurrentUser,
    id: web::Path<Uuid>,
    Query(query): Query<ContentQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let files = state.service.files();
    let content = files.content(user, *id, query.variant()).await?;
    let tag = EntityTag::new_strong(content.sha256.clone());
    let (mut response, is_known) = content_encoding::head(&request, &tag, CACHING);
    response.insert_header((header::CONTENT_SECURITY_POLICY, SANDBOX)).insert_header((header::ACCEPT_RANGES, "bytes"));
    if is_known {
        return Ok(response.finish());
    }
    response
        .insert_header((header::CONTENT_TYPE, served_type(&content.media_type)))
        .insert_header(disposition(&content));
    let range = match requested_range(&request, &tag, content.bytes) {
        Range::All => 0..content.bytes,
        Range::Unsatisfiable => return Err(ApiError::NoSuchRange(content.bytes)),
        Range::Part(range) => {
            let value = format!("bytes {}-{}/{}", range.start, range.end - 1, content.bytes);
            response.status(StatusCode::PARTIAL_CONTENT).insert_header((header::CONTENT_RANGE, value));
            range
        }
    };
    let length = range.end - range.start;
    let stream = files.read(&content, range).await?;
    Ok(response.body(SizedStream::new(length, stream)))
}

/// Returns a page of the text of a document or text file.
#[utoipa::path(
    get, path = "/api/files/{file_id}/text", operation_id = "read_file_text", tag = "Files", params(TextQuery),
    responses((status = 200, body = FileText), Unknown),
)]
pub(crate) async fn text(
    state: State,
    CurrentUser(user): CurrentUser,
    id: web::Path<Uuid>,
    Query(query): Query<TextQuery>,
) -> Result<HttpResponse, ApiError> {
    Ok(HttpResponse::Ok().json(state.service.files().text(user, *id, query.page).await?))
}

/// Deletes a file that no message contains.
#[utoipa::path(
    delete, path = "/api/files/{file_id}", operation_id = "delete_file", tag = "Files",
    responses((status = 204, description = "The file is deleted."), Unknown, InUse),
)]
pub(crate) async fn delete(
    state: State,
    CurrentUser(user): CurrentUser,
    id: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    let files = state.service.files().clone();
    let delete = async move { files.delete(user, *id).await };
    state.service.spawn(delete).await.map_err(ApiError::Task)??;
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the error for a path with a malformed file ID.
pub(crate) fn no_such_file() -> ApiError {
    FilesError::NotFound.into()
}

/// Returns the media type with which content is served: its own for images and PDF. Browsers could run other types,
/// such as HTML and SVG, as pages of this server.
pub(super) fn served_type(media_type: &str) -> &'static str {
    let known = IMAGES.into_iter().chain(["application/pdf"]).find(|known| *known == media_type);
    known.unwrap_or("application/octet-stream")
}

/// Returns the header that names the file (RFC 6266): once in UTF-8, and once in ASCII for clients that cannot read
/// UTF-8. Only images are shown in the browser.
pub(super) fn disposition(content: &Content) -> ContentDisposition {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._- ".contains(character);
    let ascii: String = content.name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let value = content.name.clone().into_bytes();
    let named = ExtendedValue { charset: Charset::Ext("UTF-8".to_owned()), language_tag: None, value };
    let is_image = IMAGES.contains(&content.media_type.as_str());
    ContentDisposition {
        disposition: if is_image { DispositionType::Inline } else { DispositionType::Attachment },
        parameters: vec![DispositionParam::Filename(ascii), DispositionParam::FilenameExt(named)],
    }
}

/// The part of the content that a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    All,
    Part(std::ops::Range<u64>),
    Unsatisfiable,
}

/// Reads the header `Range` (RFC 9110). Several ranges at once are ignored, and so is a range of an earlier version.
fn requested_range(request: &HttpRequest, tag: &EntityTag, bytes: u64) -> Range {
    let is_of_this = match IfRange::parse(request) {
        Ok(IfRange::EntityTag(known)) => known.strong_eq(tag),
        Ok(IfRange::Date(_)) => false,
        Err(_) => true,
    };
    let range = request.headers().get(header::RANGE).and_then(|range| range.to_str().ok());
    range.filter(|_| is_of_this).map_or(Range::All, |range| parse_range(range, bytes))
}

fn parse_range(text: &str, bytes: u64) -> Range {
    let Some((first, last)) = text.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Range::All;
    };
    let range = match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(bytes),
        (Ok(first), Err(_)) if last.trim().is_empty() => first..bytes,
        // The last bytes.
        (Err(_), Ok(count)) if first.trim().is_empty() => bytes.saturating_sub(count)..bytes,
        _ => return Range::All,
    };
    if range.is_empty() { Range::Unsatisfiable } else { Range::Part(range) }
}

#[cfg(test)]
mod tests {
    use super::{Range, parse_range, served_type};

    #[test]
    fn one_range_of_bytes_is_read() {
        for (text, range) in [
            ("bytes=0-9", Range::Part(0..10)),
            ("bytes=90-", Range::Part(90..100)),
            ("bytes=-10", Range::Part(90..100)),
            ("bytes=-1000", Range::Part(0..100)),
            ("bytes=50-1000", Range::Part(50..100)),
            ("bytes=100-", Range::Unsatisfiable),
            ("bytes=-0", Range::Unsatisfiable),
            ("bytes=9-0", Range::All),
            ("bytes=0-1,5-6", Range::All),
            ("lines=1-2", Range::All),
            ("bytes=", Range::All),
        ] {
            assert_eq!(parse_range(text, 100), range, "{text}");
        }
    }

    #[test]
    fn only_images_and_pdf_have_their_own_type() {
        for (own, served) in [
            ("image/png", "image/png"),
            ("application/pdf", "application/pdf"),
            ("text/html", "application/octet-stream"),
            ("image/svg+xml", "application/octet-stream"),
            ("text/plain", "application/octet-stream"),
        ] {
            assert_eq!(served_type(own), served);
        }
    }
}
