//! The fields of the dialog that adds or edits a model or tool server, each with its label, hint and problem.

use leptos::{ev::KeyboardEvent, html, prelude::*};

use crate::{
    components::parts::listbox::{Choice, Listbox},
    language::Language,
    reactive::{effect, memo},
    setup::{Dialog, EntryKind, Field, SetupInput},
};

/// A field whose text is hidden unless the user shows it. `press` receives its key presses.
pub(crate) fn secret_field(
    dialog: Dialog,
    label: &'static str,
    hint: AnyView,
    press: Option<Callback<KeyboardEvent>>,
    text: Language,
) -> AnyView {
    let field = Field::Secret;
    let id = field.id();
    let is_shown = RwSignal::new(false);
    let content = view! {
        <span class="secret-field">
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
                aria-describedby=move || described_by(dialog, field)
                aria-invalid=move || has_problem(dialog, field)
                prop:value=move || dialog.text_of(field)
                on:input:target=move |event| dialog.feed(SetupInput::Write(field, event.target().value()))
                on:keydown=move |event| if let Some(press) = press { press.run(event) }
            />
            <button
                type="button"
                class="button quiet small"
                data-testid="show-secret"
                aria-pressed=move || is_shown.get().to_string()
                aria-label=format!("{}: {label}", text.secret_show())
                on:click=move |_| is_shown.update(|shown| *shown = !*shown)
            >
                {move || if is_shown.get() { text.secret_hide() } else { text.secret_show() }}
            </button>
        </span>
    };
    labelled(dialog, field, label, Some(hint), content.into_any(), text)
}

/// Further settings, closed until the user opens them or one of them has a problem. `summary` is shown beside the
/// title.
pub(crate) fn further_view(dialog: Dialog, summary: AnyView, fields: AnyView, text: Language) -> AnyView {
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
    view! {
        <details class="setup-further" node_ref=place data-testid="setup-further">
            <summary>{text.setup_further()} <span class="setup-known">{summary}</span></summary>
            <p class="sheet-note">{text.setup_default_hint()}</p>
            <div class="setup-grid">{fields}</div>
        </details>
    }
    .into_any()
}

/// A field with a list of values.
pub(crate) fn choice_field(
    dialog: Dialog,
    field: Field,
    label: &'static str,
    hint: Option<AnyView>,
    choices: Vec<Choice>,
    text: Language,
) -> AnyView {
    let choose = Callback::new(move |value| dialog.feed(SetupInput::Write(field, value)));
    let chosen = Signal::derive(move || dialog.text_of(field));
    let mut list = Listbox::of(field.id(), field.id(), label, choices, chosen, choose);
    list.described_by = Signal::derive(move || described_by(dialog, field));
    list.is_invalid = Signal::derive(move || has_problem(dialog, field).is_some());
    labelled(dialog, field, label, hint, list.view(), text)
}

/// A field for a number.
pub(crate) fn number_field(dialog: Dialog, field: Field, label: &'static str, text: Language) -> AnyView {
    labelled(dialog, field, label, None, input(dialog, field, "decimal", None), text)
}

/// A field for a line of text. `press` receives its key presses.
pub(crate) fn text_field(
    dialog: Dialog,
    field: Field,
    label: &'static str,
    hint: Option<&'static str>,
    press: Option<Callback<KeyboardEvent>>,
    text: Language,
) -> AnyView {
    let kind = if field == Field::Address { "url" } else { "text" };
    labelled(dialog, field, label, hint.map(IntoAny::into_any), input(dialog, field, kind, press), text)
}

/// A field for several lines of text.
pub(crate) fn lines_field(
    dialog: Dialog,
    field: Field,
    label: &'static str,
    hint: &'static str,
    text: Language,
) -> AnyView {
    let id = field.id();
    let content = view! {
        <textarea
            class="field"
            id=id
            data-testid=id
            rows="2"
            autocomplete="off"
            spellcheck="false"
            dir="auto"
            maxlength="20000"
            aria-describedby=move || described_by(dialog, field)
            aria-invalid=move || has_problem(dialog, field)
            prop:value=move || dialog.text_of(field)
            on:input:target=move |event| dialog.feed(SetupInput::Write(field, event.target().value()))
        />
    };
    labelled(dialog, field, label, Some(hint.into_any()), content.into_any(), text)
}

fn input(dialog: Dialog, field: Field, keyboard: &'static str, press: Option<Callback<KeyboardEvent>>) -> AnyView {
    let id = field.id();
    let longest = if field == Field::Name { dialog.kind.max_name_chars() } else { 2000 };
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
            // The dialog begins with the first of these that it has.
            autofocus=dialog.kind == EntryKind::ToolServer && matches!(field, Field::Name | Field::Address)
            maxlength=longest.to_string()
            aria-describedby=move || described_by(dialog, field)
            aria-invalid=move || has_problem(dialog, field)
            prop:value=move || dialog.text_of(field)
            on:input:target=move |event| dialog.feed(SetupInput::Write(field, event.target().value()))
            on:keydown=move |event| if let Some(press) = press { press.run(event) }
        />
    }
    .into_any()
}

/// A field with its label, its hint, and its problem.
pub(crate) fn labelled(
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
            Some(text.setup_problem(setup.kind(), Some(field), &problem.reason))
        })
    });
    let fault = move || {
        problem.get().map(|(words, details)| {
            view! {
                <div class="setup-fault" id=fault_id(field) data-testid=fault_id(field)>
                    {words}
                    {details.map(|details| view! { <p class="failure-detail" lang="en">{details}</p> })}
                </div>
            }
            .into_any()
        })
    };
    view! {
        <div class="setup-field">
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
pub(crate) fn described_by(dialog: Dialog, field: Field) -> String {
    let fault = has_problem(dialog, field).map(|_| fault_id(field) + " ");
    fault.unwrap_or_default() + &hint_id(field)
}

/// Returns the value of `aria-invalid`.
pub(crate) fn has_problem(dialog: Dialog, field: Field) -> Option<&'static str> {
    let is_wrong = dialog.setup.with(|setup| setup.problem().is_some_and(|problem| problem.field == Some(field)));
    is_wrong.then_some("true")
}
