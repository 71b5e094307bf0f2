//! The few things a page asks of the browser: fetch with a streamed body, timers, random ids. It compiles everywhere so
//! that there is one code path, but only effects and event handlers call it, and those run in a browser alone.

use std::{cell::Cell, time::Duration};

use crate::{
    days::Calendar,
    language::Language,
    preferences::{Preferences, Sidebar, Theme},
};
use futures_util::future::{Either, select};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortController, Element, FocusOptions, Headers, HtmlDocument, HtmlElement, ReadableStreamDefaultReader,
    RequestInit, Window,
};

/// Whether this is a browser. What the server draws cannot be used before a browser has taken over.
pub(crate) const IS_HERE: bool = cfg!(target_arch = "wasm32");

/// The server could not be reached, or the connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreachable;

impl From<JsValue> for Unreachable {
    fn from(_: JsValue) -> Self {
        // Browsers say no more than "Failed to fetch", in a language of their own.
        Self
    }
}

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
        init.set_headers(&headers);
        init.set_body(&JsValue::from_str(body));
    }
    let response = JsFuture::from(window()?.fetch_with_str_and_init(url, &init)).await?;
    Ok(Response { response: response.dyn_into()?, connection })
}

/// Waits. Returns at once where there are no timers.
pub(crate) async fn sleep(duration: Duration) {
    let ms = i32::try_from(duration.as_millis()).unwrap_or(i32::MAX);
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let set =
            window().and_then(|window| Ok(window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms)?));
        if set.is_err() {
            // Nothing to wait for: what was to follow follows at once.
            let _ = resolve.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(promise).await;
}

/// Waits for the browser's next frame, which a hidden tab has when it is shown.
pub(crate) async fn next_frame() {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let asked = window().and_then(|window| Ok(window.request_animation_frame(&resolve)?));
        if asked.is_err() {
            // Nothing to wait for: what was to follow follows at once.
            let _ = resolve.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(promise).await;
}

/// The outcome of `future`, or `None` when it takes longer than `limit`.
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    match select(std::pin::pin!(future), std::pin::pin!(sleep(limit))).await {
        Either::Left((outcome, _)) => Some(outcome),
        Either::Right(((), _)) => None,
    }
}

/// Sends a request that goes through even though the page is being left. Nobody hears of its answer.
pub(crate) fn send_at_leaving(method: &str, url: &str) {
    let init = RequestInit::new();
    init.set_method(method);
    let kept = js_sys::Reflect::set(&init, &"keepalive".into(), &JsValue::TRUE);
    if let (Ok(window), Ok(_)) = (window(), kept) {
        let _ = window.fetch_with_str_and_init(url, &init);
    }
}

/// Whether the tab is not to be seen.
pub(crate) fn is_hidden() -> bool {
    window().ok().and_then(|window| window.document()).is_some_and(|document| document.hidden())
}

/// What the server wrote into the document about its reader's preferences.
#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "only a browser has a document"))]
pub(crate) fn preferences() -> Preferences {
    let root = window().ok().and_then(|window| window.document()?.document_element());
    let attribute = |name| root.as_ref().and_then(|root| root.get_attribute(name)).unwrap_or_default();
    Preferences {
        language: Language::from_code(&attribute("lang")).unwrap_or_default(),
        theme: Theme::from_name(&attribute("data-theme")).unwrap_or_default(),
        sidebar: Sidebar::from_name(&attribute("data-sidebar")).unwrap_or_default(),
    }
}

/// Keeps a choice for the next pages. A browser that takes no cookies forgets it.
pub(crate) fn remember(name: &str, value: &str) {
    const YEAR_SECS: u32 = 365 * 24 * 60 * 60;
    if let Some(document) = window().ok().and_then(|window| window.document()) {
        let cookie = format!("{name}={value}; Path=/; Max-Age={YEAR_SECS}; SameSite=Lax");
        let _ = document.unchecked_into::<HtmlDocument>().set_cookie(&cookie);
    }
}

/// Keeps a text for as long as the tab is there, also when its page is loaded anew; an empty one is forgotten.
pub(crate) fn keep(name: &str, text: &str) {
    if let Some(storage) = storage() {
        // A full storage keeps what it has.
        let _ = if text.is_empty() { storage.remove_item(name) } else { storage.set_item(name, text) };
    }
}

/// The text that was kept under this name; empty when there is none.
pub(crate) fn kept(name: &str) -> String {
    storage().and_then(|storage| storage.get_item(name).ok()?).unwrap_or_default()
}

fn storage() -> Option<web_sys::Storage> {
    if !IS_HERE {
        return None;
    }
    window().ok()?.session_storage().ok()?
}

/// Marks the document for the style, at once.
pub(crate) fn mark_root(name: &str, value: &str) {
    if let Some(root) = window().ok().and_then(|window| window.document()?.document_element()) {
        let _ = root.set_attribute(name, value);
    }
}

/// Names the browser's tab.
pub(crate) fn name_tab(title: &str) {
    if IS_HERE && let Some(document) = window().ok().and_then(|window| window.document()) {
        document.set_title(title);
    }
}

/// Asks the server for the page anew.
pub(crate) fn reload() {
    if let Ok(window) = window() {
        let _ = window.location().reload();
    }
}

/// Where the reader's days begin. The server does not know, and takes those of Greenwich: for most readers, most of the
/// time, the page then stays as it is when the browser takes over.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 are whole and fit")]
pub(crate) fn calendar() -> Calendar {
    if !IS_HERE {
        return Calendar::utc(std::time::SystemTime::now());
    }
    let date = js_sys::Date::new_0();
    date.set_hours(0);
    date.set_minutes(0);
    date.set_seconds(0);
    date.set_milliseconds(0);
    let today = date.get_time() as i64;
    // By the calendar and not by hours: a day may have 23 or 25.
    let days_before = |days: u32| {
        let day = js_sys::Date::new(&date);
        let wanted = i32::try_from(date.get_date()).unwrap_or(1) - i32::try_from(days).unwrap_or(0);
        let _ = js_sys::Reflect::get(&day, &"setDate".into())
            .ok()
            .and_then(|set| set.dyn_into::<js_sys::Function>().ok())
            .and_then(|set| set.call1(&day, &wanted.into()).ok());
        day.get_time() as i64
    };
    Calendar { today, yesterday: days_before(1), last_week: days_before(7) }
}

/// The time of day at `ms` since 1970 where the reader is, as `9:05:07`. The server does not know.
pub(crate) fn time_of_day(ms: i64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "whole milliseconds of any year that is told fit")]
    let at = IS_HERE.then(|| js_sys::Date::new(&(ms as f64).into()))?;
    Some(format!("{}:{:02}:{:02}", at.get_hours(), at.get_minutes(), at.get_seconds()))
}

/// Puts `text` on the clipboard.
pub(crate) async fn copy(text: &str) -> Result<(), Unreachable> {
    let clipboard = js_sys::Reflect::get(&window()?.navigator(), &"clipboard".into())?;
    if clipboard.is_undefined() {
        // There is none on plain http pages, as in a home network; the way of old is left.
        return copy_selected(text);
    }
    JsFuture::from(window()?.navigator().clipboard().write_text(text)).await?;
    Ok(())
}

fn copy_selected(text: &str) -> Result<(), Unreachable> {
    let document: HtmlDocument = window()?.document().ok_or(Unreachable)?.unchecked_into();
    let element = document.create_element("pre")?;
    element.set_text_content(Some(text));
    document.body().ok_or(Unreachable)?.append_child(&element)?;
    let copied = copy_element(&document, &element);
    element.remove();
    copied
}

fn copy_element(document: &HtmlDocument, element: &Element) -> Result<(), Unreachable> {
    let selection = document.get_selection()?.ok_or(Unreachable)?;
    selection.select_all_children(element)?;
    let copied = document.exec_command("copy");
    selection.remove_all_ranges()?;
    if copied? { Ok(()) } else { Err(Unreachable) }
}

/// Gives the focus to the element that `selector` begins to name by its id. False when there is none that takes it.
pub(crate) fn focus(selector: &str) -> bool {
    let Some(document) = window().ok().and_then(|window| window.document()) else { return false };
    let Some(element) = document.query_selector(&format!("#{selector}")).ok().flatten() else { return false };
    let focused = element.dyn_ref::<web_sys::HtmlElement>().is_some_and(|element| element.focus().is_ok());
    focused && document.active_element().as_ref() == Some(&element)
}

/// Gives the focus to an element without scrolling to it.
pub(crate) fn focus_in_place(element: &HtmlElement) {
    let options = FocusOptions::new();
    options.set_prevent_scroll(true);
    let _ = element.focus_with_options(&options);
}

/// A random id. Drawn by `uuid` from the browser's generator, since `crypto.randomUUID` is missing on plain http pages.
pub(crate) fn random_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

thread_local! {
    static IS_TAKING_OVER: Cell<bool> = const { Cell::new(false) };
}

/// The time in which the page is built anew beside the one that the server drew. It ends when this is dropped.
pub(crate) struct TakingOver {
    old: Option<Element>,
    new: Option<web_sys::HtmlElement>,
}

#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "a server takes nothing over"))]
impl TakingOver {
    /// Begins to replace the element that has this id.
    pub(crate) fn begin(id: &str) -> Self {
        IS_TAKING_OVER.set(true);
        let document = window().ok().and_then(|window| window.document());
        let old = document.as_ref().and_then(|document| document.get_element_by_id(id));
        let new = document.and_then(|document| document.create_element("div").ok()).map(|new| {
            new.set_id(id);
            new.unchecked_into()
        });
        Self { old, new }
    }

    /// Where the new page is to be built; `None` when nothing can be replaced.
    pub(crate) fn place(&self) -> Option<web_sys::HtmlElement> {
        self.new.clone().filter(|_| self.old.is_some())
    }

    /// Puts the new page in the place of the old one: scrolled as that was, and with the focus where it was.
    pub(crate) fn finish(self) {
        let (Some(old), Some(new)) = (&self.old, &self.new) else { return };
        let scrolled = [".thread", ".sidebar"]
            .map(|area| (area, old.query_selector(area).ok().flatten().map_or(0, |area| area.scroll_top())));
        let focused = window().ok().and_then(|window| window.document()?.active_element()).map(|element| element.id());
        if old.replace_with_with_node_1(new).is_err() {
            return;
        }
        for (area, top) in scrolled {
            if let Some(area) = new.query_selector(area).ok().flatten() {
                area.set_scroll_top(top);
            }
        }
        if let Some(id) = focused.filter(|id| !id.is_empty()) {
            focus(&id);
        }
    }
}

impl Drop for TakingOver {
    fn drop(&mut self) {
        IS_TAKING_OVER.set(false);
    }
}

/// What the server drew under this id, to be taken over as it stands; `None` once the page has been taken over.
pub(crate) fn drawn_by_server(id: &str) -> Option<Element> {
    if !IS_TAKING_OVER.get() {
        return None;
    }
    window().ok()?.document()?.get_element_by_id(id)
}

fn window() -> Result<Window, Unreachable> {
    web_sys::window().ok_or(Unreachable)
}
