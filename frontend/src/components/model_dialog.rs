//! The dialog that connects a model, or edits one. It asks for the provider, a key or an address, and the model. The
//! fields are in `model_fields`; `model_setup` makes all decisions.

use leptos::{ev::SubmitEvent, prelude::*};
use tallybook_protocol::ConfiguredModel;

use crate::{
    components::{
        model_fields::{connection_view, model_view},
        model_outcome::{progress, test_view},
        sheet_top::sheet_top,
    },
    language::{Language, use_language},
    model_setup::{Connecting, Dialog, Input, OUTCOME_ID, PROBLEM_ID, Provider, Setup, Work},
    reactive::{effect, memo},
};

/// The dialog, which is opened when it is mounted.
#[component]
pub(crate) fn ModelDialog(stored: Option<ConfiguredModel>, connecting: Connecting) -> impl IntoView {
    let text = use_language();
    let name = stored.as_ref().map(|stored| stored.fields.name.clone());
    let is_new = name.is_none();
    let dialog = Dialog::new(stored, connecting, text);
    let element = dialog.element;
    effect(move || {
        if let Some(dialog) = element.get() {
            // Fails only if it is already open.
            let _ = dialog.show_modal();
        }
    });
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
    let is_begun = memo(move |_| !is_new || provider.get().is_some());
    view! {
        <dialog
            class="sheet model-dialog"
            data-testid="model-dialog"
            aria-labelledby="model-dialog-title"
            node_ref=element
            on:close=move |_| connecting.opened.set(None)
        >
            {sheet_top(
                "model-dialog-title",
                name.map_or_else(|| text.connect_model().to_owned(), |name| text.edit_model(&name)),
                text.model_close(),
            )}
            <form
                class="model-form"
                autocomplete="off"
                novalidate
                on:submit=move |event: SubmitEvent| {
                    event.prevent_default();
                    dialog.feed(Input::Save);
                }
            >
                {problem_view(dialog, text)}
                {if is_new { providers_view(dialog, provider, text) } else { provider_view(provider, text) }}
                {rest}
                <div role="status" class="model-outcome" id=OUTCOME_ID>
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
            Some(text.model_problem(None, &problem.reason))
        })
    });
    let content = move || {
        problem.get().map(|(words, details)| {
            view! {
                <div class="failure" role="alert" id=PROBLEM_ID data-testid="model-problem" tabindex="-1">
                    {words}
                    {details.map(|details| view! { <p class="failure-detail" lang="en">{details}</p> })}
                </div>
            }
            .into_any()
        })
    };
    content.into_any()
}

/// The providers to choose from.
fn providers_view(dialog: Dialog, chosen: Memo<Option<Provider>>, text: Language) -> AnyView {
    let cards = Provider::ALL.into_iter().enumerate().map(|(at, provider)| {
        let (name, about) = text.provider(provider);
        view! {
            <label class="provider-card">
                <input
                    type="radio"
                    name="model-provider"
                    data-testid=format!("provider-{}", provider.name())
                    autofocus=at == 0
                    prop:checked=move || chosen.get() == Some(provider)
                    on:change=move |_| dialog.feed(Input::Choose(provider))
                />
                <span class="provider-name">{name}</span>
                <span class="provider-about">{about}</span>
            </label>
        }
        .into_any()
    });
    view! {
        <fieldset class="model-part">
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
        <p class="sheet-note">{text.model_provider()}": "<b>{name}</b>". "{text.model_name_fixed()}</p>
    }
    .into_any()
}

/// The buttons at the end. While a request is under way, the first one cancels it.
fn buttons(dialog: Dialog, is_new: bool, text: Language) -> AnyView {
    let work = memo(move |_| dialog.setup.with(Setup::work).filter(|work| *work != Work::Finding));
    let save = if is_new { text.model_connect() } else { text.save() };
    view! {
        <div class="model-buttons">
            <button
                type="button"
                class="button"
                data-testid=move || if work.get().is_some() { "cancel-work" } else { "test-model" }
                on:click=move |_| {
                    let is_busy = work.get_untracked().is_some();
                    dialog.feed(if is_busy { Input::Cancel } else { Input::Test });
                }
            >
                {move || if work.get().is_some() { text.cancel() } else { text.model_test() }}
            </button>
            <button
                type="submit"
                class="button primary"
                data-testid="save-model"
                aria-disabled=move || work.get().is_some().then_some("true")
            >
                {save}
            </button>
            {progress(work, is_new, text)}
        </div>
    }
    .into_any()
}
