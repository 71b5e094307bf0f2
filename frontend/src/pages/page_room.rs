//! Bounds the HTML of a page that the server draws whole. What is in the page comes from models, and a few bytes of it can
//! become hundreds of HTML. Its parts become HTML one after the other, so that little more than the HTML is in memory.

use std::cell::Cell;

use leptos::tachys::html::InertElement;

/// Maximum bytes of HTML in the parts of a page. The part that reaches it is still drawn.
const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The room that is left on a page.
pub(super) struct PageRoom {
    left: Cell<usize>,
    is_exceeded: Cell<bool>,
}

impl Default for PageRoom {
    fn default() -> Self {
        Self { left: Cell::new(MAX_PAGE_BYTES), is_exceeded: Cell::new(false) }
    }
}

impl PageRoom {
    /// Returns a part as HTML; `None` if the page is full.
    pub(super) fn draw(&self, part: impl FnOnce() -> String) -> Option<InertElement> {
        if self.left.get() == 0 {
            self.is_exceeded.set(true);
            return None;
        }
        let html = part();
        self.left.set(self.left.get().saturating_sub(html.len()));
        Some(InertElement::new(html))
    }

    /// Returns whether parts were left out.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PAGE_BYTES, PageRoom};

    #[test]
    fn a_page_takes_parts_until_it_is_full() {
        let room = PageRoom::default();
        let part = || "x".repeat(MAX_PAGE_BYTES - 1);
        assert!(room.draw(part).is_some() && room.draw(part).is_some());
        assert!(!room.is_exceeded(), "all of it is shown");
        assert!(room.draw(part).is_none() && room.is_exceeded());
    }
}
