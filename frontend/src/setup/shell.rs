//! Runs the dialog in the browser: requests, the focus, and the signal with the state.

use std::time::Duration;

use futures_util::future::AbortHandle;
use leptos::{html, prelude::*, task::spawn_local};

use super::{Connecting, EntryKind, Field, Setup, SetupEffect, SetupEntry, SetupInput};
use crate::{
    api::entries as api, browser, components::parts::typing::focus_composer, language::Language, models::Models,
    mount_schedule::in_next_frame, task::spawn, tools::Tools,
};

/// ID of the message about a problem that concerns no single field.
pub(crate) const PROBLEM_ID: &str = "setup-problem";

/// ID of the element with the result of a test.
pub(crate) const OUTCOME_ID: &str = "setup-outcome";

/// Interval between requests for the state of a tool server that is connecting, and their maximum number.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const MAX_POLLS: u32 = 40;

/// The dialog on the page. Its signals belong to the component that created it, and its request ends with that
/// component.
#[derive(Clone, Copy)]
pub(crate) struct Dialog {
    pub(crate) setup: RwSignal<Setup>,
    pub(crate) element: NodeRef<html::Dialog>,
    /// The kind of the entry.
    pub(crate) kind: EntryKind,
    connecting: Connecting,
    models: Models,
    tools: Tools,
    task: StoredValue<Option<AbortHandle>>,
    text: Language,
}

impl Dialog {
    /// Creates the dialog for a new entry, or for a stored one.
    pub(crate) fn new(kind: EntryKind, stored: Option<SetupEntry>, connecting: Connecting, text: Language) -> Self {
        let dialog = Self {
            setup: RwSignal::new(Setup::new(kind, stored)),
            element: NodeRef::new(),
            kind,
            connecting,
            models: expect_context(),
            tools: expect_context(),
            task: StoredValue::new(None),
            text,
        };
        on_cleanup(move || dialog.abort());
        dialog
    }

    /// Returns the text of a field. Tracked.
    pub(crate) fn text_of(self, field: Field) -> String {
        self.setup.with(|setup| setup.form().text(field).to_owned())
    }

    /// Handles an input, and carries out its effects. Does nothing once the dialog is closed.
    pub(crate) fn feed(self, input: SetupInput) {
        let Some(effects) = self.setup.try_update(|setup| setup.take(input)) else { return };
        for effect in effects {
            self.carry_out(effect);
        }
    }

    fn carry_out(self, effect: SetupEffect) {
        let kind = self.kind;
        match effect {
            SetupEffect::FindLocal(provider) => spawn_local(async move {
                if let Ok(found) = api::discover(&provider).await {
                    self.feed(SetupInput::FoundLocal(found.items));
                }
            }),
            SetupEffect::Find(ticket, provider) => {
                self.request(async move { SetupInput::Found(ticket, api::discover(&provider).await) });
            }
            SetupEffect::Test(ticket, new) => {
                self.request(async move { SetupInput::Tested(ticket, api::test_new(kind, &new).await) });
            }
            SetupEffect::TestStored(ticket, name, changes) => {
                self.request(async move { SetupInput::Tested(ticket, api::test(kind, &name, Some(&changes)).await) });
            }
            SetupEffect::Add(ticket, new) => {
                self.request(async move { SetupInput::Saved(ticket, api::add(kind, &new).await) });
            }
            SetupEffect::Update(ticket, name, version, changes) => {
                self.request(
                    async move { SetupInput::Saved(ticket, api::update(kind, &name, version, &changes).await) },
                );
            }
            SetupEffect::Load(ticket, name) => {
                self.request(async move { SetupInput::Loaded(ticket, api::find(kind, &name).await) });
            }
            SetupEffect::Abort => self.abort(),
            SetupEffect::Focus(field) => in_next_frame(move || {
                browser::focus(field.map_or(PROBLEM_ID, Field::id));
            }),
            SetupEffect::ShowTest => in_next_frame(|| browser::scroll_into_view(OUTCOME_ID)),
            SetupEffect::Done(name) => self.done(name),
        }
    }

    fn request(self, request: impl Future<Output = SetupInput> + 'static) {
        self.abort();
        self.task.set_value(Some(spawn(async move { self.feed(request.await) })));
    }

    fn abort(self) {
        if let Some(Some(task)) = self.task.try_update_value(Option::take) {
            task.abort();
        }
    }

    /// Closes the dialog, and updates the page's models or tools.
    fn done(self, name: String) {
        let is_new = self.setup.with_untracked(|setup| setup.stored().is_none());
        let Self { kind, connecting, models, tools, text, .. } = self;
        let words = if is_new { text.entry_added(kind, &name) } else { text.entry_saved(&name) };
        if let Some(element) = self.element.get_untracked() {
            element.close();
        }
        // The component is gone by then.
        spawn_local(async move {
            if kind == EntryKind::Model {
                models.reload().await;
            }
            connecting.report(kind, name.clone(), words);
            // The button that opened the dialog may be gone, too.
            focus_composer();
            if kind == EntryKind::ToolServer {
                wait_until_connected(&name).await;
                tools.reload().await;
                // The list in the settings then shows the new state.
                connecting.changed.set(Some((kind, name)));
            }
        });
    }
}

/// Waits until a tool server is connected or has failed, or for 20 seconds.
async fn wait_until_connected(name: &str) {
    for _ in 0..MAX_POLLS {
        match api::find(EntryKind::ToolServer, name).await {
            Ok(server) if server.status.as_deref() == Some("connecting") => browser::sleep(POLL_INTERVAL).await,
            _ => return,
        }
    }
}
