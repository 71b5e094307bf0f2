//! Detects which elements are in view.

use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry};

use super::window;

/// Calls `act` with `true` each time an element comes into view, and with `false` each time it leaves it. View means the
/// window and each scroll container around the element. Call `disconnect` on the observer to end it. Returns `None` if
/// the browser has no such observers.
pub(crate) fn watch_sight(element: &Element, act: impl Fn(bool) + 'static) -> Option<IntersectionObserver> {
    let changed = Closure::<dyn Fn(js_sys::Array)>::new(move |entries: js_sys::Array| {
        for entry in entries.iter() {
            act(entry.unchecked_into::<IntersectionObserverEntry>().is_intersecting());
        }
    });
    let observer = IntersectionObserver::new(changed.into_js_value().unchecked_ref()).ok()?;
    observer.observe(element);
    Some(observer)
}

/// Returns `true` if part of the element `id` is in view in the scroll container `area`.
pub(crate) fn is_in_sight(id: &str, area: &str) -> bool {
    let rectangle = |id| Some(window().ok()?.document()?.get_element_by_id(id)?.get_bounding_client_rect());
    let is_within = || {
        let (shown, area) = (rectangle(id)?, rectangle(area)?);
        Some(shown.top() < area.bottom() && shown.bottom() > area.top())
    };
    is_within().unwrap_or(false)
}
