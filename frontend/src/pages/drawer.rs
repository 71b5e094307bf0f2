//! The sidebar as an overlay, on a small screen or if it is folded. While it is open, nothing behind it can be reached.
//! When it closes, the focus returns to where it was.

use leptos::{
    ev,
    prelude::*,
    task::{spawn_local, tick},
};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement};

use crate::{
    browser,
    components::parts::ids::{CLOSE_ID, SEARCH_ID},
    mount_schedule::in_next_frame,
    preferences::Sidebar,
    reactive::effect,
};

/// The sidebar as an overlay.
#[derive(Clone, Copy)]
pub(crate) struct Drawer {
    /// `true` if the user opened it.
    pub(crate) open: RwSignal<bool>,
    /// `true` if it is open as an overlay, so that the page behind it cannot be used.
    pub(crate) is_modal: Signal<bool>,
}

impl Drawer {
    pub(crate) fn new() -> Self {
        let open = RwSignal::new(false);
        let is_modal = RwSignal::new(false);
        let came_from = StoredValue::new_local(None::<HtmlElement>);
        Effect::new(move |was: Option<bool>| {
            let is = open.get() && lies_over_page();
            is_modal.set(is);
            match (was.unwrap_or(false), is) {
                (false, true) => {
                    let focused = document().active_element().and_then(|element| element.dyn_into().ok());
                    came_from.set_value(focused);
                    in_next_frame(|| {
                        if !is_in_sidebar() {
                            browser::focus(CLOSE_ID);
                        }
                    });
                }
                (true, false) => {
                    // Elements that were hidden or behind it can be focused again in the next frame.
                    let back = came_from.try_update_value(Option::take).flatten();
                    in_next_frame(move || {
                        if let Some(back) = back.filter(|_| browser::is_focus_free() || is_in_sidebar()) {
                            let _ = back.focus();
                        }
                    });
                }
                (true, true) | (false, false) => {}
            }
            is
        });
        // In a window that became wide, the sidebar is beside the page.
        effect(move || {
            let resized = window_event_listener(ev::resize, move |_| {
                if open.get_untracked() && !lies_over_page() {
                    open.set(false);
                }
            });
            on_cleanup(move || resized.remove());
        });
        Self { open, is_modal: is_modal.into() }
    }

    /// Opens the sidebar if it is an overlay.
    pub(crate) fn show(self) {
        self.open.set(lies_over_page());
    }

    /// Opens the sidebar and focuses the search field before the next key press, which should not be lost.
    pub(crate) fn search(self) {
        self.show();
        if try_focus_search() {
            return;
        }
        spawn_local(async {
            // A hidden sidebar is visible by then, or in the next frame.
            tick().await;
            if !try_focus_search() {
                in_next_frame(|| {
                    try_focus_search();
                });
            }
        });
    }
}

/// Returns `true` if the sidebar is an overlay: on a narrow screen, or if it is folded.
pub(super) fn lies_over_page() -> bool {
    is_narrow() || browser::preferences().sidebar == Sidebar::Folded
}

/// Returns `true` if the screen is so narrow that a button opens the sidebar.
pub(super) fn is_narrow() -> bool {
    let button = document().get_element_by_id("open-sidebar").and_then(|button| button.dyn_into::<HtmlElement>().ok());
    button.is_some_and(|button| button.offset_parent().is_some())
}

fn is_in_sidebar() -> bool {
    document().active_element().is_some_and(|focused| matches!(focused.closest("#sidebar"), Ok(Some(_))))
}

fn try_focus_search() -> bool {
    let field = document().get_element_by_id(SEARCH_ID);
    let Some(field) = field.and_then(|field| field.dyn_into::<HtmlInputElement>().ok()) else { return false };
    let _ = field.focus();
    field.select();
    document().active_element().is_some_and(|focused| focused.id() == SEARCH_ID)
}
