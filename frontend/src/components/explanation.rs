//! What was done for an answer and why, in a few lines: asked for by a button under it, and shown there.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::MessageId;

use crate::{
    api,
    components::icon::{Draw, Icon},
    language::{Language, use_language},
    session::{Place, Session},
};

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Explanation {
    /// It is asked for.
    Asked,
    /// The lines.
    Lines(Vec<String>),
    /// Why there is none, for the reader.
    Failed(String),
}

/// The button that asks for it.
pub(crate) fn explain_button(
    session: Session,
    id: impl Fn() -> MessageId + Copy + Send + 'static,
    explanation: RwSignal<Option<Explanation>>,
    text: Language,
) -> AnyView {
    let ask = move |_| {
        let Place::Open(uuid) = session.place.get_untracked() else { return };
        if session.is_busy() || explanation.with_untracked(|held| *held == Some(Explanation::Asked)) {
            return;
        }
        explanation.set(Some(Explanation::Asked));
        let id = untrack(id);
        spawn_local(async move {
            let told = match api::explain(uuid, id).await {
                Ok(lines) => Explanation::Lines(lines),
                Err(error) => Explanation::Failed(error.message(text)),
            };
            // The message may be gone by now.
            explanation.try_set(Some(told));
        });
    };
    view! {
        <button
            type="button"
            class="button icon-only quiet small"
            data-testid="explain"
            aria-label=text.explain()
            aria-disabled=move || session.is_busy().then_some("true")
            title=move || if session.is_busy() { text.wait_for_answer() } else { text.explain() }
            on:click=ask
        >
            <Draw icon=Icon::Speech />
        </button>
    }
    .into_any()
}

/// What came of it.
#[component]
pub(crate) fn ExplanationNote(explanation: RwSignal<Option<Explanation>>) -> impl IntoView {
    let text = use_language();
    move || {
        let content = match explanation.get()? {
            Explanation::Asked => view! { <p>{text.explaining()}</p> }.into_any(),
            Explanation::Lines(lines) if lines.is_empty() => view! { <p>{text.nothing_to_explain()}</p> }.into_any(),
            Explanation::Lines(lines) => {
                let lines = lines.into_iter().map(|line| view! { <li dir="auto">{line}</li> }).collect_view();
                view! { <ul>{lines}</ul> }.into_any()
            }
            Explanation::Failed(why) => view! { <p>{why}</p> }.into_any(),
        };
        Some(view! {
            <div class="explanation" role="status" data-testid="explanation">
                <strong>{text.explain()}</strong>
                {content}
            </div>
        })
    }
}
