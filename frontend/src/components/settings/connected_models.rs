//! The settings section for admins with the models of this server: tests, changes and removes them.

use leptos::{html, prelude::*};
use tallybook_protocol::{ConfiguredModel, ModelTest, SettingsOrigin};

use super::{deed::Deed, list::List, section::section};
use crate::{
    api::models as api, browser, components::model_outcome::test_view, in_turn::in_next_frame, language::Language,
    model_setup::Connecting, models::Models, reactive::effect, session::Loading, task::spawn,
};

/// ID of the button that connects a model.
const CONNECT_ID: &str = "connect-model";

pub(super) fn section_view(text: Language) -> AnyView {
    let connecting = expect_context::<Connecting>();
    let models = expect_context::<Models>();
    let list = List::new(text, api::list_configured);
    effect(move || {
        if connecting.changed.with(Option::is_some) {
            list.reload();
        }
    });
    // Loading the list replaces its rows, also the one with the focus.
    effect(move || {
        list.items.track();
        let Some(name) = connecting.changed.get_untracked() else { return };
        in_next_frame(move || {
            let _ = browser::focus_if_free(&edit_id(&name)) || browser::focus_if_free(CONNECT_ID);
        });
    });
    let removing = Deed::new();
    let remove = Callback::new(move |name: String| {
        let asked = name.clone();
        removing.run(text, async move { api::remove(&asked).await }, move |()| {
            leptos::task::spawn_local(async move {
                models.reload().await;
                connecting.report(name.clone(), text.model_removed(&name));
            });
            None
        });
    });
    let has_file =
        move || list.items.with(|items| items.iter().flatten().any(|model| model.origin != SettingsOrigin::Page));
    let content = view! {
        {list.view("configured-models", text, Some(text.connected_models_none()), move |model| {
            row(model, connecting, remove, text)
        })}
        {move || has_file().then(|| view! { <p class="setting-note">{text.models_in_file()}</p> })}
        {removing.told()}
        <div class="setting-buttons">
            <button
                type="button"
                class="button"
                id=CONNECT_ID
                data-testid="connect-model"
                aria-haspopup="dialog"
                on:click=move |_| connecting.open()
            >
                {text.connect_model()}
            </button>
        </div>
    };
    section("models", text.connected_models(), text.connected_models_about(), content.into_any())
}

/// Returns the ID of the button that edits a model. A name can contain any characters, and an ID cannot.
fn edit_id(name: &str) -> String {
    name.bytes().fold("edit-model-".to_owned(), |id, byte| id + &format!("{byte:02x}"))
}

fn row(model: ConfiguredModel, connecting: Connecting, remove: Callback<String>, text: Language) -> AnyView {
    let (name, provider) = (model.fields.name.clone(), model.fields.provider.clone());
    let about = model.fields.model.clone().filter(|id| *id != name);
    let about = about.map_or(provider.clone(), |id| format!("{provider} · {id}"));
    let (origin, problem) = (text.model_origin(model.origin), model.problem.clone());
    let is_default = model.is_default;
    let trial = Trial::new();
    let is_asking = RwSignal::new(false);
    let removal = NodeRef::<html::Button>::new();
    let buttons = (model.origin == SettingsOrigin::Page).then(|| {
        let (edit_label, remove_label) = (text.edit_model(&name), format!("{}: {name}", text.model_remove()));
        let stored = model;
        view! {
            <button
                type="button"
                class="button small"
                id=edit_id(&name)
                data-testid="edit-model"
                aria-label=edit_label
                aria-haspopup="dialog"
                on:click=move |_| connecting.edit(&stored)
            >
                {text.edit()}
            </button>
            <button
                type="button"
                class="button small"
                data-testid="remove-model"
                aria-label=remove_label
                aria-expanded=move || is_asking.get().to_string()
                node_ref=removal
                on:click=move |_| is_asking.update(|asking| *asking = !*asking)
            >
                {text.model_remove()}
            </button>
        }
        .into_any()
    });
    let confirmed = name.clone();
    let confirm = move || is_asking.get().then(|| confirmation(confirmed.clone(), is_asking, removal, remove, text));
    view! {
        <li data-testid="configured-model">
            <span class="setting-item">
                <span>
                    <b dir="auto">{name.clone()}</b>
                    {is_default.then(|| view! { " "<span class="setting-badge">{text.model_default()}</span> })}
                </span>
                <span class="setting-note">{about}" · "{origin}</span>
                {problem.map(|problem| view! { <span class="model-fault" lang="en">{problem}</span> })}
            </span>
            <span class="setting-buttons">{trial.button(name, text)}{buttons}</span>
            {trial.outcome(text)}
            {confirm}
        </li>
    }
    .into_any()
}

/// Asks whether to remove the model. The focus starts at the button that does not.
fn confirmation(
    name: String,
    is_asking: RwSignal<bool>,
    removal: NodeRef<html::Button>,
    remove: Callback<String>,
    text: Language,
) -> AnyView {
    let question = text.confirm_model_removal(&name);
    let cancel = NodeRef::<html::Button>::new();
    effect(move || {
        if let Some(cancel) = cancel.get() {
            in_next_frame(move || drop(cancel.focus()));
        }
    });
    view! {
        <div class="model-removal" role="group" aria-label=question.clone()>
            <p>{question.clone()}</p>
            <div class="setting-buttons">
                <button
                    type="button"
                    class="button small danger"
                    data-testid="confirm-removal"
                    on:click=move |_| remove.run(name.clone())
                >
                    {text.model_remove()}
                </button>
                <button
                    type="button"
                    class="button small"
                    data-testid="cancel-removal"
                    node_ref=cancel
                    on:click=move |_| {
                        is_asking.set(false);
                        if let Some(button) = removal.get_untracked() {
                            let _ = button.focus();
                        }
                    }
                >
                    {text.cancel()}
                </button>
            </div>
        </div>
    }
    .into_any()
}

/// The test of a stored model.
#[derive(Clone, Copy)]
struct Trial {
    loading: RwSignal<Loading>,
    result: RwSignal<Option<ModelTest>>,
    task: StoredValue<Option<futures_util::future::AbortHandle>>,
}

impl Trial {
    fn new() -> Self {
        let trial =
            Self { loading: RwSignal::new(Loading::Idle), result: RwSignal::new(None), task: StoredValue::new(None) };
        on_cleanup(move || trial.abort());
        trial
    }

    fn abort(self) {
        if let Some(Some(task)) = self.task.try_update_value(Option::take) {
            task.abort();
        }
    }

    /// Starts the test, or cancels it.
    fn toggle(self, name: String, text: Language) {
        self.abort();
        self.result.set(None);
        if self.loading.get_untracked() == Loading::Running {
            self.loading.set(Loading::Idle);
            return;
        }
        self.loading.set(Loading::Running);
        self.task.set_value(Some(spawn(async move {
            match api::test(&name).await {
                Ok(result) => {
                    self.result.set(Some(result));
                    self.loading.set(Loading::Idle);
                }
                Err(error) => self.loading.set(Loading::Failed(error.message(text))),
            }
        })));
    }

    /// The button, which cancels a running test.
    fn button(self, name: String, text: Language) -> AnyView {
        let is_running = move || self.loading.with(|loading| *loading == Loading::Running);
        let label = format!("{name}: ");
        view! {
            <button
                type="button"
                class="button small"
                data-testid="test-model"
                aria-label=move || label.clone() + if is_running() { text.cancel() } else { text.model_test() }
                on:click=move |_| self.toggle(name.clone(), text)
            >
                {move || if is_running() { text.cancel() } else { text.model_test() }}
            </button>
        }
        .into_any()
    }

    /// The result. The element exists from the start, so that a screen reader announces it.
    fn outcome(self, text: Language) -> AnyView {
        let content = move || {
            match (self.loading.get(), self.result.get()) {
            (Loading::Running, _) => Some(
                view! {
                    <span class="model-work"><span class="spinner" aria-hidden="true"></span>{text.model_testing()}</span>
                }
                .into_any(),
            ),
            (Loading::Failed(words), _) => Some(view! { <p class="failure">{words}</p> }.into_any()),
            (Loading::Idle, Some(result)) => Some(test_view(result, text)),
            (Loading::Idle, None) => None,
        }
        };
        view! { <div class="model-outcome" role="status">{content}</div> }.into_any()
    }
}
