//! HTTP requests, with response bodies that can be streamed.

use tallybook_protocol::TIME_ZONE_HEADER;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, Headers, ReadableStreamDefaultReader, RequestInit};

use super::{Unreachable, clock::time_zone, window};

/// The connection of a request. Dropping it aborts the request, unless the response was read to its end.
struct NetworkInformation {
    controller: AbortController,
    complete: bool,
}

impl Drop for NetworkInformation {
    fn drop(&mut self) {
        if !self.complete {
            self.controller.abort();
        }
    }
}

/// The status and headers of a response; its body is not read yet.
pub(crate) struct HttpResponse {
    response: web_sys::Response,
    connection: NetworkInformation,
}

impl HttpResponse {
    /// Returns the HTTP status code.
    pub(crate) fn status(&self) -> u16 {
        self.response.status()
    }

    /// Returns a header; `None` if there is none with that name.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.response.headers().get(name).ok().flatten()
    }

    /// Returns the complete body as text.
    pub(crate) async fn text(mut self) -> Result<String, Unreachable> {
        let text = JsFuture::from(self.response.text()?).await?;
        self.connection.complete = true;
        text.as_string().ok_or(Unreachable)
    }

    /// Returns the body as a stream.
    pub(crate) fn into_body(self) -> Result<Body, Unreachable> {
        let reader = self.response.body().ok_or(Unreachable)?.get_reader();
        Ok(Body { reader: reader.unchecked_into(), connection: self.connection })
    }
}

/// The body of a response, as a stream.
pub(crate) struct Body {
    reader: ReadableStreamDefaultReader,
    connection: NetworkInformation,
}

impl Body {
    /// Returns the next chunk; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Unreachable> {
        let read = JsFuture::from(self.reader.read()).await?;
        if js_sys::Reflect::get(&read, &"done".into())?.is_truthy() {
            self.connection.complete = true;
            return Ok(None);
        }
        let value = js_sys::Reflect::get(&read, &"value".into())?;
        Ok(Some(value.dyn_into::<js_sys::Uint8Array>()?.to_vec()))
    }
}

/// Sends a request; `body` is JSON. With `if_match`, the server refuses it if the resource has another version.
pub(crate) async fn fetch(
    method: &str,
    url: &str,
    body: Option<&str>,
    if_match: Option<&str>,
) -> Result<HttpResponse, Unreachable> {
    let connection = NetworkInformation { controller: AbortController::new()?, complete: false };
    let init = RequestInit::new();
    init.set_method(method);
    init.set_signal(Some(&connection.controller.signal()));
    let headers = Headers::new()?;
    if let Some(version) = if_match {
        headers.set("if-match", version)?;
    }
    if let Some(body) = body {
        headers.set("content-type", "application/json")?;
        if let Some(zone) = time_zone() {
            headers.set(TIME_ZONE_HEADER, &zone)?;
        }
        init.set_body(&JsValue::from_str(body));
    }
    init.set_headers(&headers);
    let response = JsFuture::from(window()?.fetch_with_str_and_init(url, &init)).await?;
    Ok(HttpResponse { response: response.dyn_into()?, connection })
}

/// Sends a request that the browser completes even if the user leaves the page; `body` is JSON. The response is
/// ignored.
pub(crate) fn send_at_leaving(method: &str, url: &str, body: Option<&str>) {
    let init = RequestInit::new();
    init.set_method(method);
    if let (Some(body), Ok(headers)) = (body, Headers::new()) {
        let _ = headers.set("content-type", "application/json");
        init.set_headers(&headers);
        init.set_body(&JsValue::from_str(body));
    }
    let kept = js_sys::Reflect::set(&init, &"keepalive".into(), &JsValue::TRUE);
    if let (Ok(window), Ok(_)) = (window(), kept) {
        let _ = window.fetch_with_str_and_init(url, &init);
    }
}
