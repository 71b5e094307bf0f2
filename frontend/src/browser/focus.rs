//! Who hears the next key.

use wasm_bindgen::JsCast;
use web_sys::{Element, FocusOptions, HtmlElement, HtmlInputElement, HtmlTextAreaElement};

use super::window;

/// Gives the focus to the element that `selector` begins to name by its id. False when there is none that takes it.
pub(crate) fn focus(selector: &str) -> bool {
    let Some(document) = window().ok().and_then(|window| window.document()) else { return false };
    let Some(element) = document.query_selector(&format!("#{selector}")).ok().flatten() else { return false };
    let focused = element.dyn_ref::<web_sys::HtmlElement>().is_some_and(|element| element.focus().is_ok());
    focused && document.active_element().as_ref() == Some(&element)
}

/// Scrolls no further than it takes to see an element.
pub(crate) fn scroll_into_view(id: &str) {
    let Some(element) = window().ok().and_then(|window| window.document()?.get_element_by_id(id)) else { return };
    let options = web_sys::ScrollIntoViewOptions::new();
    options.set_block(web_sys::ScrollLogicalPosition::Nearest);
    element.scroll_into_view_with_scroll_into_view_options(&options);
}

/// Scrolls to a heading and gives it the focus, as a link to it does.
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

/// Presses a button, as a hand would.
pub(crate) fn press(id: &str) {
    let element = window().ok().and_then(|window| window.document()?.get_element_by_id(id));
    if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        element.click();
    }
}

/// Returns `true` if the focus is in a text field that is not empty: its user is typing.
pub(crate) fn is_typed_in() -> bool {
    let focused = window().ok().and_then(|window| window.document()?.active_element());
    focused.is_some_and(|element| !written_in(&element).is_empty())
}

/// Returns `true` if a message is being written, or a text that belongs to one. The settings show texts that are saved, too.
pub(crate) fn has_written() -> bool {
    let fields =
        window().ok().and_then(|window| window.document()?.query_selector_all("main textarea:not(.setting-text)").ok());
    fields.is_some_and(|fields| {
        let fields = (0..fields.length()).filter_map(|at| fields.item(at)?.dyn_into::<Element>().ok());
        fields.map(|field| written_in(&field)).any(|text| !text.is_empty())
    })
}

/// Returns the text in a field; empty if the element is not a field for text.
fn written_in(element: &Element) -> String {
    if let Some(field) = element.dyn_ref::<HtmlTextAreaElement>() {
        return field.value();
    }
    let is_text = |field: &&HtmlInputElement| !["checkbox", "radio"].contains(&field.type_().as_str());
    element.dyn_ref::<HtmlInputElement>().filter(is_text).map(HtmlInputElement::value).unwrap_or_default()
}

/// Gives the focus as [`focus`] does, unless something has it already.
pub(crate) fn focus_if_free(selector: &str) -> bool {
    is_focus_free() && focus(selector)
}

/// Returns `true` if the keys that are pressed go to this tab.
pub(crate) fn has_document_focus() -> bool {
    window().ok().and_then(|window| window.document()).is_some_and(|document| document.has_focus() == Ok(true))
}

/// Returns `true` if the focus is on or inside an element that matches `selector`.
pub(crate) fn has_focus_within(selector: &str) -> bool {
    let focused = window().ok().and_then(|window| window.document()?.active_element());
    focused.is_some_and(|element| element.closest(selector).is_ok_and(|found| found.is_some()))
}

/// Whether nothing has the focus, so that taking it takes it from nobody. What is hidden loses it only with the next frame, and
/// a closed dialog when it has faded.
pub(crate) fn is_focus_free() -> bool {
    let focused = window().ok().and_then(|window| window.document()?.active_element());
    let is_hidden = |element: &HtmlElement| element.offset_width() == 0 && element.offset_height() == 0;
    focused.is_none_or(|element| {
        element.tag_name().eq_ignore_ascii_case("body")
            || element.dyn_ref::<HtmlElement>().is_some_and(is_hidden)
            || matches!(element.closest("dialog:not([open])"), Ok(Some(_)))
    })
}

/// Gives the focus to an element without scrolling to it.
pub(crate) fn focus_in_place(element: &HtmlElement) {
    let options = FocusOptions::new();
    options.set_prevent_scroll(true);
    let _ = element.focus_with_options(&options);
}
