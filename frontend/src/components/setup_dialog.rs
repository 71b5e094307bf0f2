//! The dialog that adds or edits a model or tool server. `model_fields` and `tool_server_fields` have the fields of
//! each kind; `setup` makes all decisions.

pub(crate) mod fields;
pub(crate) mod model_fields;
pub(crate) mod outcome;
pub(crate) mod tool_server_fields;

use leptos::{ev::SubmitEvent, prelude::*};

use self::outcome::{progress, test_view};
use crate::{
    components::dialogs::sheet_top::sheet_top,
    language::{Language, use_language},
    reactive::{effect, memo},
    setup::{Connecting, Dialog, EntryKind, OUTCOME_ID, OpenedEntry, PROBLEM_ID, Setup, SetupEntry, SetupInput, Work},
};

/// The dialog, which is opened when it is mounted.
#[component]
pub(crate) fn SetupDialog(opened: OpenedEntry, connecting: Connecting) -> impl IntoView {
    let text = use_language();
    let (kind, stored) = opened;
    let stored: Option<SetupEntry> = serde_json::from_str(&stored).ok();
    let name = stored.as_ref().map(|stored| stored.name.clone());
    let is_new = name.is_none();
    let dialog = Dialog::new(kind, stored, connecting, text);
    let element = dialog.element;
    effect(move || {
        if let Some(sheet) = element.get() {
            // Fails only if it is already open.
            let _ = sheet.show_modal();
            dialog.feed(SetupInput::Open);
        }
    });
    // A new model begins with the choice of the provider alone.
    let is_begun = memo(move |_| {
        !is_new || kind == EntryKind::ToolServer || dialog.setup.with(|setup| setup.form().provider().is_some())
    });
    view! {
        <dialog
            class="sheet setup-dialog"
            data-testid="setup-dialog"
            aria-labelledby="setup-dialog-title"
            node_ref=element
            on:close=move |_| connecting.opened.set(None)
        >
            {sheet_top(
                "setup-dialog-title",
                name.map_or_else(|| text.add_entry(kind).to_owned(), |name| text.edit_entry(&name)),
                text.setup_close(),
            )}
            <form
                class="setup-form"
                autocomplete="off"
                novalidate
                on:submit=move |event: SubmitEvent| {
                    event.prevent_default();
                    dialog.feed(SetupInput::Save);
                }
            >
                {problem_view(dialog, text)}
                {match kind {
                    EntryKind::Model => model_fields::fields_view(dialog, is_new, text),
                    EntryKind::ToolServer => tool_server_fields::fields_view(dialog, is_new, text),
                }}
                <div role="status" class="setup-outcome" id=OUTCOME_ID>
                    {move || dialog.setup.with(|setup| setup.test().cloned()).map(|result| test_view(result, text))}
                </div>
                {move || is_begun.get().then(|| buttons(dialog, is_new, text))}
            </form>
        </dialog>
    }
    .into_any()
}

/// The message about a problem that concerns no single field.
fn problem_view(dialog: Dialog, text: Language) -> AnyView {
    let problem = memo(move |_| {
        dialog.setup.with(|setup| {
            let problem = setup.problem().filter(|problem| problem.field.is_none())?;
            Some(text.setup_problem(setup.kind(), None, &problem.reason))
        })
    });
    let content = move || {
        problem.get().map(|(words, details)| {
            view! {
                <div class="failure" role="alert" id=PROBLEM_ID data-testid="setup-problem" tabindex="-1">
                    {words}
                    {details.map(|details| view! { <p class="failure-detail" lang="en">{details}</p> })}
                </div>
            }
            .into_any()
        })
    };
    content.into_any()
}

/// The buttons at the end. While a request is under way, the first one cancels it.
fn buttons(dialog: Dialog, is_new: bool, text: Language) -> AnyView {
    let kind = dialog.kind;
    let work = memo(move |_| dialog.setup.with(Setup::work).filter(|work| *work != Work::Finding));
    let save = if is_new { text.add_short(kind) } else { text.save() };
    view! {
        <div class="setup-buttons">
            <button
                type="button"
                class="button"
                data-testid=move || if work.get().is_some() { "cancel-work" } else { "test-setup" }
                on:click=move |_| {
                    let is_busy = work.get_untracked().is_some();
                    dialog.feed(if is_busy { SetupInput::Cancel } else { SetupInput::Test });
                }
            >
                {move || if work.get().is_some() { text.cancel() } else { text.setup_test() }}
            </button>
            <button
                type="submit"
                class="button primary"
                data-testid="save-setup"
                aria-disabled=move || work.get().is_some().then_some("true")
            >
                {save}
            </button>
            {progress(work, kind, is_new, text)}
        </div>
    }
    .into_any()
}
