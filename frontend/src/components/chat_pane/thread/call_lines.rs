//! Keyboard navigation between tool calls, and opening all of them.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::session::Session;

/// Returns the visible lines of tool calls, in order.
fn call_lines(area: &HtmlElement) -> Vec<HtmlElement> {
    let found = area.get_elements_by_class_name("tool-line");
    let lines = (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<HtmlElement>().ok());
    // Elements in collapsed groups have no offset parent.
    lines.filter(|line| line.offset_parent().is_some()).collect()
}

/// Focuses the next or previous line of a tool call; from elsewhere, the newest.
pub(super) fn step(area: NodeRef<html::Div>, by: isize) -> bool {
    let Some(area) = area.get_untracked() else { return false };
    let lines = call_lines(&area);
    let focused = document().active_element();
    let place = focused.as_ref().and_then(|focused| {
        let call = focused.closest(".tool").ok()??;
        lines.iter().position(|line| call.contains(Some(line)))
    });
    let wanted = match place {
        Some(place) => place.checked_add_signed(by),
        // The newest call is the visible one.
        None => lines.len().checked_sub(1),
    };
    let Some(line) = wanted.and_then(|wanted| lines.get(wanted)) else { return false };
    let _ = line.focus();
    true
}

/// Opens all calls, or closes them if all are open.
pub(super) fn toggle_calls(area: NodeRef<html::Div>, session: Session) -> bool {
    let Some(area) = area.get_untracked() else { return false };
    let has_closed = matches!(area.query_selector(".tool-line[aria-expanded=false]"), Ok(Some(_)));
    let has_open = matches!(area.query_selector(".tool-line[aria-expanded=true]"), Ok(Some(_)));
    if has_closed || has_open {
        session.expand_all.update(|all| all.set(has_closed));
    }
    has_closed || has_open
}
