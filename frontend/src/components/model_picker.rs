//! Which model answers in the open conversation, and choosing another one: there, for the next message alone, or to write
//! one answer anew.

use leptos::{html, prelude::*};
use tallybook_protocol::CatalogModel;
use uuid::Uuid;

use crate::{
    browser,
    components::{
        choice::Choice,
        shown::{OptionalEntry, read},
    },
    language::use_language,
    models::Models,
    reactive::memo,
    session::Session,
};

/// What stands before a model's name in the value of a choice that is for the next message alone.
const NEXT: &str = "next:";

/// The model of the open conversation: told where there is one alone, else a list to choose from.
#[component]
pub(crate) fn ModelPicker(
    models: Models,
    current: Signal<Option<Uuid>>,
    /// The session of what is open.
    session: RwSignal<Option<Session>>,
) -> impl IntoView {
    let text = use_language();
    if !models.is_choice() {
        return models.all().into_iter().next().map(|model| {
            let told = text.model_details(&model);
            // A provider of one model, as the built-in one, says no more than its name.
            let provider =
                (model.provider != model.name).then(|| view! { <span class="header-provider">{model.provider}</span> });
            view! {
                <p class="header-model" data-testid="model" title=told>
                    <span class="visually-hidden">{text.model_label()}</span>
                    {provider}
                    <span class="header-model-name">{model.name}</span>
                </p>
            }
            .into_any()
        });
    }
    let default_name = models.default_name();
    let chosen = memo(move |_| models.chosen(current.get()).unwrap_or_else(|| default_name.clone()));
    let names: Vec<String> = models.all().into_iter().map(|model| model.name).collect();
    // What is gone stays in the list as long as it is the conversation's, so that nothing else looks chosen.
    let gone = memo(move |_| Some(chosen.get()).filter(|name| !names.contains(name)));
    let next = memo(move |_| session.get().and_then(|session| session.next.get().0));
    let options = |is_next: bool| {
        let option = move |model: CatalogModel| {
            let name = model.name.clone();
            let (value, words) = if is_next {
                (format!("{NEXT}{name}"), text.model_for_next(&name))
            } else {
                (name.clone(), name.clone())
            };
            let is_chosen = move || match next.get() {
                Some(next) => is_next && next == name,
                None => !is_next && chosen.with(|chosen| *chosen == name),
            };
            view! { <option value=value selected=is_chosen.clone() prop:selected=is_chosen>{words}</option> }
        };
        models.all().into_iter().map(option).collect_view()
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
    Some(
        view! {
            <div class="model-picker">
                <select
                    class="field"
                    data-testid="model"
                    aria-label=text.choose_model()
                    title=text.choose_model()
                    aria-invalid=move || gone.get().map(|_| "true")
                    disabled=!browser::IS_HERE
                    on:change:target=move |event| choose(event.target().value())
                >
                    {move || gone.get().map(|name| view! {
                        <option value=name.clone() disabled selected prop:selected=true>{text.model_gone(&name)}</option>
                    })}
                    {options(false)}
                    <optgroup label=text.next_message_only()>{options(true)}</optgroup>
                </select>
                {move || models.notice.get().map(|notice| view! {
                    <p class="failure" role="alert" data-testid="model-notice">{notice}</p>
                })}
            </div>
        }
        .into_any(),
    )
}

/// Which model wrote an answer, as the head of a list of the others, which could write it anew.
#[component]
pub(crate) fn Author(entry: OptionalEntry, session: Session, models: Models, name: String) -> impl IntoView {
    let text = use_language();
    let others = models.all().into_iter().filter(|model| model.name != name);
    let others = others.map(|model| view! { <option value=model.name.clone()>{text.model_details(&model)}</option> });
    let others = others.collect_view();
    let label = format!("{} {name}. {}", text.model_label(), text.regenerate_with());
    let list = NodeRef::<html::Select>::new();
    let regenerate = move |chosen: String| {
        // The list shows the author of the answer again, even if the new answer fails.
        if let Some(list) = list.get_untracked() {
            list.set_value("");
        }
        session.regenerate_by(read(entry, |entry| entry.id), chosen);
    };
    let choice = Choice::new();
    view! {
        <select
            class="field author"
            data-testid="author"
            aria-label=label
            title=text.regenerate_with()
            node_ref=list
            disabled=move || !browser::IS_HERE || session.is_busy()
            on:keydown=move |_| choice.pressed(true)
            on:pointerdown=move |_| choice.pressed(false)
            on:change=move |event| {
                if let Some(chosen) = choice.changed(&event, "") {
                    regenerate(chosen);
                }
            }
        >
            <option value="" selected>{name}</option>
            {others}
        </select>
        {choice.button("regenerate-by", text.regenerate_with(), regenerate)}
    }
}
