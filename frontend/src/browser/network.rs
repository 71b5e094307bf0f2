//! Requests, and answers that are read as they come.

use tallybook_protocol::TIME_ZONE_HEADER;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, Headers, ReadableStreamDefaultReader, RequestInit};

use super::{Unreachable, clock::time_zone, window};

/// One request's connection; dropping it aborts what is still under way, unless the answer is known to be complete.
struct Connection {
    controller: AbortController,
    complete: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.complete {
            self.controller.abort();
        }
    }
}

/// The head of an answer; its body is still to be read.
pub(crate) struct Response {
    response: web_sys::Response,
    connection: Connection,
}

impl Response {
    /// The HTTP status code.
    pub(crate) fn status(&self) -> u16 {
        self.response.status()
    }

    /// A header; `None` when there is none of that name.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.response.headers().get(name).ok().flatten()
    }

    /// The whole body as text.
    pub(crate) async fn text(mut self) -> Result<String, Unreachable> {
        let text = JsFuture::from(self.response.text()?).await?;
        self.connection.complete = true;
        text.as_string().ok_or(Unreachable)
    }

    /// The body in the portions in which it arrives.
    pub(crate) fn into_body(self) -> Result<Body, Unreachable> {
        let reader = self.response.body().ok_or(Unreachable)?.get_reader();
        Ok(Body { reader: reader.unchecked_into(), connection: self.connection })
    }
}

/// A streamed body.
pub(crate) struct Body {
    reader: ReadableStreamDefaultReader,
    connection: Connection,
}

impl Body {
    /// The next portion; `None` at the end.
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

/// Sends a request; `body` is JSON.
pub(crate) async fn fetch(method: &str, url: &str, body: Option<&str>) -> Result<Response, Unreachable> {
    let connection = Connection { controller: AbortController::new()?, complete: false };
    let init = RequestInit::new();
    init.set_method(method);
    init.set_signal(Some(&connection.controller.signal()));
    if let Some(body) = body {
        let headers = Headers::new()?;
        headers.set("content-type", "application/json")?;
        if let Some(zone) = time_zone() {
            headers.set(TIME_ZONE_HEADER, &zone)?;
        }
        init.set_headers(&headers);
        init.set_body(&JsValue::from_str(body));
    }
    let response = JsFuture::from(window()?.fetch_with_str_and_init(url, &init)).await?;
    Ok(Response { response: response.dyn_into()?, connection })
}

/// Sends a request that goes through even though the page is being left; `body` is JSON. Nobody hears of its answer.
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
