//! Putting the page that is built here in the place of the one that the server drew.

use std::cell::Cell;

use wasm_bindgen::JsCast;
use web_sys::Element;

use super::{focus::focus, window};

thread_local! {
    static IS_TAKING_OVER: Cell<bool> = const { Cell::new(false) };
}

/// The time in which the page is built anew beside the one that the server drew. It ends when this is dropped.
pub(crate) struct TakingOver {
    old: Option<Element>,
    new: Option<web_sys::HtmlElement>,
}

#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "a server takes nothing over"))]
impl TakingOver {
    /// Begins to replace the element that has this id.
    pub(crate) fn begin(id: &str) -> Self {
        IS_TAKING_OVER.set(true);
        let document = window().ok().and_then(|window| window.document());
        let old = document.as_ref().and_then(|document| document.get_element_by_id(id));
        let new = document.and_then(|document| document.create_element("div").ok()).map(|new| {
            new.set_id(id);
            new.unchecked_into()
        });
        Self { old, new }
    }

    /// Where the new page is to be built; `None` when nothing can be replaced.
    pub(crate) fn place(&self) -> Option<web_sys::HtmlElement> {
        self.new.clone().filter(|_| self.old.is_some())
    }

    /// Puts the new page in the place of the old one: scrolled as that was, and with the focus where it was.
    pub(crate) fn finish(self) {
        let (Some(old), Some(new)) = (&self.old, &self.new) else { return };
        let scrolled = [".thread", ".sidebar"]
            .map(|area| (area, old.query_selector(area).ok().flatten().map_or(0, |area| area.scroll_top())));
        let focused = window().ok().and_then(|window| window.document()?.active_element()).map(|element| element.id());
        if old.replace_with_with_node_1(new).is_err() {
            return;
        }
        for (area, top) in scrolled {
            if let Some(area) = new.query_selector(area).ok().flatten() {
                area.set_scroll_top(top);
            }
        }
        if let Some(id) = focused.filter(|id| !id.is_empty()) {
            focus(&id);
        }
    }
}

impl Drop for TakingOver {
    fn drop(&mut self) {
        IS_TAKING_OVER.set(false);
    }
}

/// What the server drew under this id, to be taken over as it stands; `None` once the page has been taken over.
pub(crate) fn drawn_by_server(id: &str) -> Option<Element> {
    if !IS_TAKING_OVER.get() {
        return None;
    }
    window().ok()?.document()?.get_element_by_id(id)
}
