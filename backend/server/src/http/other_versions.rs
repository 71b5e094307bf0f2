//! The page's files of other versions than this server's, for pages that another server delivered, or this one before it
//! was updated. They are read from the database anew each time: a browser keeps what it got.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ContentEncoding, EntityTag},
};

use super::{
    content_encoding::{self, ENCODINGS, FOREVER},
    error::ApiError,
    state::AppState,
};

/// Bytes of the longest name of a folder or of a file.
const MAX_NAME_BYTES: usize = 64;

/// A file of another version; `None` when it is not kept.
pub(super) async fn answer(state: &AppState, request: &HttpRequest) -> Result<Option<HttpResponse>, ApiError> {
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

/// The folder and the name in the address of a file, if they may be ones of ours.
fn parse(path: &str) -> Option<(&str, &str)> {
    let (folder, name) = path.rsplit_once('/')?;
    let is_plain = |text: &str| {
        (1..=MAX_NAME_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte))
    };
    // A compressed form is not for whoever asks for it by its name: it is the file, sent in a certain way.
    let is_form = ENCODINGS.iter().any(|(_, end)| name.ends_with(end));
    (is_plain(folder) && is_plain(name) && !is_form).then_some((folder, name))
}
