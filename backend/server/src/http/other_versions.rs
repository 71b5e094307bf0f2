//! Serves the page's files of other versions, which pages request that another replica delivered, or this server before
//! an update. Each request reads the file from the database; browsers cache the files, so requests are rare.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ContentEncoding, EntityTag},
};

use super::{
    content_encoding::{self, ENCODINGS, FOREVER},
    error::ApiError,
    state::AppState,
};

/// Maximum length of a folder's or a file's name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Returns a file of another version; `None` if the file is not stored.
pub(crate) async fn answer(state: &AppState, request: &HttpRequest) -> Result<Option<HttpResponse>, ApiError> {
    let Some((folder, name)) = parse(request.path()) else { return Ok(None) };
    for (encoding, end) in content_encoding::accepted_encodings(request) {
        let (folder, name) = (folder.to_owned(), format!("{name}{end}"));
        let files = state.page_files.clone();
        let find = move |_| async move { Ok((files.find(&folder, &name).await?, folder, name)) };
        let (Some(file), folder, name) = state.run(find).await? else { continue };
        let tag = EntityTag::new_strong(file.tag);
        let (mut response, is_known) = content_encoding::head(request, &tag, FOREVER);
        if is_known {
            return Ok(Some(response.finish()));
        }
        let files = state.page_files.clone();
        let read = move |_| async move { Ok(files.read(&folder, &name).await?) };
        let Some(bytes) = state.run(read).await? else { return Ok(None) };
        if encoding != ContentEncoding::Identity {
            response.insert_header(encoding);
        }
        return Ok(Some(response.content_type(file.media_type).body(bytes)));
    }
    Ok(None)
}

/// Splits a path into folder and file name. Returns `None` if it cannot be the path of a file of the web page, of any
/// version.
fn parse(path: &str) -> Option<(&str, &str)> {
    let (folder, name) = path.rsplit_once('/')?;
    let is_plain = |text: &str| {
        (1..=MAX_NAME_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte))
    };
    // Refuses the name of a compressed form, which is only an encoding of its file.
    let is_form = ENCODINGS.iter().any(|(_, end)| name.ends_with(end));
    (is_plain(folder) && is_plain(name) && !is_form).then_some((folder, name))
}
