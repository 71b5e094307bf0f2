//! Focus and scrolling of elements.

use wasm_bindgen::JsCast;
use web_sys::{Element, FocusOptions, HtmlElement, HtmlInputElement, HtmlTextAreaElement};

use super::window;

/// Moves the focus to an element. `selector` is its ID, optionally followed by more of a selector. Returns `false` if
/// no such element takes the focus.
pub(crate) fn focus(selector: &str) -> bool {
    let Some(document) = window().ok().and_then(|window| window.document()) else { return false };
    let Some(element) = document.query_selector(&format!("#{selector}")).ok().flatten() else { return false };
    let focused = element.dyn_ref::<web_sys::HtmlElement>().is_some_and(|element| element.focus().is_ok());
    focused && document.active_element().as_ref() == Some(&element)
}

/// Scrolls only as much as needed to bring an element into view.
pub(crate) fn scroll_into_view(id: &str) {
    let Some(element) = window().ok().and_then(|window| window.document()?.get_element_by_id(id)) else { return };
    let options = web_sys::ScrollIntoViewOptions::new();
    options.set_block(web_sys::ScrollLogicalPosition::Nearest);
    element.scroll_into_view_with_scroll_into_view_options(&options);
}

/// Scrolls to a heading and moves the focus to it, as a link to it does.
pub(crate) fn go_to_heading(id: &str) {
    let element = window().ok().and_then(|window| window.document()?.get_element_by_id(id));
    let Some(heading) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) else { return };
    heading.set_tab_index(-1);
    let options = web_sys::ScrollIntoViewOptions::new();
    options.set_block(web_sys::ScrollLogicalPosition::Start);
    heading.scroll_into_view_with_scroll_into_view_options(&options);
    focus_in_place(&heading);
}

/// Returns `true` if the fragment of the page's address is `id`.
pub(crate) fn is_at_fragment(id: &str) -> bool {
    let fragment = window().ok().and_then(|window| window.location().hash().ok()).unwrap_or_default();
    fragment.strip_prefix('#') == Some(id)
}

/// Clicks a button.
pub(crate) fn press(id: &str) {
    let element = window().ok().and_then(|window| window.document()?.get_element_by_id(id));
    if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        element.click();
    }
}

/// Returns `true` if the focus is in a visible text field that is not empty: the user is typing.
pub(crate) fn is_typed_in() -> bool {
    let focused = window().ok().and_then(|window| window.document()?.active_element());
    focused.is_some_and(|element| !is_focus_free() && !written_in(&element).is_empty())
}

/// Returns `true` if a text field of the page's main part contains text: a message is being written, or a text that
/// belongs to one. Text fields of the settings do not count, because they also show saved texts.
pub(crate) fn has_written() -> bool {
    let fields =
        window().ok().and_then(|window| window.document()?.query_selector_all("main textarea:not(.setting-text)").ok());
    fields.is_some_and(|fields| {
        let fields = (0..fields.length()).filter_map(|at| fields.item(at)?.dyn_into::<Element>().ok());
        fields.map(|field| written_in(&field)).any(|text| !text.is_empty())
    })
}

/// Returns the text in a field; empty if the element is not a text field.
fn written_in(element: &Element) -> String {
    if let Some(field) = element.dyn_ref::<HtmlTextAreaElement>() {
        return field.value();
    }
    let is_text = |field: &&HtmlInputElement| !["checkbox", "radio"].contains(&field.type_().as_str());
    element.dyn_ref::<HtmlInputElement>().filter(is_text).map(HtmlInputElement::value).unwrap_or_default()
}

/// Moves the focus as [`focus`] does, unless an element already has it.
pub(crate) fn focus_if_free(selector: &str) -> bool {
    is_focus_free() && focus(selector)
}

/// Returns `true` if key presses go to this tab.
pub(crate) fn has_document_focus() -> bool {
    window().ok().and_then(|window| window.document()).is_some_and(|document| document.has_focus() == Ok(true))
}

/// Returns `true` if the focus is on or inside an element that matches `selector`.
pub(crate) fn has_focus_within(selector: &str) -> bool {
    let focused = window().ok().and_then(|window| window.document()?.active_element());
    focused.is_some_and(|element| element.closest(selector).is_ok_and(|found| found.is_some()))
}

/// Returns `true` if no visible element has the focus. A hidden element keeps the focus until the next frame, and a
/// closed dialog until it has faded.
pub(crate) fn is_focus_free() -> bool {
    let focused = window().ok().and_then(|window| window.document()?.active_element());
    let is_hidden = |element: &HtmlElement| element.offset_width() == 0 && element.offset_height() == 0;
    focused.is_none_or(|element| {
        element.tag_name().eq_ignore_ascii_case("body")
            || element.dyn_ref::<HtmlElement>().is_some_and(is_hidden)
            || matches!(element.closest("dialog:not([open])"), Ok(Some(_)))
    })
}

/// Moves the focus to an element without scrolling to it.
pub(crate) fn focus_in_place(element: &HtmlElement) {
    let options = FocusOptions::new();
    options.set_prevent_scroll(true);
    let _ = element.focus_with_options(&options);
}
