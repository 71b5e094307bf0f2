//! The settings section for the model that new chats begin with, which this browser keeps.

use leptos::prelude::*;

use super::section::section;
use crate::{
    components::parts::listbox::{Choice, Listbox},
    language::Language,
    models::Models,
};

/// The section; empty if there is only one model.
pub(super) fn section_view(text: Language) -> Option<AnyView> {
    let models = expect_context::<Models>();
    if !models.is_choice() {
        return None;
    }
    let chosen = untrack(|| models.default_for_new_chats());
    let names = models.all().into_iter().map(|model| model.name).collect::<Vec<_>>();
    // A removed model is not used; new chats start with the last one chosen.
    let chosen = chosen.filter(|chosen| names.contains(chosen));
    let chosen = RwSignal::new(chosen.unwrap_or_default());
    let last = Choice::new("", text.last_model());
    let choices = std::iter::once(last).chain(names.into_iter().map(|name| Choice::new(name.clone(), name)));
    let choose = Callback::new(move |name: String| {
        chosen.set(name.clone());
        models.set_default_for_new_chats(Some(name).filter(|name| !name.is_empty()));
    });
    let picker =
        Listbox::of("setting-model", "setting-model", text.new_chat_model(), choices.collect(), chosen.into(), choose);
    let content = view! {
        <div class="setting-row">
            <span aria-hidden="true">{text.new_chat_model()}</span>
            {picker.view()}
        </div>
    };
    Some(section("model", text.new_chats(), text.new_chats_about(), content.into_any()))
}
