//! The empty space below the newest answer.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::scroll::content_height;

/// Maximum padding above the first message.
const AREA_PADDING_PX: i32 = 8;

/// The empty space below the newest answer. With it, a new question can be at the top of the view while its answer
/// grows. It is only as high as needed, and zero in a conversation that is opened.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) place: NodeRef<html::Div>,
    /// Maximum distance of the view's top from the newest question, in pixels; `None` until a question is sent here.
    /// Negative if the user scrolled up.
    begins: StoredValue<Option<i32>>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { place: NodeRef::new(), begins: StoredValue::new(None) }
    }

    /// Records that a question was sent, which should be at the top.
    pub(super) fn begin(self) {
        self.begins.set_value(Some(0));
    }

    /// Sets the height that is needed.
    pub(super) fn make(self, area: &HtmlElement) {
        let (Some(place), Some(begins)) = (self.place.get_untracked(), self.begins.get_value()) else { return };
        let Some(question) = newest_question(area) else { return };
        let height = (question + begins + area.client_height() - content_height(&place)).max(0);
        // Set as a property, because a content security policy forbids style attributes.
        let _ = web_sys::HtmlElement::style(&place).set_property("height", &format!("{height}px"));
    }

    /// Removes the space that the user has scrolled away from.
    pub(super) fn scrolled(self, area: &HtmlElement) {
        let (Some(begins), Some(question)) = (self.begins.get_value(), newest_question(area)) else { return };
        let begins_now = area.scroll_top() - question;
        if begins_now < begins {
            self.begins.set_value(Some(begins_now));
            self.make(area);
        }
    }
}

/// Returns the position of the newest question in the area. The first one is at 0: the padding above it stays visible.
fn newest_question(area: &HtmlElement) -> Option<i32> {
    let found = area.query_selector_all(".message[data-role=user], .first-question").ok()?;
    let newest = found.item(found.length().checked_sub(1)?)?;
    let position = newest.dyn_ref::<HtmlElement>()?.offset_top();
    Some(if position <= AREA_PADDING_PX { 0 } else { position })
}
