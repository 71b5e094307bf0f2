//! Which elements the reader has seen.

use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry};

use super::window;

/// Calls `act` each time an element comes into sight: within the window, and within everything around it that scrolls. To be ended by
/// `disconnect`. `None` if the browser cannot tell.
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

/// Returns `true` if some of the element `id` is in sight in the element `area`, which scrolls.
pub(crate) fn is_in_sight(id: &str, area: &str) -> bool {
    let rectangle = |id| Some(window().ok()?.document()?.get_element_by_id(id)?.get_bounding_client_rect());
    let is_within = || {
        let (shown, area) = (rectangle(id)?, rectangle(area)?);
        Some(shown.top() < area.bottom() && shown.bottom() > area.top())
    };
    is_within().unwrap_or(false)
}
