//! The settings section for the model that new chats begin with, which this browser keeps.

use leptos::prelude::*;

use super::section::section;
use crate::{browser, language::Language, models::Models};

/// The section; nothing if there is one model alone.
pub(super) fn section_view(text: Language) -> Option<AnyView> {
    let models = expect_context::<Models>();
    if !models.is_choice() {
        return None;
    }
    let chosen = untrack(|| models.default_for_new_chats());
    let names = models.all().into_iter().map(|model| model.name).collect::<Vec<_>>();
    // One that is gone is not used, and new chats begin with the last one chosen.
    let chosen = chosen.filter(|chosen| names.contains(chosen));
    let options = names.into_iter().map(|name| {
        let is_chosen = chosen.as_ref() == Some(&name);
        view! { <option value=name.clone() selected=is_chosen>{name.clone()}</option> }
    });
    let content = view! {
        <div class="setting-row">
            <span aria-hidden="true">{text.new_chat_model()}</span>
            <select
                class="field"
                data-testid="setting-model"
                aria-label=text.new_chat_model()
                autocomplete="off"
                disabled=!browser::IS_HERE
                on:change:target=move |event| {
                    models.set_default_for_new_chats(Some(event.target().value()).filter(|name| !name.is_empty()));
                }
            >
                <option value="" selected=chosen.is_none()>{text.last_model()}</option>
                {options.collect_view()}
            </select>
        </div>
    };
    Some(section("model", text.new_chats(), text.new_chats_about(), content.into_any()))
}
