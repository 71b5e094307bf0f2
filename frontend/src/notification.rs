//! System notifications. They are off unless the user enables them, and the browser may block them.

use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Notification, NotificationOptions, NotificationPermission};

use crate::browser;

/// Permission to show notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Granted,
    Refused,
    /// The browser has no notifications on this page, for example because it was loaded over plain HTTP.
    Missing,
}

/// Asks the user for permission. Browsers allow this only right after the user clicks or presses a key.
pub(crate) async fn ask() -> Permission {
    if !js_sys::Reflect::has(&js_sys::global(), &"Notification".into()).unwrap_or(false) {
        return Permission::Missing;
    }
    if let Ok(asked) = Notification::request_permission() {
        // The result is read below.
        let _ = JsFuture::from(asked).await;
    }
    if Notification::permission() == NotificationPermission::Granted {
        Permission::Granted
    } else {
        Permission::Refused
    }
}

/// Shows a notification if the user has enabled them. Clicking it switches to this tab.
pub(crate) fn show(title: &str, body: &str) {
    if browser::wants_notifications() {
        // A failure is ignored, because the tab shows the same information.
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
