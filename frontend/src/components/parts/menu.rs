//! Behavior that all menus share, as the ARIA Authoring Practices describe it. A menu is a native popover, so the
//! browser opens it, closes it with Escape or a click outside, and gives the focus back to its button.

use leptos::ev::{Event, KeyboardEvent, MouseEvent};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::components::parts::{
    commands::has_modifier,
    list_steps::{AtEnd, ListStep},
};

/// Returns `true` if the menu is open.
pub(crate) fn is_open(menu: &HtmlElement) -> bool {
    menu.matches(":popover-open") == Ok(true)
}

/// Focuses the first item of a menu that was opened, unless the user has already moved to an item. Returns `true` if
/// the menu is open now.
pub(crate) fn toggled(event: &Event) -> bool {
    let Some(menu) = menu_of(event).filter(is_open) else { return false };
    if let Some(first) = items(&menu).first()
        && menu.matches(":focus-within") != Ok(true)
    {
        let _ = first.focus();
    }
    true
}

/// Closes an open menu after a click on one of its links. Buttons close it by their `popovertargetaction`.
pub(crate) fn clicked(event: &MouseEvent) {
    let link = event.target().and_then(|target| target.dyn_into::<Element>().ok()?.closest("a").ok()?);
    if let (Some(menu), Some(_)) = (menu_of(event), link) {
        let _ = menu.hide_popover();
    }
}

/// Handles a key press in an open menu: arrows, Home and End move the focus, and Tab closes the menu.
pub(crate) fn press(event: &KeyboardEvent) {
    let Some(menu) = menu_of(event) else { return };
    if has_modifier(event) {
        return;
    }
    let key = event.key();
    if key == "Tab" {
        // The focus returns to the button, from which Tab moves it.
        let _ = menu.hide_popover();
    }
    let Some(step) = ListStep::of(&key) else { return };
    event.prevent_default();
    event.stop_propagation();
    let items = items(&menu);
    let at = items.iter().position(|item| item.matches(":focus") == Ok(true));
    if let Some(next) = step.from(at, items.len(), AtEnd::Wrap) {
        let _ = items[next].focus();
    }
}

fn menu_of(event: &Event) -> Option<HtmlElement> {
    event.current_target()?.dyn_into().ok()
}

/// Returns the visible items, in order.
fn items(menu: &HtmlElement) -> Vec<HtmlElement> {
    let Ok(found) = menu.query_selector_all("[role^=menuitem]:not(:disabled)") else { return Vec::new() };
    let items = (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<HtmlElement>().ok());
    items.filter(|item| item.offset_width() > 0).collect()
}
