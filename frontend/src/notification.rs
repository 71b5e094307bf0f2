//! Notifications by the reader's system. Only whoever asked for them gets any, and a browser may refuse them.

use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Notification, NotificationOptions, NotificationPermission};

use crate::browser;

/// Whether notifications can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Granted,
    Refused,
    /// There are none, as on pages that came over plain http.
    Missing,
}

/// Asks the reader, by way of the browser, who is asked only right after a press.
pub(crate) async fn ask() -> Permission {
    if !js_sys::Reflect::has(&js_sys::global(), &"Notification".into()).unwrap_or(false) {
        return Permission::Missing;
    }
    if let Ok(asked) = Notification::request_permission() {
        // What was answered is read below.
        let _ = JsFuture::from(asked).await;
    }
    if Notification::permission() == NotificationPermission::Granted {
        Permission::Granted
    } else {
        Permission::Refused
    }
}

/// Shows a notification if the reader wants them. Clicked, it leads to this tab.
pub(crate) fn show(title: &str, body: &str) {
    if browser::wants_notifications() {
        // The tab says it as well, so nothing is lost where none can be shown.
        let _ = try_show(title, body);
    }
}

fn try_show(title: &str, body: &str) -> Result<(), JsValue> {
    if !js_sys::Reflect::has(&js_sys::global(), &"Notification".into())? {
        return Ok(());
    }
    let options = NotificationOptions::new();
    options.set_body(body);
    let notification = Notification::new_with_options(title, &options)?;
    let closed = notification.clone();
    let to_tab = Closure::once_into_js(move || {
        if let Some(window) = web_sys::window() {
            let _ = window.focus();
        }
        closed.close();
    });
    notification.set_onclick(Some(to_tab.unchecked_ref()));
    Ok(())
}
