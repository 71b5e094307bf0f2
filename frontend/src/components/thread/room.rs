//! The empty room below the newest answer.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::scroll::content_height;

/// The empty room below the newest answer, so that its question can stand at the top while it grows: no more than it takes
/// to leave what the reader sees where it is, and none in a conversation that is opened.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) place: NodeRef<html::Div>,
    /// How far below the top of the newest question the view may begin at most, in pixels; nothing while no question was
    /// sent from here. It is negative for whoever scrolled up.
    begins: StoredValue<Option<i32>>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { place: NodeRef::new(), begins: StoredValue::new(None) }
    }

    /// A question was sent, which should stand at the top.
    pub(super) fn begin(self) {
        self.begins.set_value(Some(0));
    }

    /// Makes as much room as it takes.
    pub(super) fn make(self, area: &HtmlElement) {
        let (Some(place), Some(begins)) = (self.place.get_untracked(), self.begins.get_value()) else { return };
        let Some(question) = newest_question(area) else { return };
        let height = (question + begins + area.client_height() - content_height(&place)).max(0);
        // It is set where no attribute has to be allowed.
        let _ = web_sys::HtmlElement::style(&place).set_property("height", &format!("{height}px"));
    }

    /// What the reader has scrolled away from needs no room any more.
    pub(super) fn scrolled(self, area: &HtmlElement) {
        let (Some(begins), Some(question)) = (self.begins.get_value(), newest_question(area)) else { return };
        let begins_now = area.scroll_top() - question;
        if begins_now < begins {
            self.begins.set_value(Some(begins_now));
            self.make(area);
        }
    }
}

/// Where the newest question begins in the area.
fn newest_question(area: &HtmlElement) -> Option<i32> {
    let found = area.query_selector_all(".message[data-role=user]").ok()?;
    let newest = found.item(found.length().checked_sub(1)?)?;
    Some(newest.dyn_ref::<HtmlElement>()?.offset_top())
}
