//! Runs the dialog in the browser: requests, the focus, and the signal with the state.

use futures_util::future::AbortHandle;
use leptos::{html, prelude::*, task::spawn_local};
use tallybook_protocol::ConfiguredModel;

use super::{Connecting, Effect, Field, Input, Setup};
use crate::{
    api::models as api, browser, components::typing::focus_composer, in_turn::in_next_frame, language::Language,
    models::Models, task::spawn,
};

/// ID of the message about a problem that concerns no single field.
pub(crate) const PROBLEM_ID: &str = "model-problem";

/// ID of the element with the result of a test.
pub(crate) const OUTCOME_ID: &str = "model-outcome";

/// The dialog on the page. Its signals belong to the component that created it, and its request ends with that
/// component.
#[derive(Clone, Copy)]
pub(crate) struct Dialog {
    pub(crate) setup: RwSignal<Setup>,
    pub(crate) element: NodeRef<html::Dialog>,
    connecting: Connecting,
    models: Models,
    task: StoredValue<Option<AbortHandle>>,
    text: Language,
}

impl Dialog {
    /// Creates the dialog for a new model, or for a stored one.
    pub(crate) fn new(stored: Option<ConfiguredModel>, connecting: Connecting, text: Language) -> Self {
        let dialog = Self {
            setup: RwSignal::new(Setup::new(stored)),
            element: NodeRef::new(),
            connecting,
            models: expect_context(),
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
    pub(crate) fn feed(self, input: Input) {
        let Some(effects) = self.setup.try_update(|setup| setup.take(input)) else { return };
        for effect in effects {
            self.carry_out(effect);
        }
    }

    fn carry_out(self, effect: Effect) {
        match effect {
            Effect::Find(ticket, provider) => {
                self.request(async move { Input::Found(ticket, api::discover(&provider).await) });
            }
            Effect::Test(ticket, model) => {
                self.request(async move { Input::Tested(ticket, api::test_new(&model).await) });
            }
            Effect::TestStored(ticket, name) => {
                self.request(async move { Input::Tested(ticket, api::test(&name).await) });
            }
            Effect::Add(ticket, model) => self.request(async move { Input::Saved(ticket, api::add(&model).await) }),
            Effect::Update(ticket, name, version, changes) => {
                self.request(async move { Input::Saved(ticket, api::update(&name, version, &changes).await) });
            }
            Effect::Load(ticket, name) => {
                self.request(async move { Input::Loaded(ticket, api::find_configured(&name).await) });
            }
            Effect::Abort => self.abort(),
            Effect::Focus(field) => in_next_frame(move || {
                browser::focus(field.map_or(PROBLEM_ID, Field::id));
            }),
            Effect::ShowTest => in_next_frame(|| browser::scroll_into_view(OUTCOME_ID)),
            Effect::Done(name) => self.done(name),
        }
    }

    fn request(self, request: impl Future<Output = Input> + 'static) {
        self.abort();
        self.task.set_value(Some(spawn(async move { self.feed(request.await) })));
    }

    fn abort(self) {
        if let Some(Some(task)) = self.task.try_update_value(Option::take) {
            task.abort();
        }
    }

    /// Closes the dialog, and updates the page's models.
    fn done(self, name: String) {
        let is_new = self.setup.with_untracked(|setup| setup.stored().is_none());
        let words = if is_new { self.text.model_connected(&name) } else { self.text.model_saved(&name) };
        let Self { connecting, models, .. } = self;
        if let Some(element) = self.element.get_untracked() {
            element.close();
        }
        // The component is gone by then.
        spawn_local(async move {
            models.reload().await;
            connecting.report(name, words);
            // The button that opened the dialog may be gone, too.
            focus_composer();
        });
    }
}
