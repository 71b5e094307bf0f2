//! Keeps the newest text in sight until the user scrolls up.

use leptos::{html, prelude::*};
use web_sys::{Element, HtmlElement};

use super::room::Room;
use crate::{
    browser,
    scroll::{is_near_end, px},
};

/// Maximum time in milliseconds for which a browser animates a scroll after the key press or wheel turn that caused it.
const MAX_SCROLL_MS: i64 = 1000;

/// Scroll state of the messages.
#[derive(Clone, Copy)]
pub(super) struct Following {
    /// `true` while new text scrolls the messages to their end.
    pub(super) is_on: RwSignal<bool>,
    area: NodeRef<html::Div>,
    room: Room,
    /// `true` for the greeting, which is read from its beginning and has no end to go to.
    is_greeting: Memo<bool>,
    /// Position to which the page itself scrolled last. A user above it has scrolled up.
    placed: StoredValue<i32>,
    /// Id of the approval card to which the page scrolled last.
    led_to: StoredValue<String>,
    /// Time in milliseconds until which the user counts as being at the end. A scroll that the browser still animates
    /// when the user goes to the end would take the view away again.
    held_until: StoredValue<i64>,
}

impl Following {
    /// Creates the state from the messages that the server rendered, if it did.
    pub(super) fn new(
        server_drew: Option<&HtmlElement>,
        area: NodeRef<html::Div>,
        room: Room,
        is_greeting: Memo<bool>,
    ) -> Self {
        Self {
            // A user who scrolled up before the page was interactive is left there.
            is_on: RwSignal::new(server_drew.is_none_or(is_near_end)),
            area,
            room,
            is_greeting,
            placed: StoredValue::new(server_drew.map_or(0, |area| Element::scroll_top(area))),
            led_to: StoredValue::new(String::new()),
            held_until: StoredValue::new(0),
        }
    }

    /// Scrolls to the end, unless the user has scrolled up.
    pub(super) fn to_end(self) {
        // By the next frame the conversation may have been left.
        let Some(area) = self.area.try_get_untracked().flatten() else { return };
        if self.is_greeting.try_get_untracked() != Some(false) {
            return;
        }
        if !self.is_on.get_untracked() || self.went_up(&area) {
            self.is_on.set(false);
            return;
        }
        self.room.make(&area);
        if scroll_to_first_card_or_end(&area, self.led_to) {
            self.placed.set_value(area.scroll_top());
        }
    }

    /// Follows from now on, and scrolls to the end although an earlier scroll may still be animated.
    pub(super) fn hold_at_end(self) {
        self.held_until.set_value(browser::now().saturating_add(MAX_SCROLL_MS));
        self.follow();
    }

    /// Lets the user scroll away.
    pub(super) fn release(self) {
        self.held_until.set_value(0);
    }

    /// Follows the answer to a new question, which begins at the top of the view.
    pub(super) fn begin_at_end(self) {
        self.room.begin();
        self.placed.set_value(0);
        self.is_on.set(true);
    }

    /// Takes account of a scroll by the user or the page.
    pub(super) fn scrolled(self, area: &HtmlElement) {
        if self.is_on.get_untracked() && !is_near_end(area) && self.is_held() {
            return self.follow();
        }
        // Before the page has scrolled to a new question, an earlier scroll may still be reported.
        if self.went_up(area) {
            self.room.scrolled(area);
        }
        // Text that came in since the page scrolled does not mean that the user left the end.
        let follows = is_near_end(area) || (self.is_on.get_untracked() && !self.went_up(area));
        if follows != self.is_on.get_untracked() {
            self.is_on.set(follows);
        }
    }

    fn follow(self) {
        self.placed.set_value(0);
        self.led_to.set_value(String::new());
        self.is_on.set(true);
        self.to_end();
    }

    fn is_held(self) -> bool {
        browser::now() < self.held_until.get_value()
    }

    fn went_up(self, area: &HtmlElement) -> bool {
        area.scroll_top() < self.placed.get_value() - 1 && !is_near_end(area) && !self.is_held()
    }
}

/// Scrolls to the first call that waits for a decision, which is what the keys act on and what is to be read, or to the
/// end if no call waits. Returns `false` if it led to that call before: its reader scrolls on from there.
fn scroll_to_first_card_or_end(area: &HtmlElement, led_to: StoredValue<String>) -> bool {
    let card = area.query_selector(".approval").ok().flatten();
    let id = card.as_ref().map(Element::id).unwrap_or_default();
    match card {
        Some(_) if id == led_to.get_value() => return false,
        Some(card) => {
            let above = card.get_bounding_client_rect().top() - area.get_bounding_client_rect().top();
            area.set_scroll_top(area.scroll_top().saturating_add(px(above)));
        }
        None => area.set_scroll_top(area.scroll_height()),
    }
    led_to.set_value(id);
    true
}
