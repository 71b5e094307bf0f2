//! Detects which elements are in view.

use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry};

use super::window;

/// Calls `act` each time an element comes into view, within the window and within each scroll container around it.
/// Call `disconnect` on the observer to end it. Returns `None` if the browser has no such observers.
pub(crate) fn when_in_sight(element: &Element, act: impl Fn() + 'static) -> Option<IntersectionObserver> {
    let changed = Closure::<dyn Fn(js_sys::Array)>::new(move |entries: js_sys::Array| {
        let is_in_sight = |entry| JsCast::unchecked_into::<IntersectionObserverEntry>(entry).is_intersecting();
        if entries.iter().any(is_in_sight) {
            act();
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
