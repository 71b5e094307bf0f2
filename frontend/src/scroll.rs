//! The scrolling area of the messages, as far as it matters to more than the component that draws it.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::in_turn::in_next_frame;

/// The scrolling area's element.
pub(crate) const THREAD_ID: &str = "thread";

/// The button that loads earlier messages.
const SHOW_EARLIER: &str = "[data-testid=show-earlier]";

/// Leaves what the reader sees where it is while messages come in above it. To be called just before they do.
pub(crate) fn keep_place() {
    let area = document().get_element_by_id(THREAD_ID).and_then(|area| area.dyn_into::<HtmlElement>().ok());
    let Some(area) = area else { return };
    let Some(first) = first_message(&area) else { return };
    let (top, scrolled) = (first.offset_top(), area.scroll_top());
    let focused = document().active_element();
    let had_focus = focused.is_some_and(|focused| matches!(focused.matches(SHOW_EARLIER), Ok(true)));
    in_next_frame(move || {
        // Browsers keep the place by themselves, but not all of them, and not at the very top. Who scrolls on meanwhile
        // moves by little.
        let added = first.offset_top() - top;
        if added > 0 && area.scroll_top() - scrolled < added / 2 {
            area.set_scroll_top(area.scroll_top() + added);
        }
        // The button is gone with the last of them; the next key should still find the messages.
        if had_focus && matches!(area.query_selector(SHOW_EARLIER), Ok(None)) {
            let _ = area.focus();
        }
    });
}

fn first_message(area: &HtmlElement) -> Option<HtmlElement> {
    area.query_selector(".message:not([data-drawn])").ok()??.dyn_into().ok()
}
