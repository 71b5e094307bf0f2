//! The fields of the dialog that connects or edits a model: the connection to the provider, the model, and further
//! settings.

use leptos::{ev::KeyboardEvent, html, prelude::*};

use crate::{
    components::{
        combobox::Combobox,
        commands::is_composing,
        listbox::{Choice, Listbox},
        model_outcome::progress,
    },
    language::Language,
    model_setup::{Dialog, Field, Input, MAX_NAME_CHARS, Provider, Setup, Work},
    reactive::{effect, memo},
};

/// The address, the key, and the button that asks the provider for its models.
pub(crate) fn connection_view(dialog: Dialog, provider: Provider, text: Language) -> AnyView {
    let has_address = untrack(|| dialog.setup.with(|setup| setup.form().has_address()));
    let finding = memo(move |_| dialog.setup.with(Setup::work).filter(|work| *work == Work::Finding));
    view! {
        <fieldset class="model-part">
            <legend>{text.model_connection()}</legend>
            {has_address.then(|| {
                text_field(dialog, Field::Address, text.model_address(), Some(text.model_address_hint()), text)
            })}
            {provider.takes_key().then(|| key_field(dialog, provider, text))}
            <div class="model-find">
                <button
                    type="button"
                    class="button"
                    data-testid=move || if finding.get().is_some() { "cancel-find" } else { "find-models" }
                    on:click=move |_| {
                        let is_finding = finding.get_untracked().is_some();
                        dialog.feed(if is_finding { Input::Cancel } else { Input::Find });
                    }
                >
                    {move || if finding.get().is_some() { text.cancel() } else { text.model_find() }}
                </button>
                {progress(finding, true, text)}
            </div>
        </fieldset>
    }
    .into_any()
}

/// Asks the provider for its models when Enter is pressed in a field of the connection.
fn find_at_enter(dialog: Dialog, event: &KeyboardEvent) {
    if event.key() == "Enter" && !is_composing(event) {
        event.prevent_default();
        dialog.feed(Input::Find);
    }
}

/// The field of the key, whose text is hidden unless the user shows it.
fn key_field(dialog: Dialog, provider: Provider, text: Language) -> AnyView {
    let id = Field::Key.id();
    let has_stored = untrack(|| dialog.setup.with(|setup| setup.stored().is_some_and(|stored| stored.has_key)));
    let is_shown = RwSignal::new(false);
    let label = if provider.needs_key() { text.model_key() } else { text.model_key_optional() };
    let hint = if has_stored { text.model_key_kept() } else { text.model_key_hint() };
    let link = provider.key_page().map(|page| {
        view! {
            " "
            <a href=page target="_blank" rel="noreferrer" data-testid="key-page">{text.model_key_get()}</a>
        }
    });
    let content = view! {
        <span class="key-field">
            <input
                type=move || if is_shown.get() { "text" } else { "password" }
                class="field"
                id=id
                data-testid=id
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                // Password managers must not store it.
                data-1p-ignore
                data-lpignore="true"
                aria-describedby=move || described_by(dialog, Field::Key)
                aria-invalid=move || has_problem(dialog, Field::Key)
                prop:value=move || dialog.text_of(Field::Key)
                on:input:target=move |event| dialog.feed(Input::Write(Field::Key, event.target().value()))
                on:keydown=move |event| find_at_enter(dialog, &event)
            />
            <button
                type="button"
                class="button quiet small"
                data-testid="show-key"
                aria-pressed=move || is_shown.get().to_string()
                aria-label=text.model_key_show_label()
                on:click=move |_| is_shown.update(|shown| *shown = !*shown)
            >
                {move || if is_shown.get() { text.model_key_hide() } else { text.model_key_show() }}
            </button>
        </span>
    };
    labelled(dialog, Field::Key, label, Some(view! { {hint}{link} }.into_any()), content.into_any(), text)
}

/// The model, its name, and further settings.
pub(crate) fn model_view(dialog: Dialog, is_new: bool, text: Language) -> AnyView {
    view! {
        <fieldset class="model-part">
            <legend>{text.model_section()}</legend>
            {model_field(dialog, text)}
            {is_new.then(|| text_field(dialog, Field::Name, text.model_name(), None, text))}
            {further_view(dialog, text)}
        </fieldset>
    }
    .into_any()
}

/// The provider's name of the model, with the provider's models as suggestions.
fn model_field(dialog: Dialog, text: Language) -> AnyView {
    let choices = memo(move |_| {
        dialog.setup.with(|setup| {
            let choice = |model: &tallybook_protocol::DiscoveredModel| {
                let about = text.offered_model(model.context_tokens, model.vision);
                let title = model.title.clone().filter(|title| *title != model.model);
                let about = match &title {
                    Some(_) if about.is_empty() => model.model.clone(),
                    Some(_) => format!("{} · {about}", model.model),
                    None => about,
                };
                Choice { about, ..Choice::new(model.model.clone(), title.unwrap_or_else(|| model.model.clone())) }
            };
            setup.offered().unwrap_or_default().iter().map(choice).collect::<Vec<_>>()
        })
    });
    let count = memo(move |_| dialog.setup.with(|setup| setup.offered().map(<[_]>::len)));
    let hint = move || match count.get() {
        None => text.model_id_hint().to_owned(),
        Some(0) => text.models_none_found().to_owned(),
        Some(count) => format!("{} {}", text.models_found(count), text.model_id_hint_found()),
    };
    let field = Combobox {
        id: Field::Model.id(),
        list_label: text.model_list(),
        value: Signal::derive(move || dialog.text_of(Field::Model)),
        choices: choices.into(),
        described_by: Signal::derive(move || described_by(dialog, Field::Model)),
        is_invalid: Signal::derive(move || has_problem(dialog, Field::Model).is_some()),
        write: Callback::new(move |typed| dialog.feed(Input::Write(Field::Model, typed))),
        choose: Callback::new(move |model| dialog.feed(Input::Pick(model))),
    };
    let hint = view! { <span role="status" data-testid="models-found">{hint}</span> };
    labelled(dialog, Field::Model, text.model_id(), Some(hint.into_any()), field.view(), text)
}

/// The settings that have a default, closed until the user opens them or one of them has a problem.
fn further_view(dialog: Dialog, text: Language) -> AnyView {
    let place = NodeRef::<html::Details>::new();
    let is_wrong = memo(move |_| {
        let field = dialog.setup.with(|setup| setup.problem().and_then(|problem| problem.field));
        field.is_some_and(Field::is_further)
    });
    effect(move || {
        if let Some(details) = place.get().filter(|_| is_wrong.get()) {
            details.set_open(true);
        }
    });
    let known = move || {
        let context = dialog.text_of(Field::ContextTokens).parse().ok();
        let vision = dialog.text_of(Field::Vision);
        text.offered_model(context, Some(vision == "yes"))
    };
    view! {
        <details class="model-further" node_ref=place data-testid="model-further">
            <summary>{text.model_further()} <span class="model-known">{known}</span></summary>
            <p class="sheet-note">{text.model_default_hint()}</p>
            <div class="model-grid">
                {number_field(dialog, Field::ContextTokens, text.model_context(), text)}
                {number_field(dialog, Field::MaxTokens, text.model_max_tokens(), text)}
                {choice_field(dialog, Field::ToolMode, text.model_tool_mode(), vec![
                    Choice::new("", text.tools_auto()),
                    Choice::new("native", text.tools_native()),
                    Choice::new("prompt", text.tools_in_prompt()),
                ], text)}
                {choice_field(dialog, Field::Vision, text.model_vision(), vec![
                    Choice::new("", text.vision_auto()),
                    Choice::new("yes", text.yes()),
                    Choice::new("no", text.no()),
                ], text)}
                {number_field(dialog, Field::InputPrice, text.model_input_price(), text)}
                {number_field(dialog, Field::OutputPrice, text.model_output_price(), text)}
                {number_field(dialog, Field::Temperature, text.model_temperature(), text)}
            </div>
        </details>
    }
    .into_any()
}

fn choice_field(dialog: Dialog, field: Field, label: &'static str, choices: Vec<Choice>, text: Language) -> AnyView {
    let choose = Callback::new(move |value| dialog.feed(Input::Write(field, value)));
    let chosen = Signal::derive(move || dialog.text_of(field));
    let list = Listbox::of(field.id(), field.id(), label, choices, chosen, choose).view();
    labelled(dialog, field, label, None, list, text)
}

fn number_field(dialog: Dialog, field: Field, label: &'static str, text: Language) -> AnyView {
    labelled(dialog, field, label, None, input(dialog, field, "decimal"), text)
}

fn text_field(
    dialog: Dialog,
    field: Field,
    label: &'static str,
    hint: Option<&'static str>,
    text: Language,
) -> AnyView {
    let kind = if field == Field::Address { "url" } else { "text" };
    labelled(dialog, field, label, hint.map(IntoAny::into_any), input(dialog, field, kind), text)
}

fn input(dialog: Dialog, field: Field, keyboard: &'static str) -> AnyView {
    let id = field.id();
    let longest = if field == Field::Name { MAX_NAME_CHARS } else { 2000 };
    view! {
        <input
            type="text"
            class="field"
            id=id
            data-testid=id
            inputmode=keyboard
            autocomplete="off"
            spellcheck="false"
            dir="auto"
            maxlength=longest.to_string()
            aria-describedby=move || described_by(dialog, field)
            aria-invalid=move || has_problem(dialog, field)
            prop:value=move || dialog.text_of(field)
            on:input:target=move |event| dialog.feed(Input::Write(field, event.target().value()))
            on:keydown=move |event| if field == Field::Address { find_at_enter(dialog, &event) }
        />
    }
    .into_any()
}

/// A field with its label, its hint, and its problem.
fn labelled(
    dialog: Dialog,
    field: Field,
    label: &'static str,
    hint: Option<AnyView>,
    content: AnyView,
    text: Language,
) -> AnyView {
    let id = field.id();
    let problem = memo(move |_| {
        dialog.setup.with(|setup| {
            let problem = setup.problem().filter(|problem| problem.field == Some(field))?;
            Some(text.model_problem(Some(field), &problem.reason))
        })
    });
    let fault = move || {
        problem.get().map(|(words, details)| {
            view! {
                <div class="model-fault" id=fault_id(field) data-testid=fault_id(field)>
                    {words}
                    {details.map(|details| view! { <p class="failure-detail" lang="en">{details}</p> })}
                </div>
            }
            .into_any()
        })
    };
    view! {
        <div class="model-field">
            <label for=id>{label}</label>
            {content}
            {fault}
            {hint.map(|hint| view! { <p class="sheet-note" id=hint_id(field)>{hint}</p> })}
        </div>
    }
    .into_any()
}

fn hint_id(field: Field) -> String {
    format!("{}-hint", field.id())
}

fn fault_id(field: Field) -> String {
    format!("{}-problem", field.id())
}

/// Returns the IDs of the elements that describe a field.
fn described_by(dialog: Dialog, field: Field) -> String {
    let fault = has_problem(dialog, field).map(|_| fault_id(field) + " ");
    fault.unwrap_or_default() + &hint_id(field)
}

/// Returns the value of `aria-invalid`.
fn has_problem(dialog: Dialog, field: Field) -> Option<&'static str> {
    let is_wrong = dialog.setup.with(|setup| setup.problem().is_some_and(|problem| problem.field == Some(field)));
    is_wrong.then_some("true")
}
