//! The field that renames a conversation, in the place of its title. Enter and leaving the field keep the text, Escape
//! discards it.

use leptos::{
    ev::{KeyboardEvent, SubmitEvent},
    html,
    prelude::*,
};

use crate::{
    components::parts::commands::escapes, language::use_language, mount_schedule::in_next_frame, reactive::effect,
};

/// Maximum length of a title on the server, in characters.
const MAX_TITLE_CHARS: &str = "200";

/// The field. Calls `done` once: with the new title, or with `None` if it stays.
#[component]
pub(crate) fn TitleField(title: String, done: Callback<Option<String>>) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Input>::new();
    let is_done = StoredValue::new(false);
    effect(move || {
        if let Some(field) = field.get() {
            in_next_frame(move || {
                let _ = field.focus();
                field.select();
            });
        }
    });
    let old = StoredValue::new(title.clone());
    let end = move |new: Option<String>| {
        // Leaving the field after Enter or Escape calls this again.
        if is_done.try_get_value() == Some(false) {
            is_done.set_value(true);
            let new = new.map(|new| new.trim().to_owned());
            done.run(new.filter(|new| !new.is_empty() && *new != old.get_value()));
        }
    };
    let finish = move || end(field.try_get_untracked().flatten().map(|field| field.value()));
    view! {
        <form
            class="rename"
            on:submit=move |event: SubmitEvent| {
                event.prevent_default();
                finish();
            }
        >
            <input
                type="text"
                class="field"
                data-testid="rename-field"
                aria-label=text.rename_label()
                dir="auto"
                autocomplete="off"
                maxlength=MAX_TITLE_CHARS
                value=title
                node_ref=field
                on:blur=move |_| finish()
                on:keydown=move |event: KeyboardEvent| if escapes(&event) {
                    event.stop_propagation();
                    end(None);
                }
            />
        </form>
    }
    .into_any()
}
