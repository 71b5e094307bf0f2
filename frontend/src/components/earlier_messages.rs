//! What stands above the first message that is here, while there are others before it. They are loaded as the reader
//! comes near; the button is for whoever does not scroll, and for another attempt.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{components::load_button::LoadButton, language::use_language, session::Session};

/// The way to earlier messages.
#[component]
pub(crate) fn EarlierMessages(
    session: Session,
    /// Loads some of them.
    load: impl Fn() + Copy + Send + 'static,
) -> impl IntoView {
    let text = use_language();
    view! {
        <div class="earlier">
            <LoadButton
                name="show-earlier"
                loading=session.earlier.into()
                label=text.show_earlier().to_owned()
                loading_label=text.loading_earlier()
                load
            />
            <noscript>
                <p class="note">{text.earlier_need_javascript()}</p>
            </noscript>
        </div>
    }
    .into_any()
}

/// Leaves what the reader sees where it is while messages come in above it. To be called just before they do.
pub(crate) fn keep_place(area: NodeRef<html::Div>) {
    let Some(area) = area.try_get_untracked().flatten() else { return };
    let Some(first) = first_message(&area) else { return };
    let (top, scrolled) = (first.offset_top(), area.scroll_top());
    let button = "[data-testid=show-earlier]";
    let had_focus = document().active_element().is_some_and(|focused| matches!(focused.matches(button), Ok(true)));
    request_animation_frame(move || {
        // Browsers keep the place by themselves, but not all of them, and not at the very top. Who scrolls on meanwhile
        // moves by little.
        let added = first.offset_top() - top;
        if added > 0 && area.scroll_top() - scrolled < added / 2 {
            area.set_scroll_top(area.scroll_top() + added);
        }
        // The button is gone with the last of them; the next key should still find the messages.
        if had_focus && matches!(area.query_selector(button), Ok(None)) {
            let _ = area.focus();
        }
    });
}

fn first_message(area: &HtmlElement) -> Option<HtmlElement> {
    area.query_selector(".message").ok()??.dyn_into().ok()
}
