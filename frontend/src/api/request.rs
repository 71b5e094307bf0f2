//! Sends requests and reads their responses. The requests themselves are in the other files of this folder.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::error::ApiError;
use crate::browser::{self, HttpResponse, Unreachable};

/// Timeout of a request: for its headers, for the text of an error, and in `call_text` for the complete response.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// Timeout of a request during which the server waits for a model.
const MODEL_LIMIT: Duration = Duration::from_mins(3);

/// The error codes of a request whose session has ended.
const SIGNED_OUT: [&str; 2] = ["not-signed-in", "account-deactivated"];

/// The body of requests without a body.
pub(super) const NO_BODY: Option<&()> = None;

pub(super) async fn call<T: DeserializeOwned>(
    method: &str,
    url: &str,
    body: Option<&impl Serialize>,
) -> Result<T, ApiError> {
    serde_json::from_str(&call_text(method, url, body).await?).map_err(|_| ApiError::Unreadable)
}

/// Sends a request and returns the complete text of its response.
pub(super) async fn call_text(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<String, ApiError> {
    let whole = async { Ok(request(method, url, body).await?.text().await?) };
    browser::within(REQUEST_LIMIT, whole).await.unwrap_or(Err(ApiError::Unreachable))
}

/// Sends a request and returns the response, whose body is not read yet. A status other than 2xx becomes an error.
pub(super) async fn request(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<HttpResponse, ApiError> {
    send(method, url, text_of(body)?.as_deref(), None, REQUEST_LIMIT).await
}

/// Sends a request during which the server waits for a model.
pub(super) async fn call_model<T: DeserializeOwned>(url: &str, body: Option<&impl Serialize>) -> Result<T, ApiError> {
    parsed("POST", url, text_of(body)?.as_deref(), None, MODEL_LIMIT).await
}

/// Changes a resource of this version. If it has another one, the server refuses the change with 412.
pub(super) async fn change<T: DeserializeOwned>(
    url: &str,
    version: Option<i64>,
    body: &impl Serialize,
) -> Result<T, ApiError> {
    parsed("PATCH", url, text_of(Some(body))?.as_deref(), tag(version).as_deref(), REQUEST_LIMIT).await
}

/// Returns the value of the header `If-Match`.
fn tag(version: Option<i64>) -> Option<String> {
    version.map(|version| format!("\"{version}\""))
}

async fn parsed<T: DeserializeOwned>(
    method: &str,
    url: &str,
    body: Option<&str>,
    if_match: Option<&str>,
    limit: Duration,
) -> Result<T, ApiError> {
    let whole = async { Ok(send(method, url, body, if_match, limit).await?.text().await?) };
    let text = browser::within(limit, whole).await.unwrap_or(Err(ApiError::Unreachable))?;
    serde_json::from_str(&text).map_err(|_| ApiError::Unreadable)
}

fn text_of(body: Option<&impl Serialize>) -> Result<Option<String>, ApiError> {
    body.map(serde_json::to_string).transpose().map_err(|_| ApiError::Unreadable)
}

async fn send(
    method: &str,
    url: &str,
    body: Option<&str>,
    if_match: Option<&str>,
    limit: Duration,
) -> Result<HttpResponse, ApiError> {
    let head = browser::fetch(method, url, body, if_match);
    let response = browser::within(limit, head).await.unwrap_or(Err(Unreachable))?;
    let status = response.status();
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let body_text = browser::within(REQUEST_LIMIT, response.text()).await.unwrap_or(Err(Unreachable))?;
    Err(refusal(status, &body_text))
}

/// The fields of a `Problem` of the protocol that the page uses. The code that parses the others would be a sixtieth of
/// the main module.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    #[serde(rename = "type")]
    kind: String,
    detail: String,
}

/// Returns the error that a response with another status than 2xx stands for. `body` is its text.
pub(super) fn refusal(status: u16, body: &str) -> ApiError {
    let Refusal { kind, detail } = serde_json::from_str(body).unwrap_or_default();
    let code = kind.rsplit('/').next().unwrap_or_default().to_owned();
    if SIGNED_OUT.contains(&code.as_str()) {
        browser::tell_signed_out();
    }
    ApiError::Refused { status, code, detail }
}

/// Deletes something that the user granted, such as a share link. It is not an error if it is already deleted.
pub(super) async fn take_back(url: &str) -> Result<(), ApiError> {
    take_back_version(url, None).await
}

/// Deletes this version of something, like [`take_back`]. If it has another version, the server refuses with 412.
pub(super) async fn take_back_version(url: &str, version: Option<i64>) -> Result<(), ApiError> {
    match send("DELETE", url, None, tag(version).as_deref(), REQUEST_LIMIT).await {
        Err(error) if !error.is_not_found() => Err(error),
        Err(_) => Ok(()),
        Ok(response) => Ok(response.text().await.map(|_| ())?),
    }
}

/// Returns a page of a list, after `cursor`. The address is `url` followed by the encoded `words`.
pub(super) async fn page<T: DeserializeOwned>(url: &str, words: &str, cursor: Option<&str>) -> Result<T, ApiError> {
    let mut url = format!("{url}{}", encoded(words));
    if let Some(cursor) = cursor {
        url.push_str("&cursor=");
        url.push_str(&encoded(cursor));
    }
    call("GET", &url, NO_BODY).await
}

pub(super) fn encoded(text: &str) -> String {
    String::from(js_sys::encode_uri_component(text))
}
