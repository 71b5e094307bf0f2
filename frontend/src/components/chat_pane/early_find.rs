//! The find bar of a conversation: whether it is open, and its field while the code of the bar still loads. What the
//! user types there is handed over to the bar.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement};

use crate::{
    browser,
    components::parts::{
        icon::{Draw, Icon},
        typing::focus_new_field,
    },
    language::use_language,
    reactive::memo,
    scroll::THREAD_ID,
    session::Session,
};

/// ID of the field that is shown while the code of the bar loads.
const EARLY_FIELD_ID: &str = "find-early";

/// The state of the find bar.
#[derive(Clone, Copy)]
pub(crate) struct FindState {
    /// `true` while the bar is open, or about to be.
    pub(crate) open: RwSignal<bool>,
    /// `true` while the bar itself is on the page.
    is_drawn: RwSignal<bool>,
    /// The element that had the focus before the bar was opened.
    before: StoredValue<Option<SendWrapper<HtmlElement>>>,
}

impl FindState {
    /// Returns the state of a closed bar.
    pub(crate) fn new() -> Self {
        Self { open: RwSignal::new(false), is_drawn: RwSignal::new(false), before: StoredValue::new(None) }
    }

    /// Replaces the early field by the bar's `field`: moves its text and the focus there, and returns the text.
    pub(crate) fn replace_early(self, field: &HtmlInputElement) -> String {
        let early = document().get_element_by_id(EARLY_FIELD_ID).and_then(|early| early.dyn_into().ok());
        let typed = early.map(|early: HtmlInputElement| early.value()).unwrap_or_default();
        field.set_value(&typed);
        // The user may be writing in another field meanwhile.
        if browser::is_focus_free() || browser::has_focus_within(&format!("#{EARLY_FIELD_ID}")) {
            let _ = field.focus();
        }
        self.is_drawn.set(true);
        typed
    }

    /// Returns `true` from the moment when the user opens the bar until the bar is on the page.
    pub(crate) fn is_early(self) -> bool {
        self.open.get_untracked() && !self.is_drawn.get_untracked()
    }

    /// Marks the bar as removed from the page.
    pub(crate) fn leave(self) {
        self.is_drawn.try_set(false);
    }

    /// Closes the bar, and returns the focus to where it was before.
    pub(crate) fn close(self) {
        self.open.set(false);
        let is_there = self.before.with_value(|before| {
            before.as_ref().is_some_and(|before| {
                let _ = before.focus();
                document().active_element().as_ref() == Some(before)
            })
        });
        if !is_there {
            browser::focus(THREAD_ID);
        }
    }
}

/// Renders the field from the moment when the user opens the bar until the bar is on the page.
pub(crate) fn early_field(find: FindState, session: Session) -> AnyView {
    let text = use_language();
    let is_shown = memo(move |_| find.open.get() && session.conversation().is_some() && !find.is_drawn.get());
    let field = move || {
        let before = document().active_element().and_then(|focused| focused.dyn_into::<HtmlElement>().ok());
        find.before.set_value(before.map(SendWrapper::new));
        focus_new_field(EARLY_FIELD_ID);
        view! {
            <search class="find" aria-label=text.find_here()>
                <input
                    type="search"
                    class="field"
                    id=EARLY_FIELD_ID
                    data-testid=EARLY_FIELD_ID
                    autocomplete="off"
                    aria-label=text.find_here()
                    placeholder=text.find_here()
                />
                <button
                    type="button"
                    class="button icon-only quiet small"
                    aria-label=text.find_close()
                    title=text.find_close()
                    on:click=move |_| find.close()
                >
                    <Draw icon=Icon::Cross />
                </button>
            </search>
        }
    };
    (move || is_shown.get().then(field)).into_any()
}
