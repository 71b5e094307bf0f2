//! The settings sections for admins with the models and the tool servers of this server: tests, changes and removes
//! them.

use leptos::{html, prelude::*};
use tallybook_protocol::{EntryProblem, SettingsOrigin};

use super::{list::List, mutation::Mutation, section::section};
use crate::{
    api::{ApiError, entries as api},
    browser,
    components::setup_dialog::outcome::test_view,
    language::Language,
    models::Models,
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
    session::Loading,
    setup::{Connecting, EntryKind, SetupEntry, TestResult},
    task::spawn,
    tools::Tools,
};

pub(super) fn section_view(kind: EntryKind, text: Language) -> AnyView {
    let connecting = expect_context::<Connecting>();
    let (models, tools) = (expect_context::<Models>(), expect_context::<Tools>());
    let list = List::new(text, move || api::list(kind));
    let changed = move |changed: &Option<(EntryKind, String)>| {
        changed.as_ref().filter(|(of, _)| *of == kind).map(|(_, name)| name.clone())
    };
    effect(move || {
        if connecting.changed.with(changed).is_some() {
            list.reload();
        }
    });
    // Loading the list replaces its rows, also the one with the focus.
    effect(move || {
        list.items.track();
        let Some(name) = connecting.changed.with_untracked(changed) else { return };
        in_next_frame(move || {
            let _ = browser::focus_if_free(&edit_id(kind, &name)) || browser::focus_if_free(kind.id());
        });
    });
    // Kept here, because loading the list replaces its rows.
    let in_question = RwSignal::new(None::<String>);
    let removing = Mutation::new();
    let remove = Callback::new(move |Removal { name, version }: Removal| {
        let asked = name.clone();
        let removal = async move {
            let removed = api::remove(kind, &asked, version).await;
            if removed.as_ref().is_err_and(ApiError::is_outdated) {
                // Shows what another admin changed, before the user decides again.
                in_question.set(None);
                connecting.changed.set(Some((kind, asked)));
            }
            removed
        };
        removing.run(text, removal, move |()| {
            in_question.set(None);
            leptos::task::spawn_local(async move {
                match kind {
                    EntryKind::Model => models.reload().await,
                    EntryKind::ToolServer => tools.reload().await,
                }
                connecting.report(kind, name.clone(), text.entry_removed(&name));
            });
            None
        });
    });
    let has_file =
        move || list.items.with(|items| items.iter().flatten().any(|entry| entry.origin != SettingsOrigin::Page));
    let content = view! {
        {list.view(kind.path(), text, Some(text.entries_none(kind)), move |entry| {
            row(entry, connecting, in_question, remove, text)
        })}
        {move || has_file().then(|| view! { <p class="setting-note">{text.entries_in_file(kind)}</p> })}
        {removing.outcome()}
        <div class="setting-buttons">
            <button
                type="button"
                class="button"
                id=kind.id()
                data-testid=kind.id()
                aria-haspopup="dialog"
                on:click=move |_| connecting.open(kind)
            >
                {text.add_entry(kind)}
            </button>
        </div>
    };
    let (title, about) = text.entries(kind);
    section(kind.path(), title, about, content.into_any())
}

/// Returns the ID of the button that edits an entry. A name can contain any characters, and an ID cannot.
fn edit_id(kind: EntryKind, name: &str) -> String {
    name.bytes().fold(format!("edit-{}-", kind.path()), |id, byte| id + &format!("{byte:02x}"))
}

/// Returns a few words about an entry: the provider and its model, or the address of a tool server.
fn about(entry: &SetupEntry) -> Option<String> {
    match entry.kind {
        EntryKind::Model => {
            let provider = entry.setting("provider")?.to_owned();
            let model = entry.setting("model").filter(|model| *model != entry.name);
            Some(model.map_or_else(|| provider.clone(), |model| format!("{provider} · {model}")))
        }
        EntryKind::ToolServer => entry.setting("url").filter(|url| !url.is_empty()).map(str::to_owned),
    }
}

/// The entry to remove, and the version that the user saw.
#[derive(Clone)]
struct Removal {
    name: String,
    version: Option<i64>,
}

/// A row of the list. If the settings file has an entry of the same name, the added entry can only be removed, because
/// requests with that name concern the entry of the file. `in_question` is the name of the entry whose removal the
/// user is asked about.
fn row(
    entry: SetupEntry,
    connecting: Connecting,
    in_question: RwSignal<Option<String>>,
    remove: Callback<Removal>,
    text: Language,
) -> AnyView {
    let (kind, name) = (entry.kind, entry.name.clone());
    let origin = text.entry_origin(entry.origin);
    let about = about(&entry).map_or_else(|| origin.to_owned(), |about| format!("{about} · {origin}"));
    let problem = problem(&entry, text);
    let badge = entry.is_default.then(|| view! { " "<span class="setting-badge">{text.model_default()}</span> });
    let status = entry.status.clone().map(|status| {
        let words = text.entry_status(&status, entry.tools);
        view! { <span class="server-status" data-status=status data-testid="entry-status">{words}</span> }
    });
    let is_added = entry.origin == SettingsOrigin::Page;
    let is_hidden = entry.problem_code == Some(EntryProblem::SetInFile);
    let trial = Trial::new(kind);
    let test_button = (!is_hidden).then(|| trial.button(name.clone(), text));
    let of_row = name.clone();
    let is_asking = memo(move |_| is_added && in_question.with(|asked| asked.as_ref() == Some(&of_row)));
    let removal = NodeRef::<html::Button>::new();
    let confirmed = Removal { name: name.clone(), version: entry.version };
    let edit_button = (is_added && !is_hidden).then(|| {
        let edit_label = text.edit_entry(&name);
        view! {
            <button
                type="button"
                class="button small"
                id=edit_id(kind, &name)
                data-testid="edit-entry"
                aria-label=edit_label
                aria-haspopup="dialog"
                on:click=move |_| connecting.edit(&entry)
            >
                {text.edit()}
            </button>
        }
        .into_any()
    });
    let remove_button = is_added.then(|| {
        let remove_label = format!("{}: {name}", text.entry_remove());
        let name = name.clone();
        view! {
            <button
                type="button"
                class="button small"
                data-testid="remove-entry"
                aria-label=remove_label
                aria-expanded=move || is_asking.get().to_string()
                node_ref=removal
                on:click=move |_| in_question.set((!is_asking.get_untracked()).then(|| name.clone()))
            >
                {text.entry_remove()}
            </button>
        }
        .into_any()
    });
    let confirm =
        move || is_asking.get().then(|| confirmation(kind, confirmed.clone(), in_question, removal, remove, text));
    view! {
        <li data-testid="entry">
            <span class="setting-item">
                <span><b dir="auto">{name}</b>{badge}</span>
                <span class="setting-note setting-address">{about}</span>
                {status}
                {problem}
            </span>
            <span class="setting-buttons">{test_button}{edit_button}{remove_button}</span>
            {trial.outcome(text)}
            {confirm}
        </li>
    }
    .into_any()
}

/// Renders the reason why the entry cannot be used. The page has texts for the usual reasons; others are in English.
fn problem(entry: &SetupEntry, text: Language) -> Option<AnyView> {
    let own = match entry.problem_code {
        Some(EntryProblem::SetInFile) => Some(text.entry_set_in_file()),
        Some(EntryProblem::OtherKey) => Some(text.entry_other_key()),
        Some(EntryProblem::Other) | None => None,
    };
    match own {
        Some(own) => Some(view! { <span class="setup-fault" data-testid="entry-problem">{own}</span> }.into_any()),
        None => entry.problem.clone().map(|problem| {
            view! { <span class="setup-fault" lang="en" data-testid="entry-problem">{problem}</span> }.into_any()
        }),
    }
}

/// Asks whether to remove the entry. The focus starts at the button that does not.
fn confirmation(
    kind: EntryKind,
    confirmed: Removal,
    in_question: RwSignal<Option<String>>,
    removal: NodeRef<html::Button>,
    remove: Callback<Removal>,
    text: Language,
) -> AnyView {
    let question = text.confirm_removal(kind, &confirmed.name);
    let cancel = NodeRef::<html::Button>::new();
    effect(move || {
        if let Some(cancel) = cancel.get() {
            in_next_frame(move || drop(cancel.focus()));
        }
    });
    view! {
        <div class="setup-removal" role="group" aria-label=question.clone()>
            <p>{question.clone()}</p>
            <div class="setting-buttons">
                <button
                    type="button"
                    class="button small danger"
                    data-testid="confirm-removal"
                    on:click=move |_| remove.run(confirmed.clone())
                >
                    {text.entry_remove()}
                </button>
                <button
                    type="button"
                    class="button small"
                    data-testid="cancel-removal"
                    node_ref=cancel
                    on:click=move |_| {
                        in_question.set(None);
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

/// The test of a stored entry.
#[derive(Clone, Copy)]
struct Trial {
    kind: EntryKind,
    loading: RwSignal<Loading>,
    result: RwSignal<Option<TestResult>>,
    task: StoredValue<Option<futures_util::future::AbortHandle>>,
}

impl Trial {
    fn new(kind: EntryKind) -> Self {
        let trial = Self {
            kind,
            loading: RwSignal::new(Loading::Idle),
            result: RwSignal::new(None),
            task: StoredValue::new(None),
        };
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
            match api::test(self.kind, &name, None).await {
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
                data-testid="test-entry"
                aria-label=move || label.clone() + if is_running() { text.cancel() } else { text.setup_test() }
                on:click=move |_| self.toggle(name.clone(), text)
            >
                {move || if is_running() { text.cancel() } else { text.setup_test() }}
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
                    <span class="setup-work"><span class="spinner" aria-hidden="true"></span>{text.setup_testing()}</span>
                }
                .into_any(),
            ),
            (Loading::Failed(words), _) => Some(view! { <p class="failure">{words}</p> }.into_any()),
            (Loading::Idle, Some(result)) => Some(test_view(result, text)),
            (Loading::Idle, None) => None,
        }
        };
        view! { <div class="setup-outcome" role="status">{content}</div> }.into_any()
    }
}
