//! How a request travels and its answer is read. Which requests there are is in the files beside this one.

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use tallybook_protocol::Problem;

use super::error::ApiError;
use crate::browser::{self, Response, Unreachable};

/// How long a plain request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// The code of an answer to a user whose session is over.
const SIGNED_OUT: &str = "not-signed-in";

/// For requests that say nothing but their address.
pub(super) const NO_BODY: Option<&()> = None;

pub(super) async fn call<T: DeserializeOwned>(
    method: &str,
    url: &str,
    body: Option<&impl Serialize>,
) -> Result<T, ApiError> {
    serde_json::from_str(&call_text(method, url, body).await?).map_err(|_| ApiError::Unreadable)
}

/// The whole text of an answer.
pub(super) async fn call_text(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<String, ApiError> {
    let whole = async { Ok(request(method, url, body).await?.text().await?) };
    browser::within(REQUEST_LIMIT, whole).await.unwrap_or(Err(ApiError::Unreachable))
}

/// Sends a request and gives the answer's head; an answer that is no success becomes an error with its sentence.
pub(super) async fn request(method: &str, url: &str, body: Option<&impl Serialize>) -> Result<Response, ApiError> {
    let body = body.map(serde_json::to_string).transpose().map_err(|_| ApiError::Unreadable)?;
    let head = browser::fetch(method, url, body.as_deref());
    let response = browser::within(REQUEST_LIMIT, head).await.unwrap_or(Err(Unreachable))?;
    let status = response.status();
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let told = browser::within(REQUEST_LIMIT, response.text()).await.unwrap_or(Err(Unreachable))?;
    let (kind, detail) = match serde_json::from_str::<Problem>(&told) {
        Ok(problem) => (problem.kind, problem.detail),
        Err(_) => Default::default(),
    };
    let code = kind.rsplit('/').next().unwrap_or_default().to_owned();
    if code == SIGNED_OUT {
        browser::tell_signed_out();
    }
    Err(ApiError::Refused { status, code, detail })
}

/// Deletes what was given. What is gone was taken back elsewhere.
pub(super) async fn take_back(url: &str) -> Result<(), ApiError> {
    match request("DELETE", url, NO_BODY).await {
        Err(error) if !error.is_not_found() => Err(error),
        Err(_) => Ok(()),
        Ok(response) => Ok(response.text().await.map(|_| ())?),
    }
}

/// A page of what is found for `words` at the address that ends with them.
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
