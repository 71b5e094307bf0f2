//! The field in which one says why not.

use leptos::{ev::SubmitEvent, html, prelude::*};

use super::card::{Card, focus_soon};
use crate::components::ids::card_id;

impl Card {
    /// Asks why not. Enter denies, with a reason or without; Esc goes back.
    pub(super) fn denial(self) -> AnyView {
        let Self { is_denying, text, .. } = self;
        let field = NodeRef::<html::Input>::new();
        let field_id = format!("{}-reason", card_id(self.id));
        focus_soon(field_id.clone());
        let deny = move |event: SubmitEvent| {
            event.prevent_default();
            self.deny(&field.get_untracked().map(|field| field.value()).unwrap_or_default());
        };
        view! {
            <form class="consent-denial" on:submit=deny>
                <input
                    type="text"
                    class="field"
                    id=field_id
                    data-testid="deny-reason"
                    autocomplete="off"
                    dir="auto"
                    maxlength="1000"
                    aria-label=text.deny_reason()
                    placeholder=text.deny_reason()
                    node_ref=field
                    on:keydown=move |event| if event.key() == "Escape" && !event.is_composing() {
                        event.stop_propagation();
                        is_denying.set(false);
                        self.take_focus();
                    }
                />
                <button
                    type="submit"
                    class="button danger"
                    data-testid="deny-now"
                    disabled=move || !self.is_ready.get()
                >
                    {text.deny()}
                </button>
            </form>
        }
        .into_any()
    }
}
