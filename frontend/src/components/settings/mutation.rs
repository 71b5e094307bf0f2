//! An action that a button performs on the server, one at a time, with its result beside the button.

use leptos::{prelude::*, task::spawn_local};

use crate::{api::ApiError, language::Language, session::Loading};

/// The state of an action.
#[derive(Clone, Copy)]
pub(super) struct Mutation {
    pub(super) loading: RwSignal<Loading>,
    done: RwSignal<Option<&'static str>>,
}

impl Mutation {
    pub(super) fn new() -> Self {
        Self { loading: RwSignal::new(Loading::Idle), done: RwSignal::new(None) }
    }

    /// Performs the action, unless it is running. `after` receives its result, and returns the message to show.
    pub(super) fn run<T: 'static>(
        self,
        text: Language,
        work: impl Future<Output = Result<T, ApiError>> + 'static,
        after: impl FnOnce(T) -> Option<&'static str> + 'static,
    ) {
        if self.is_running() {
            return;
        }
        self.loading.set(Loading::Running);
        self.done.set(None);
        spawn_local(async move {
            match work.await {
                Ok(outcome) => {
                    // If the user has left the settings, the result is ignored.
                    if self.loading.try_set(Loading::Idle).is_none() {
                        self.done.try_set(after(outcome));
                    }
                }
                Err(error) => {
                    self.loading.try_set(Loading::Failed(error.message(text)));
                }
            }
        });
    }

    pub(super) fn is_running(self) -> bool {
        self.loading.with_untracked(|loading| *loading == Loading::Running)
    }

    /// Returns the value of `aria-disabled`. The button keeps the focus.
    pub(super) fn busy(self) -> Option<&'static str> {
        (self.loading.get() == Loading::Running).then_some("true")
    }

    /// Renders the result.
    pub(super) fn outcome(self) -> AnyView {
        let problem = move || match self.loading.get() {
            Loading::Failed(words) => Some(view! { <p class="failure" role="alert" data-testid="problem">{words}</p> }),
            Loading::Idle | Loading::Running => None,
        };
        view! {
            {problem}
            <p class="setting-done" role="status">{move || self.done.get()}</p>
        }
        .into_any()
    }
}
