//! The scrolling area of the messages, as far as it matters to more than the component that draws it.

use leptos::prelude::*;
use tallybook_protocol::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::{goal::Reading, in_turn::in_next_frame};

/// The scrolling area's element.
pub(crate) const THREAD_ID: &str = "thread";

/// Maximum distance from the end, in pixels, at which a reader follows the newest text.
const NEAR_END_PX: i32 = 48;

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
    let area: HtmlElement = document().get_element_by_id(THREAD_ID)?.dyn_into().ok()?;
    if is_near_end(&area) {
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

/// Returns `true` if the newest text is in sight.
pub(crate) fn is_near_end(area: &HtmlElement) -> bool {
    // The room below the newest answer is nothing to be read.
    let room = area.last_element_child().and_then(|room| room.dyn_into::<HtmlElement>().ok());
    let end = room.map_or_else(|| area.scroll_height(), |room| content_height(&room));
    end - area.scroll_top() - area.client_height() <= NEAR_END_PX
}

/// The height of the messages without the room below them.
pub(crate) fn content_height(room: &HtmlElement) -> i32 {
    room.offset_top()
}

/// A distance on the screen, in whole pixels.
#[expect(clippy::cast_possible_truncation, reason = "a page is not that high")]
pub(crate) fn px(distance: f64) -> i32 {
    distance as i32
}
