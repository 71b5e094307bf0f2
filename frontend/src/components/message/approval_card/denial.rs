//! The field for the reason of a denial, which replaces the choices.

use leptos::{
    ev::{KeyboardEvent, SubmitEvent},
    html,
    prelude::*,
};

use super::card::{Card, focus_soon};
use crate::{
    components::parts::{commands::escapes, ids::card_id},
    session::{keep_reason, kept_reason},
};

impl Card {
    /// Renders the field. Enter denies, with or without a reason; Escape goes back and keeps the text.
    pub(super) fn denial(self) -> AnyView {
        let Self { id, text, .. } = self;
        let field = NodeRef::<html::Input>::new();
        let field_id = format!("{}-reason", card_id(id));
        focus_soon(field_id.clone());
        // The key that opened the field may still be held down. Its repeats are not part of the reason.
        let is_fresh = StoredValue::new(false);
        let leave = move || {
            self.is_denying.set(false);
            self.take_focus();
        };
        let on_key = move |event: KeyboardEvent| {
            if !event.repeat() {
                is_fresh.set_value(true);
            } else if !is_fresh.get_value() {
                event.prevent_default();
            }
            if escapes(&event) {
                event.stop_propagation();
                leave();
            }
        };
        let deny = move |event: SubmitEvent| {
            event.prevent_default();
            self.deny(&field.get_untracked().map(|field| field.value()).unwrap_or_default());
        };
        view! {
            <form class="approval-denial" on:submit=deny>
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
                    value=kept_reason(id)
                    node_ref=field
                    on:input:target=move |event| keep_reason(id, &event.target().value())
                    on:keydown=on_key
                />
                <button
                    type="submit"
                    class="button danger"
                    data-testid="deny-now"
                    disabled=move || !self.is_ready.get()
                >
                    {text.deny()}
                </button>
                <button type="button" class="button quiet" data-testid="deny-cancel" on:click=move |_| leave()>
                    {text.cancel()}
                </button>
            </form>
        }
        .into_any()
    }
}
