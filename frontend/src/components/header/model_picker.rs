//! Lists of models: for the open conversation, for the next message only, and to regenerate an answer.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::CatalogModel;
use uuid::Uuid;

use crate::{
    components::{
        message::shown::{OptionalEntry, read},
        parts::listbox::{Choice, Listbox},
    },
    language::{Language, use_language},
    models::Models,
    reactive::memo,
    session::Session,
};

/// Prefix of values that choose a model for the next message only.
const NEXT: &str = "next:";

/// The model of the open conversation: a list to choose from, or its name if there is only one.
#[component]
pub(crate) fn ModelPicker(
    models: Models,
    current: Signal<Option<Uuid>>,
    /// The session of the open conversation or new chat.
    session: RwSignal<Option<Session>>,
) -> impl IntoView {
    let text = use_language();
    // If the user may no longer use the conversation's model, the list also shows if it has only one entry.
    let is_gone = move || {
        let all = models.all();
        let is_there = |name: String| all.iter().any(|model| model.name == name);
        !all.is_empty() && models.chosen(current.get()).is_some_and(|name| !is_there(name))
    };
    // A list that is shown stays, because it has the focus after a choice.
    let is_list = memo(move |was: Option<&bool>| was == Some(&true) || models.is_choice() || is_gone());
    move || if is_list.get() { list(models, current, session, text) } else { only_model(models, text) }
}

/// Shows the name of the only model.
fn only_model(models: Models, text: Language) -> AnyView {
    let show = |model: CatalogModel| {
        let details = text.model_details(&model);
        view! {
            <p class="header-model" data-testid="model" title=details>
                <span class="visually-hidden">{text.model_label()}</span>
                <span class="header-model-name">{model.name}</span>
            </p>
        }
    };
    models.all().into_iter().next().map(show).into_any()
}

/// Shows the list of models.
fn list(models: Models, current: Signal<Option<Uuid>>, session: RwSignal<Option<Session>>, text: Language) -> AnyView {
    let default_name = models.default_name();
    let chosen = memo(move |_| models.chosen(current.get()).unwrap_or_else(|| default_name.clone()));
    let names: Vec<String> = models.all().into_iter().map(|model| model.name).collect();
    // If the conversation's model was removed, the button still names it, so that no other model looks chosen.
    let gone = memo(move |_| Some(chosen.get()).filter(|name| !names.contains(name)));
    let next = memo(move |_| session.get().and_then(|session| session.next.get().0));
    let choices = move || {
        let all = models.all();
        let next = all.iter().map(|model| Choice {
            group: text.next_message_only(),
            ..Choice::new(format!("{NEXT}{}", model.name), model.name.clone())
        });
        let next: Vec<_> = next.collect();
        all.into_iter().map(|model| described(model, text)).chain(next).collect()
    };
    let choose = move |value: String| {
        let Some(session) = session.get_untracked() else { return };
        if let Some(name) = value.strip_prefix(NEXT) {
            session.choose_next(Some(name.to_owned()));
        } else {
            session.choose_next(None);
            models.choose(current.get_untracked(), value);
        }
    };
    let list = Listbox {
        id: "model".to_owned(),
        name: "model",
        class: "button quiet small",
        label: text.choose_model().to_owned(),
        choices: Arc::new(choices),
        chosen: Signal::derive(move || match next.get() {
            Some(next) => format!("{NEXT}{next}"),
            None => chosen.get(),
        }),
        shown: Signal::derive(move || match (next.get(), gone.get()) {
            (Some(next), _) => text.model_for_next(&next),
            (None, Some(gone)) => text.model_gone(&gone),
            (None, None) => chosen.get(),
        }),
        described_by: String::new().into(),
        is_invalid: Signal::derive(move || gone.with(Option::is_some)),
        is_disabled: false.into(),
        choose: Callback::new(choose),
    };
    view! {
        <div class="model-picker">
            {list.view()}
            {move || models.notice.get().map(|notice| view! {
                <p class="failure" role="alert" data-testid="model-notice">{notice}</p>
            })}
        </div>
    }
    .into_any()
}

/// Returns a model as a choice, with its provider and how it receives tools.
fn described(model: CatalogModel, text: Language) -> Choice {
    let about = text.model_about(&model);
    Choice { about, ..Choice::new(model.name.clone(), model.name) }
}

/// The model that wrote an answer, as the button of a list of models that can regenerate it.
#[component]
pub(crate) fn Author(entry: OptionalEntry, session: Session, models: Models, name: String) -> impl IntoView {
    let text = use_language();
    let author = name.clone();
    let others = move || {
        let others = models.all().into_iter().filter(|model| model.name != author);
        let group = text.regenerate_with();
        others.map(|model| Choice { group, ..described(model, text) }).collect()
    };
    let list = Listbox {
        id: format!("author-{}", untrack(|| read(entry, |entry| entry.id))),
        name: "author",
        class: "button quiet small author",
        label: format!("{} {name}. {}", text.model_label(), text.regenerate_with()),
        choices: Arc::new(others),
        chosen: String::new().into(),
        shown: name.into(),
        described_by: String::new().into(),
        is_invalid: false.into(),
        is_disabled: Signal::derive(move || session.is_busy()),
        choose: Callback::new(move |chosen| session.regenerate_by(read(entry, |entry| entry.id), chosen)),
    };
    list.view()
}
