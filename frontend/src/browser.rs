//! Functions of the browser that the page uses. They compile on the server, too, so that there is one code path. Only
//! effects and event handlers call them, and those run only in the browser.

mod attach;
mod chunks;
mod clipboard_download;
mod clock;
mod focus;
mod network;
mod sight;
mod signed_out;
mod storage;
mod tabs;
mod typed;
mod upload;

use std::time::Duration;

use futures_util::future::{Either, select};
use wasm_bindgen::{JsCast, JsValue, closure::Closure, prelude::wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use web_sys::{HtmlDocument, Window};

#[cfg(feature = "browser")]
pub(crate) use self::attach::{begin, finish};
pub(crate) use self::{
    attach::{
        ATTACHED, ATTACHED_MORE, COPIED, DRAWN, DrawnPart, PART, PRESSED, adopt_drawn, attach, drawn_by_server,
        drawn_within, drop_stale, insert, is_press_kept, is_within, released, remove_stale, replace_children,
        replace_stale, replay_presses, when_used,
    },
    chunks::load_chunk,
    clipboard_download::{copy, download, save_text},
    clock::{LocalTime, calendar, in_days, local_time, now, time_of_day},
    focus::{
        focus, focus_if_free, focus_in_place, go_to_heading, has_document_focus, has_focus_within, has_written,
        is_at_fragment, is_focus_free, is_typed_in, press, scroll_into_view,
    },
    network::{Body, HttpResponse, fetch, send_at_leaving},
    sight::{is_in_sight, watch_sight},
    signed_out::{tell_signed_out, when_signed_out},
    storage::{forget_stored, store, stored, stored_items, when_stored_elsewhere},
    tabs::{NoLock, StreamPlace, TabChannel, TabLock},
    typed::{SENDS, TAKEN, TypedEarly, chosen_early, listed, release_field, take_field, take_files},
    upload::upload,
};
use crate::{
    language::Language,
    preferences::{CALL_PREVIEWS_MARK, Preferences, Sidebar, Theme},
};

/// ID of the notice that says why the page does not work. It is outside the mounted page, so that it can be shown if
/// the page is missing.
pub(crate) const BROKEN_ID: &str = "broken";

/// The attribute of the document with the ID of the user that it was rendered for.
pub(crate) const USER_MARK: &str = "data-user";

/// `true` if this code runs in the browser. The page that the server renders is not interactive until the browser
/// mounts it.
pub(crate) const IS_HERE: bool = cfg!(target_arch = "wasm32");

/// Error: the server cannot be reached, or the connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreachable;

impl From<JsValue> for Unreachable {
    fn from(_: JsValue) -> Self {
        // Browsers report only "Failed to fetch", in their own language.
        Self
    }
}

/// Waits for `duration`. Returns at once if the environment has no timers.
pub(crate) async fn sleep(duration: Duration) {
    let ms = i32::try_from(duration.as_millis()).unwrap_or(i32::MAX);
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let set =
            window().and_then(|window| Ok(window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms)?));
        if set.is_err() {
            // Without a timer, continue at once.
            let _ = resolve.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(promise).await;
}

/// Continues in a new task, so that other work of the page runs first. A hidden tab, whose timers the browser delays,
/// continues at once.
pub(crate) async fn next_task() {
    if !is_hidden() {
        sleep(Duration::ZERO).await;
    }
}

/// Waits for the browser's next frame. A hidden tab gets one only when it is shown.
pub(crate) async fn next_frame() {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let asked = window().and_then(|window| Ok(window.request_animation_frame(&resolve)?));
        if asked.is_err() {
            // Without frames, continue at once.
            let _ = resolve.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(promise).await;
}

/// Waits while a condition is true, for at most 1800 frames (half a minute at 60 Hz).
async fn while_true(condition: impl Fn() -> bool) {
    const MAX_FRAMES: u32 = 1800;
    for _ in 0..MAX_FRAMES {
        if !condition() {
            return;
        }
        next_frame().await;
    }
}

/// Returns the output of `future`, or `None` if it takes longer than `limit`.
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    match select(std::pin::pin!(future), std::pin::pin!(sleep(limit))).await {
        Either::Left((outcome, _)) => Some(outcome),
        Either::Right(((), _)) => None,
    }
}

/// Returns `true` if the tab is hidden.
pub(crate) fn is_hidden() -> bool {
    window().ok().and_then(|window| window.document()).is_some_and(|document| document.hidden())
}

/// Returns the user's preferences, which the server wrote into the document.
pub(crate) fn preferences() -> Preferences {
    let attribute = |name| root_mark(name).unwrap_or_default();
    Preferences {
        language: Language::from_code(&attribute("lang")).unwrap_or_default(),
        theme: Theme::from_name(&attribute("data-theme")).unwrap_or_default(),
        sidebar: Sidebar::from_name(&attribute("data-sidebar")).unwrap_or_default(),
        single_keys: has_single_keys(),
        notifications: wants_notifications(),
        call_previews: root_mark(CALL_PREVIEWS_MARK).as_deref() == Some("on"),
    }
}

/// Returns `true` if shortcuts of a single character are enabled.
pub(crate) fn has_single_keys() -> bool {
    root_mark("data-single-keys").as_deref() != Some("off")
}

/// Returns `true` if the user wants a system notification when an answer ends while its tab is hidden.
pub(crate) fn wants_notifications() -> bool {
    root_mark("data-notifications").as_deref() == Some("on")
}

fn root_mark(name: &str) -> Option<String> {
    window().ok()?.document()?.document_element()?.get_attribute(name)
}

/// Stores a choice in a cookie for later pages. A browser that rejects cookies forgets it.
pub(crate) fn remember(name: &str, value: &str) {
    const YEAR_SECS: u32 = 365 * 24 * 60 * 60;
    if let Some(document) = window().ok().and_then(|window| window.document()) {
        let cookie = format!("{name}={value}; Path=/; Max-Age={YEAR_SECS}; SameSite=Lax");
        let document = document.unchecked_into::<HtmlDocument>();
        let _ = document.set_cookie(&cookie);
        // Reading the cookie waits until it is stored. Browsers keep cookies in another process; otherwise a page
        // that is requested right now could miss this one.
        let _ = document.cookie();
    }
}

/// Stores a choice that can be any text, as [`remember`] does. An empty text means no choice.
pub(crate) fn remember_text(name: &str, text: &str) {
    remember(name, &String::from(js_sys::encode_uri_component(text)));
}

/// Returns the ID of the user that the server rendered the page for.
pub(crate) fn user_id() -> i64 {
    if IS_HERE { root_mark(USER_MARK).and_then(|id| id.parse().ok()).unwrap_or_default() } else { 0 }
}

/// Dispatches an event with this name on the window.
pub(crate) fn announce(name: &str) {
    if let (Ok(window), Ok(event)) = (window(), web_sys::Event::new(name)) {
        let _ = window.dispatch_event(&event);
    }
}

/// Sets an attribute of the document's root element, which the style depends on.
pub(crate) fn mark_root(name: &str, value: &str) {
    if let Some(root) = window().ok().and_then(|window| window.document()?.document_element()) {
        let _ = root.set_attribute(name, value);
    }
}

/// Sets the color of the browser's own bars: the first for a light system theme, the second for a dark one.
pub(crate) fn color_bars(colors: [&str; 2]) {
    let metas = window().ok().and_then(|window| window.document()?.query_selector_all("meta[name=theme-color]").ok());
    let Some(metas) = metas else { return };
    for (at, color) in (0..).zip(colors) {
        if let Some(meta) = metas.get(at).and_then(|meta| meta.dyn_into::<web_sys::Element>().ok()) {
            let _ = meta.set_attribute("content", color);
        }
    }
}

/// Sets the title of the browser's tab.
pub(crate) fn name_tab(title: &str) {
    if IS_HERE && let Some(document) = window().ok().and_then(|window| window.document()) {
        document.set_title(title);
    }
}

/// Reloads the page.
pub(crate) fn reload() {
    if let Ok(window) = window() {
        let _ = window.location().reload();
    }
}

/// Leaves the page for the page at `url`.
pub(crate) fn leave_for(url: &str) {
    if let Ok(window) = window() {
        let _ = window.location().assign(url);
    }
}

/// Returns the full address of a fragment of this page.
pub(crate) fn address_of(fragment: &str) -> String {
    let location = window().ok().map(|window| window.location());
    let page = location.and_then(|location| Some(location.origin().ok()? + &location.pathname().ok()?));
    format!("{}#{fragment}", page.unwrap_or_default())
}

/// Returns the full address of a path on this server. Any other address is returned unchanged.
pub(crate) fn absolute(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let origin = window().ok().and_then(|window| window.location().origin().ok());
    format!("{}{path}", origin.unwrap_or_default())
}

/// Calls `act` when the user first presses a key or enters text. It may be called twice, once for each.
pub(crate) fn at_first_key(act: impl Fn() + 'static) {
    let Ok(window) = window() else { return };
    let act = Closure::<dyn Fn()>::new(act).into_js_value();
    let options = web_sys::AddEventListenerOptions::new();
    options.set_once(true);
    // An on-screen keyboard may enter text without key events.
    for sign in ["keydown", "input"] {
        let _ =
            window.add_event_listener_with_callback_and_add_event_listener_options(sign, act.unchecked_ref(), &options);
    }
}

#[wasm_bindgen]
extern "C" {
    /// Defined in the document's script (`app`).
    #[wasm_bindgen(js_namespace = window, js_name = loadStyle, catch)]
    async fn load_lazy_style() -> Result<JsValue, JsValue>;
}

/// Loads the style of the lazy parts, unless it is already loaded. Returns `false` if that fails.
pub(crate) async fn load_style() -> bool {
    load_lazy_style().await.is_ok()
}

/// Shows the notice that part of the page could not be loaded, or hides it again.
pub(crate) fn show_load_error(is_missing: bool) {
    let Some(place) = window().ok().and_then(|window| window.document()?.get_element_by_id(BROKEN_ID)) else { return };
    if is_missing && let Some(words) = place.first_element_child() {
        words.set_text_content(place.get_attribute("data-unloaded").as_deref());
    }
    let _ = if is_missing { place.remove_attribute("hidden") } else { place.set_attribute("hidden", "") };
}

/// Returns a random ID. `uuid` generates it with the browser's generator, because pages over plain HTTP lack
/// `crypto.randomUUID`.
pub(crate) fn random_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn window() -> Result<Window, Unreachable> {
    web_sys::window().ok_or(Unreachable)
}
