//! Scroll positions of the message area, for all components that need them.

use leptos::prelude::*;
use tallybook_protocol::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::{goal::Reading, mount_schedule::in_next_frame};

/// ID of the message area.
pub(crate) const THREAD_ID: &str = "thread";

/// Maximum distance from the end, in pixels, at which the page scrolls to the newest text.
const NEAR_END_PX: i32 = 48;

/// Selector of the button that loads earlier messages.
const SHOW_EARLIER: &str = "[data-testid=show-earlier]";

/// Keeps the visible messages in place while messages are inserted above them. Call it just before the insertion.
pub(crate) fn keep_place() {
    let area = document().get_element_by_id(THREAD_ID).and_then(|area| area.dyn_into::<HtmlElement>().ok());
    let Some(area) = area else { return };
    // Messages that the server rendered are already in their places.
    if matches!(area.query_selector(".message[data-drawn]"), Ok(Some(_))) {
        return;
    }
    let Some(first) = first_message(&area) else { return };
    let (top, scrolled) = (first.offset_top(), area.scroll_top());
    let focused = document().active_element();
    let had_focus = focused.is_some_and(|focused| matches!(focused.matches(SHOW_EARLIER), Ok(true)));
    in_next_frame(move || {
        // Some browsers keep the place themselves, but not all of them do, and not at the very top. A small scroll by
        // the user in the meantime does not count as that.
        let added = first.offset_top() - top;
        if added > 0 && area.scroll_top() - scrolled < added / 2 {
            area.set_scroll_top(area.scroll_top() + added);
        }
        // The button is removed when no earlier messages are left. The next key press should still scroll the
        // messages.
        if had_focus && matches!(area.query_selector(SHOW_EARLIER), Ok(None)) {
            let _ = area.focus();
        }
    });
}

fn first_message(area: &HtmlElement) -> Option<HtmlElement> {
    area.query_selector(".message:not([data-drawn])").ok()??.dyn_into().ok()
}

/// Returns the reading position; `None` if the newest text is visible, or the page shows no messages.
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

/// Scrolls until the message begins `offset` pixels below the top of the message area.
pub(crate) fn show_reading(message: &Element, offset: i32) {
    let Some(area) = document().get_element_by_id(THREAD_ID) else { return };
    let by = message.get_bounding_client_rect().top() - area.get_bounding_client_rect().top();
    area.set_scroll_top(area.scroll_top().saturating_add(px(by)).saturating_sub(offset));
}

/// Returns `true` if the newest text is visible.
pub(crate) fn is_near_end(area: &HtmlElement) -> bool {
    // The spacer below the newest answer contains no text.
    let room = area.last_element_child().and_then(|room| room.dyn_into::<HtmlElement>().ok());
    let end = room.map_or_else(|| area.scroll_height(), |room| content_height(&room));
    end - area.scroll_top() - area.client_height() <= NEAR_END_PX
}

/// Returns the height of the messages, without the spacer below them.
pub(crate) fn content_height(room: &HtmlElement) -> i32 {
    room.offset_top()
}

/// Converts a distance on the screen to whole pixels.
#[expect(clippy::cast_possible_truncation, reason = "distances on a page fit")]
pub(crate) fn px(distance: f64) -> i32 {
    distance as i32
}
