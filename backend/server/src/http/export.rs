//! HTTP handler for `GET /api/conversations/{uuid}/export`: downloads a conversation. Also builds the responses of
//! other downloads.

use actix_web::{
    HttpResponse,
    http::header::{self, Charset, ContentDisposition, DispositionParam, DispositionType, ExtendedValue},
    web,
};
use futures_util::stream::poll_fn;
use serde::Deserialize;
use tallybook_conversations::{Export, ExportFormat, ExportParts};
use tallybook_protocol::first_chars;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{error::ApiError, query::Query, state::State};
use crate::http::caller::CurrentUser;

/// Maximum length of the title in the file name, in characters.
const MAX_NAME_CHARS: usize = 80;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// Format of the file.
    #[param(inline)]
    format: Format,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    Markdown,
    Json,
    Zip,
}

impl Format {
    fn kind(self) -> (ExportFormat, &'static str, &'static str) {
        match self {
            Self::Markdown => (ExportFormat::Markdown, "text/markdown; charset=utf-8", "md"),
            Self::Json => (ExportFormat::Json, "application/json", "json"),
            Self::Zip => (ExportFormat::Zip, "application/zip", "zip"),
        }
    }
}

/// Downloads a conversation as a file.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/export", operation_id = "export_conversation", tag = "Conversations",
    params(ExportQuery),
    responses((status = 200, description = "The file.", content((String = "text/markdown"), (Object = "application/json"), (Vec<u8> = "application/zip")))),
)]
pub(crate) async fn download(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
    Query(query): Query<ExportQuery>,
) -> Result<HttpResponse, ApiError> {
    let (format, content_type, extension) = query.format.kind();
    let export = |service: tallybook_conversations::ConversationService| async move {
        service.export_conversation(user, *uuid, format).await
    };
    let Export { title, parts } = state.run(export).await?;
    Ok(file(&title, content_type, extension, parts))
}

/// Returns a response that streams a file for download, part by part.
pub(crate) fn file(title: &str, content_type: &'static str, extension: &str, mut parts: ExportParts) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(attachment(title, extension))
        // An error aborts the connection, so that clients do not take a partial file for a complete one.
        .streaming(poll_fn(move |context| parts.poll_recv(context)))
}

/// Returns the header that makes the response a download and names the file (RFC 6266): once in UTF-8, and once in
/// ASCII for clients that cannot read UTF-8.
fn attachment(title: &str, extension: &str) -> ContentDisposition {
    let name = file_name(title);
    let ascii: String = name.chars().filter(char::is_ascii).collect();
    let ascii = file_name(&ascii);
    let named = ExtendedValue {
        charset: Charset::Ext("UTF-8".to_owned()),
        language_tag: None,
        value: format!("{name}.{extension}").into_bytes(),
    };
    ContentDisposition {
        disposition: DispositionType::Attachment,
        parameters: vec![
            DispositionParam::Filename(format!("{ascii}.{extension}")),
            DispositionParam::FilenameExt(named),
        ],
    }
}

/// Returns a file name from the title's letters and digits; a hyphen replaces everything between them. So the name
/// contains no path separator, no leading dot, and no character that changes the text direction. Names that Windows
/// reserves for devices get a prefix.
fn file_name(title: &str) -> String {
    let words = title.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    match first_chars(&name, MAX_NAME_CHARS).trim_end_matches('-') {
        "" => "conversation".to_owned(),
        name if is_device(name) => format!("conversation-{name}"),
        name => name.to_owned(),
    }
}

/// Returns `true` for the names of devices on Windows, with any extension: `CON`, `PRN`, `AUX`, `NUL`, `COM1`, `LPT1`.
fn is_device(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let port = upper.strip_prefix("COM").or_else(|| upper.strip_prefix("LPT"));
    matches!(upper.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || port.is_some_and(|number| matches!(number.parse(), Ok(1..=9_u8)))
}

#[cfg(test)]
mod tests {
    use super::{attachment, file_name};

    #[test]
    fn a_file_name_is_made_of_letters_and_digits() {
        for (title, name) in [
            ("What is 2 + 2?", "What-is-2-2"),
            ("../../etc/passwd\0", "etc-passwd"),
            ("計算：１＋２", "計算-１-２"),
            (".bashrc", "bashrc"),
            ("txt.\u{202e}exe", "txt-exe"),
            ("?!", "conversation"),
            ("Con?", "conversation-Con"),
            ("LPT1", "conversation-LPT1"),
            ("Contra", "Contra"),
        ] {
            assert_eq!(file_name(title), name);
        }
        assert_eq!(file_name(&"a ".repeat(200)).chars().count(), 79);
    }

    #[test]
    fn the_header_names_the_file_in_ascii_and_in_every_script() {
        assert_eq!(
            attachment("計算 \"1\"; x=2", "md").to_string(),
            "attachment; filename=\"1-x-2.md\"; filename*=UTF-8''%E8%A8%88%E7%AE%97%2D1%2Dx%2D2.md"
        );
    }
}
