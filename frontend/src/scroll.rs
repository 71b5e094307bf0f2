//! The scrolling area of the messages, as far as it matters to more than the component that draws it.

use leptos::prelude::*;
use tallybook_protocol::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::{goal::Reading, in_turn::in_next_frame};

/// The scrolling area's element.
pub(crate) const THREAD_ID: &str = "thread";

/// A reader who is within so many pixels of the end reads the newest text.
pub(crate) const NEAR_END_PX: i32 = 48;

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

/// Returns the reading position; `None` if the reader is at the end, or nothing is shown.
pub(crate) fn reading() -> Option<Reading> {
    let area = document().get_element_by_id(THREAD_ID)?;
    if area.scroll_height() - area.scroll_top() - area.client_height() <= NEAR_END_PX {
        return None;
    }
    let top = area.get_bounding_client_rect().top();
    let messages = area.query_selector_all(".message[id^=message-]").ok()?;
    let mut messages = (0..messages.length()).filter_map(|at| messages.get(at)?.dyn_into::<Element>().ok());
    let first = messages.find(|message| message.get_bounding_client_rect().bottom() > top)?;
    let message = MessageId(first.id().strip_prefix("message-")?.parse().ok()?);
    Some(Reading { message, offset: px(first.get_bounding_client_rect().top() - top) })
}

/// Scrolls to where a message begins so many pixels below the top of the messages.
pub(crate) fn show_reading(message: &Element, offset: i32) {
    let Some(area) = document().get_element_by_id(THREAD_ID) else { return };
    let by = message.get_bounding_client_rect().top() - area.get_bounding_client_rect().top();
    area.set_scroll_top(area.scroll_top().saturating_add(px(by)).saturating_sub(offset));
}

/// A distance on the screen, in whole pixels.
#[expect(clippy::cast_possible_truncation, reason = "a page is not that high")]
pub(crate) fn px(distance: f64) -> i32 {
    distance as i32
}
