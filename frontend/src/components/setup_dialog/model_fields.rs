//! The fields of a model in the dialog: the provider, the connection to it, the model, and further settings.

use leptos::{ev::KeyboardEvent, prelude::*};

use crate::{
    components::{
        parts::{combobox::Combobox, commands::is_composing, listbox::Choice},
        setup_dialog::{
            fields::{
                choice_field, described_by, further_view, has_problem, labelled, number_field, secret_field, text_field,
            },
            outcome::progress,
        },
    },
    language::Language,
    reactive::memo,
    setup::{Dialog, EntryKind, Field, Provider, REMOVE, Setup, SetupInput, Work},
};

/// Values of the reasoning effort. Each model supports some of them.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The fields. Those of a new model follow when the provider is chosen.
pub(crate) fn fields_view(dialog: Dialog, is_new: bool, text: Language) -> AnyView {
    let provider = memo(move |_| dialog.setup.with(|setup| setup.form().provider()));
    let rest = move || {
        let is_other = !is_new && provider.get().is_none();
        (is_other || provider.get().is_some()).then(|| {
            view! {
                {provider.get().map(|provider| connection_view(dialog, provider, text))}
                {model_view(dialog, is_new, text)}
            }
            .into_any()
        })
    };
    view! {
        {if is_new { providers_view(dialog, provider, text) } else { provider_view(provider, text) }}
        {rest}
    }
    .into_any()
}

/// The providers to choose from.
fn providers_view(dialog: Dialog, chosen: Memo<Option<Provider>>, text: Language) -> AnyView {
    let cards = Provider::ALL.into_iter().enumerate().map(|(at, provider)| {
        let (name, about) = text.provider(provider);
        let is_found = memo(move |_| dialog.setup.with(|setup| setup.is_found(provider)));
        view! {
            <label class="provider-card">
                <input
                    type="radio"
                    name="model-provider"
                    data-testid=format!("provider-{}", provider.name())
                    autofocus=at == 0
                    prop:checked=move || chosen.get() == Some(provider)
                    on:change=move |_| dialog.feed(SetupInput::Choose(provider))
                />
                <span class="provider-name">{name}</span>
                <span class="provider-about">{about}</span>
                {move || is_found.get().then(|| view! {
                    <span class="provider-found" data-testid="provider-found">{text.provider_found()}</span>
                })}
            </label>
        }
        .into_any()
    });
    view! {
        <fieldset class="setup-part">
            <legend>{text.model_provider()}</legend>
            <div class="provider-cards">{cards.collect_view()}</div>
        </fieldset>
    }
    .into_any()
}

/// The provider of a stored model.
fn provider_view(provider: Memo<Option<Provider>>, text: Language) -> AnyView {
    let name = move || provider.get().map(|provider| text.provider(provider).0);
    view! {
        <p class="sheet-note">{text.model_provider()}": "<b>{name}</b>". "{text.setup_name_fixed()}</p>
    }
    .into_any()
}

/// The address, the key, and the button that asks the provider for its models.
pub(crate) fn connection_view(dialog: Dialog, provider: Provider, text: Language) -> AnyView {
    let has_address = untrack(|| dialog.setup.with(|setup| setup.form().has_address()));
    let find = Callback::new(move |event: KeyboardEvent| find_at_enter(dialog, &event));
    let finding = memo(move |_| dialog.setup.with(Setup::work).filter(|work| *work == Work::Finding));
    view! {
        <fieldset class="setup-part">
            <legend>{text.setup_connection()}</legend>
            {has_address.then(|| {
                text_field(dialog, Field::Address, text.setup_address(), Some(text.model_address_hint()), Some(find), text)
            })}
            {provider.takes_key().then(|| key_field(dialog, provider, find, text))}
            <div class="setup-find">
                <button
                    type="button"
                    class="button"
                    data-testid=move || if finding.get().is_some() { "cancel-find" } else { "find-models" }
                    on:click=move |_| {
                        let is_finding = finding.get_untracked().is_some();
                        dialog.feed(if is_finding { SetupInput::Cancel } else { SetupInput::Find });
                    }
                >
                    {move || if finding.get().is_some() { text.cancel() } else { text.model_find() }}
                </button>
                {progress(finding, EntryKind::Model, true, text)}
            </div>
        </fieldset>
    }
    .into_any()
}

/// Asks the provider for its models when Enter is pressed in a field of the connection.
fn find_at_enter(dialog: Dialog, event: &KeyboardEvent) {
    if event.key() == "Enter" && !is_composing(event) {
        event.prevent_default();
        dialog.feed(SetupInput::Find);
    }
}

/// The field of the API key.
fn key_field(dialog: Dialog, provider: Provider, find: Callback<KeyboardEvent>, text: Language) -> AnyView {
    let has_stored = untrack(|| dialog.setup.with(|setup| setup.stored().is_some_and(|stored| stored.has_secret)));
    let label = if provider.needs_key() { text.model_key() } else { text.model_key_optional() };
    let hint = if has_stored { text.model_key_kept() } else { text.model_key_hint() };
    let link = provider.key_page().map(|page| {
        view! {
            " "
            <a href=page target="_blank" rel="noreferrer" data-testid="key-page">{text.model_key_get()}</a>
        }
    });
    secret_field(dialog, label, view! { {hint}{link} }.into_any(), Some(find), text)
}

/// The model, its name, and further settings.
pub(crate) fn model_view(dialog: Dialog, is_new: bool, text: Language) -> AnyView {
    view! {
        <fieldset class="setup-part">
            <legend>{text.model_section()}</legend>
            {model_field(dialog, text)}
            {is_new.then(|| text_field(dialog, Field::Name, text.setup_name(), None, None, text))}
            {more_view(dialog, text)}
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
        write: Callback::new(move |typed| dialog.feed(SetupInput::Write(Field::Model, typed))),
        choose: Callback::new(move |model| dialog.feed(SetupInput::Pick(model))),
    };
    let hint = view! { <span role="status" data-testid="models-found">{hint}</span> };
    labelled(dialog, Field::Model, text.model_id(), Some(hint.into_any()), field.view(), text)
}

/// The settings that have a default.
fn more_view(dialog: Dialog, text: Language) -> AnyView {
    let known = move || {
        let context = dialog.text_of(Field::ContextTokens).parse().ok();
        let vision = dialog.text_of(Field::Vision);
        text.offered_model(context, Some(vision == "yes"))
    };
    let efforts = EFFORTS.into_iter().map(|effort| Choice::new(effort, effort));
    let efforts = std::iter::once(Choice::new("", text.vision_auto())).chain(efforts);
    let can_remove_key = untrack(|| {
        dialog.setup.with(|setup| {
            let has_stored = setup.stored().is_some_and(|stored| stored.has_secret);
            has_stored && setup.form().provider().is_some_and(|provider| !provider.needs_key())
        })
    });
    let grid = view! {
        {number_field(dialog, Field::ContextTokens, text.model_context(), text)}
        {number_field(dialog, Field::MaxTokens, text.model_max_tokens(), text)}
        {choice_field(dialog, Field::ToolMode, text.model_tool_mode(), None, vec![
            Choice::new("", text.tools_auto()),
            Choice::new("native", text.tools_native()),
            Choice::new("prompt", text.tools_in_prompt()),
        ], text)}
        {choice_field(dialog, Field::Vision, text.model_vision(), None, vec![
            Choice::new("", text.vision_auto()),
            Choice::new("yes", text.yes()),
            Choice::new("no", text.no()),
        ], text)}
        {number_field(dialog, Field::InputPrice, text.model_input_price(), text)}
        {number_field(dialog, Field::OutputPrice, text.model_output_price(), text)}
        {number_field(dialog, Field::Temperature, text.model_temperature(), text)}
        {choice_field(dialog, Field::ReasoningEffort, text.model_reasoning_effort(), None, efforts.collect(), text)}
        {number_field(dialog, Field::ThinkingTokens, text.model_thinking_tokens(), text)}
        {text_field(dialog, Field::Quirks, text.model_quirks(), Some(text.model_quirks_hint()), None, text)}
        {can_remove_key.then(|| choice_field(dialog, Field::StoredKey, text.model_stored_key(), None, vec![
            Choice::new("", text.stored_key_keep()),
            Choice::new(REMOVE, text.stored_key_remove()),
        ], text))}
    };
    further_view(dialog, known.into_any(), grid.into_any(), text)
}
